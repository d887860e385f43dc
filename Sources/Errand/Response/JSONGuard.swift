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

    /// Returns whether the body is known to be valid JSON.
    static func check(_ data: Data, against strictness: Strictness) throws(JSONError) -> Bool {
        switch strictness {
        case .nothing: return false
        case .traps:
            try checkNesting(data)
            return false
        case .everything:
            try check(data)
            return true
        }
    }

    /// Rejects content that is not JSON or is nested deeper than ``JSONDepth/standard``.
    static func check(_ data: Data) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(JSONError) in try JSONScanner.validate(bytes) }
        }
        _ = try result.get()
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
