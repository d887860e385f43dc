internal import Foundation

/// Reads a body before anything decodes it: Foundation's decoder can be made to trap by a hostile one.
enum JSONGuard {
    /// What is refused.
    enum Strictness: Sendable {
        /// What follows guards itself, or decodes nothing.
        case nothing
        /// Code of the user's own follows, which may decode the body or read something that is no JSON at all: only
        /// what could end the process is refused.
        case traps
        /// Whatever is not JSON.
        case everything

        /// What the first reader of the body makes necessary: a filter, or the formatter behind one that passes it on.
        init(_ filter: any ResponseFilter, before formatter: some ResponseFormatter) {
            if type(of: filter) != PassthroughFilter.self {
                self = filter.guardsItself ? .nothing : .traps
            } else {
                // A formatter of the user's own is given what `guardTraps` has read.
                self = formatter.readsJSON ? .everything : .nothing
            }
        }
    }

    /// Returns whether the body is known to be sound JSON.
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

    /// Refuses whatever is not JSON, or nests deeper than 128 levels.
    static func check(_ data: Data) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(JSONError) in try JSONScanner.validate(bytes) }
        }
        _ = try result.get()
    }

    /// Refuses what nests deeper than Foundation's decoder survives, in whatever encoding that decoder reads; anything
    /// else passes, also what is no JSON.
    @inline(never)
    static func checkNesting(_ data: Data) throws(JSONError) {
        guard data.count > JSONNesting.limit else { return }
        let isTooDeep = data.withUnsafeBytes { JSONNesting.exceedsLimit($0) }
        if isTooDeep { throw JSONError(.tooDeep(limit: JSONNesting.limit)) }
    }
}

extension Payload {
    /// Refuses what could end the process in a formatter of the user's own.
    func guardTraps(of response: RawResponse) throws(NetworkError) {
        guard !isGuarded else { return }
        do throws(JSONError) {
            try JSONGuard.checkNesting(data)
        } catch {
            throw NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
    }
}
