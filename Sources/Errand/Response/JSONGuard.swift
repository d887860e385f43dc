internal import Foundation

/// Checks a body before it is decoded, because a malicious one can make Foundation's decoder trap.
enum JSONGuard {
    /// The content that is rejected.
    enum Strictness: Sendable {
        /// Nothing, because the reader has a guard of its own or decodes nothing.
        case nothing
        /// Only what could end the process, because the user's own code follows, which may decode the body or read
        /// something other than JSON.
        case traps
        /// All content that is not JSON.
        case everything

        /// The guard for the first reader of the body: a filter, or the formatter after a filter that passes the body on.
        init(_ filter: any ResponseFilter, before formatter: some ResponseFormatter) {
            if type(of: filter) != PassthroughFilter.self {
                self = filter.guardsItself ? .nothing : .traps
            } else {
                // `guardTraps` checks the input of the user's own formatters.
                self = formatter.readsJSON ? .everything : .nothing
            }
        }
    }

    /// Checks the body of a response.
    static func check(_ response: inout RawResponse, against strictness: Strictness) throws(JSONError) {
        switch strictness {
        case .nothing: break
        case .traps: try checkNesting(response.body)
        case .everything:
            try response.index()
        }
    }

    /// Rejects content that is not JSON or is nested deeper than ``JSONDepth/standard``.
    ///
    /// - Returns: The text to read in place of one with a byte order mark or half a surrogate pair, which not every decoder
    ///   reads, or `nil` if it has neither.
    @discardableResult
    static func check(_ data: Data) throws(JSONError) -> Data? {
        try data.repairingJSON { (bytes) throws(JSONError) in try JSONScanner.validate(bytes) }.copy
    }

    /// Rejects content that is nested too deep for Foundation's decoder, in any encoding that it reads; everything else passes,
    /// even if it is not JSON.
    @inline(never)
    static func checkNesting(_ data: Data) throws(JSONError) {
        guard data.count > JSONDepth.maximum else { return }
        let isTooDeep = data.withUnsafeBytes { FoundationTrapGuard.exceedsLimit($0) }
        if isTooDeep { throw JSONError(.tooDeep(limit: JSONDepth.maximum)) }
    }
}

extension RawResponse {
    /// Validates the body, unless it has an index that was not taken yet, and replaces it as ``JSONGuard/check(_:)`` does.
    @discardableResult
    mutating func index() throws(JSONError) -> JSONIndexed {
        if let indexed, !indexed.isTaken { return indexed }
        let made = try JSONIndexed.make(body)
        if made.isRepaired { body = made.text }
        (isGuarded, indexed) = (true, made)
        return made
    }
}

extension Payload {
    /// Rejects content that could end the process in the user's own formatter.
    func guardTraps(of response: RawResponse) throws(NetworkError) {
        guard !isGuarded else { return }
        do throws(JSONError) {
            try JSONGuard.checkNesting(data)
        } catch {
            throw NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
    }
}
