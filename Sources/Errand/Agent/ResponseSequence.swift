extension Agent {
    /// Returns the responses that a request's cache policy delivers: a stored one first, if there is one, then a fresh
    /// one.
    ///
    /// ``CachePolicy/cacheThenNetwork(maxAge:)`` delivers two values if a response is stored;
    /// ``CachePolicy/staleWhileRevalidate(maxAge:maxStale:)`` and ``CachePolicy/http`` deliver two if the stored response is
    /// stale and may be used while it is revalidated; every other policy delivers one. For accessories, each is a send of its
    /// own. The `source` of a value is the cache or the network. If the second send fails, its error is thrown after the first
    /// value.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - policy: The policy in place of the request's own; ``CachePolicy/inherited``, the default, is the request's own.
    ///   - omitsRepeats: Whether the second value is omitted if it has the same status and, byte by byte, the same
    ///     payload.
    /// - Returns: A sequence of one or two values. Nothing is sent before the first one is requested.
    public func responses<R: Request & Sendable>(
        for request: R,
        cachePolicy policy: CachePolicy = .inherited,
        omittingRepeats omitsRepeats: Bool = false
    ) -> ResponseSequence<R> where R.Model: Sendable, R.Formatter: Sendable {
        let request = request.with(cachePolicy: policy)
        return ResponseSequence(sends: pipeline.sends, omitsRepeats: omitsRepeats) { step, sequence in
            try await self.response(for: request, step: step, in: sequence)
        }
    }

    /// Returns the responses that a request's cache policy delivers, each formatted on the actor that iterates.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - policy: The policy in place of the request's own; ``CachePolicy/inherited``, the default, is the request's own.
    ///   - omitsRepeats: Whether the second value is omitted if it has the same status and, byte by byte, the same
    ///     payload.
    /// - Returns: A sequence of one or two values. Nothing is sent before the first one is requested.
    public func responses<R: Request>(
        for request: R,
        cachePolicy policy: CachePolicy = .inherited,
        omittingRepeats omitsRepeats: Bool = false
    ) -> ResponseSequence<R> {
        let request = request.with(cachePolicy: policy)
        return ResponseSequence(sends: pipeline.sends, omitsRepeats: omitsRepeats) { step, sequence in
            try await self.response(for: request, step: step, in: sequence)
        }
    }
}

extension Request {
    /// Returns the request with another policy, or with its own if that one is inherited.
    fileprivate func with(cachePolicy policy: CachePolicy) -> ModifiedRequest<Self> {
        policy.isInherited ? ModifiedRequest(self) : cachePolicy(policy)
    }
}

/// A sequence of the responses to a request; see `responses(for:)` of ``Agent``.
public struct ResponseSequence<R: Request>: AsyncSequence {
    /// A response with its model.
    public typealias Element = Response<R.Model>

    fileprivate typealias Run = (CacheStep, SendSequence) async throws -> Response<R.Model>

    private let sends: RunningSends
    fileprivate let omitsRepeats: Bool
    fileprivate let run: Run

    fileprivate init(sends: RunningSends, omitsRepeats: Bool, run: @escaping Run) {
        self.sends = sends
        self.omitsRepeats = omitsRepeats
        self.run = run
    }

    /// Returns a new iterator; each iteration sends the request.
    public func makeAsyncIterator() -> Iterator { Iterator(responses: self, sequence: .init("responses", sends)) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case new(SendSequence)
            case delivered(Response<R.Model>, SendSequence)
            case finished
        }

        private let responses: ResponseSequence
        private var state: State

        fileprivate init(responses: ResponseSequence, sequence: SendSequence) {
            self.responses = responses
            state = .new(sequence)
        }

        /// Returns the next response, or `nil` after the last one.
        ///
        /// It is formatted in the context that the request chooses: in the background, or on `actor`.
        ///
        /// - Throws: The error of a send, which ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            switch state {
            case .new(let sequence):
                state = .finished
                let response = try await responses.run(.first, sequence)
                if response.isFollowed { state = .delivered(response, sequence) }
                return response
            case .delivered(let first, let sequence):
                state = .finished
                let response = try await responses.run(.second, sequence)
                let isRepeat = response.payload.data == first.payload.data && response.statusCode == first.statusCode
                return responses.omitsRepeats && isRepeat ? nil : response
            case .finished: return nil
            }
        }

        /// Returns the next response, or `nil` after the last one.
        ///
        /// - Throws: The error of a send, which ends the sequence.
        public mutating func next() async throws -> Response<R.Model>? { try await next(isolation: #isolation) }
    }
}
