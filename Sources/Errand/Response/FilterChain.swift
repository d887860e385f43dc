/// Several filters, one after the other: each reads the payload that the one before it found.
///
/// ```swift
/// config.filter = FilterChain(Decryption(), EnvelopeFilter(code: "code", data: "data"))
/// ```
///
/// The first that throws ends the chain. A refused answer goes through with its failure, until a filter recovers from
/// it. A path that begins with `~` starts at the outermost text that the payload is still a view on. The JSON guard reads
/// what a filter is given that does not guard itself.
public struct FilterChain: ResponseFilter {
    private let filters: [any ResponseFilter]

    /// Takes the filters in their order; none passes the whole body on.
    public init(_ filters: any ResponseFilter...) { self.init(filters) }

    /// Takes the filters in their order; none passes the whole body on.
    public init(_ filters: [any ResponseFilter]) { self.filters = filters }

    /// It guards what is given to each filter that does not.
    public var guardsItself: Bool { true }

    /// Whether one of the filters recovers.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        filters.contains { $0.recovers(from: failure, in: response) }
    }

    /// Lets each filter find its part.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - context: Which request it answers.
    /// - Returns: The payload of the last filter.
    /// - Throws: What a filter throws, and ``NetworkError`` for a body that must not be decoded.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        var response = response
        var payload = Payload(response.body, root: response.body, contentType: nil, isGuarded: response.isGuarded)
        for filter in filters {
            if !filter.guardsItself { try guardTraps(in: response) }
            var next = try filter.filter(response, for: context)
            if let failure = response.failure, filter.recovers(from: failure, in: response) { response.failure = nil }
            // What our own filters find is part of the text that they read.
            if payload.isGuarded, next.isGuarded { next.root = payload.root }
            next.envelope = next.envelope ?? payload.envelope
            next.contentType = next.contentType ?? payload.contentType
            payload = next
            response.body = payload.data
            response.isGuarded = payload.isGuarded
            if let type = payload.contentType { response.headers["Content-Type"] = type }
        }
        if let failure = response.failure { throw failure }
        return payload
    }

    private func guardTraps(in response: RawResponse) throws {
        guard !response.isGuarded else { return }
        do throws(JSONError) {
            try JSONGuard.checkNesting(response.body)
        } catch {
            throw response.failure ?? NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
    }
}
