/// A sequence of filters, where each filter reads the payload of the previous one.
///
/// ```swift
/// config.filter = FilterChain(Decryption(), EnvelopeFilter(code: "code", data: "data"))
/// ```
///
/// The first filter that throws ends the chain. A rejected response is passed on with its failure until a filter
/// recovers from it. A path that begins with `~` starts at the outermost text that the payload is still a view on. The
/// JSON guard checks the input of a filter that has no guard of its own.
public struct FilterChain: ResponseFilter {
    package let filters: [any ResponseFilter]

    /// Creates a chain of filters in order; without filters, the payload is the complete body.
    public init(_ filters: any ResponseFilter...) { self.init(filters) }

    /// Creates a chain of filters in order; without filters, the payload is the complete body.
    public init(_ filters: [any ResponseFilter]) { self.filters = filters }

    /// `true`: the chain guards the input of each filter that has no guard of its own.
    public var guardsItself: Bool { true }

    /// Whether one of the filters recovers.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        filters.contains { $0.recovers(from: failure, in: response) }
    }

    /// Runs the filters in order.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - context: The send.
    /// - Returns: The payload of the last filter.
    /// - Throws: The error of a filter, or ``NetworkError`` for a body that must not be decoded.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        var response = response
        var payload = Payload(of: response)
        for filter in filters {
            if !filter.guardsItself { try guardTraps(in: response) }
            var next = try filter.filter(response, for: context)
            if let failure = response.failure, filter.recovers(from: failure, in: response) { response.failure = nil }
            // The library's filters return a part of the text that they read.
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
