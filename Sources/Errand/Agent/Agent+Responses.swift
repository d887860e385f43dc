// To be replaced by the cache's: today there is one response, the network's.

/// The responses to a request as its ``CachePolicy`` says.
public struct Responses<R: Request>: AsyncSequence {
    /// A model with the answer that it came from.
    public typealias Element = Response<R.Model>
    /// What the send throws.
    public typealias Failure = any Error

    fileprivate let send: nonisolated(nonsending) () async throws -> Response<R.Model>

    /// Starts with the first response.
    public func makeAsyncIterator() -> Iterator { Iterator(send: send) }

    /// Hands out the responses.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var send: (nonisolated(nonsending) () async throws -> Response<R.Model>)?

        /// Waits for the next response; `nil` when there are no more.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            guard let send else { return nil }
            self.send = nil
            return try await send()
        }
    }
}

extension Agent {
    /// Sends a request and hands out its responses as its ``CachePolicy`` says.
    public func responses<R: Request & Sendable>(for request: R) -> Responses<R>
    where R.Model: Sendable, R.Formatter: Sendable {
        Responses { try await self.response(for: request) }
    }

    /// Sends a request and hands out its responses as its ``CachePolicy`` says; models are made on the caller's actor.
    public func responses<R: Request>(for request: R) -> Responses<R> {
        Responses { try await self.response(for: request) }
    }
}
