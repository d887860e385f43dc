extension Agent {
    /// The answers to a request as its cache policy delivers them: a stored one first where it has one, then a fresh one.
    ///
    /// ``CachePolicy/cacheThenNetwork(maxAge:)`` delivers two values where one is stored;
    /// ``CachePolicy/staleWhileRevalidate(maxAge:maxStale:)`` and ``CachePolicy/http`` deliver two where the stored one is
    /// stale and may be used meanwhile; every other policy one. Each is a send of its own for accessories, and each value
    /// says where it came from in its `source`. A failure of the second is thrown after the first was delivered.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - omitsRepeats: Whether a second value is left out when its payload is the same, byte by byte.
    /// - Returns: One or two values; nothing is sent before the first is asked for.
    public func responses<R: Request & Sendable>(
        for request: R,
        omittingRepeats omitsRepeats: Bool = false
    ) -> Responses<R> where R.Model: Sendable, R.Formatter: Sendable {
        Responses(omitsRepeats: omitsRepeats) { step in
            try await self.response(for: request, step: step)
        }
    }

    /// The answers to a request as its cache policy delivers them, each formatted on the actor that iterates.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - omitsRepeats: Whether a second value is left out when its payload is the same, byte by byte.
    /// - Returns: One or two values; nothing is sent before the first is asked for.
    public func responses<R: Request>(for request: R, omittingRepeats omitsRepeats: Bool = false) -> Responses<R> {
        Responses(omitsRepeats: omitsRepeats) { step in
            let (model, answer) = try await self.run(request, formatting: .callerByNeed, step: step)
            return answer.response(with: model)
        }
    }
}

/// The answers to a request, one after the other; see `responses(for:)` of ``Agent``.
public struct Responses<R: Request>: AsyncSequence {
    /// What an iteration delivers.
    public typealias Element = Response<R.Model>

    fileprivate let omitsRepeats: Bool
    fileprivate let run: (CacheStep) async throws -> Response<R.Model>

    fileprivate init(omitsRepeats: Bool, run: @escaping (CacheStep) async throws -> Response<R.Model>) {
        self.omitsRepeats = omitsRepeats
        self.run = run
    }

    /// Begins anew: each iteration sends the request.
    public func makeAsyncIterator() -> Iterator { Iterator(responses: self) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case new
            case delivered(Response<R.Model>)
            case finished
        }

        private let responses: Responses
        private var state = State.new

        fileprivate init(responses: Responses) { self.responses = responses }

        /// The next answer, or `nil` after the last; it is formatted where the request says, at most on `actor`.
        ///
        /// - Throws: What a send throws; the sequence ends then.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            switch state {
            case .new:
                state = .finished
                let response = try await responses.run(.first)
                if response.isFollowed { state = .delivered(response) }
                return response
            case .delivered(let first):
                state = .finished
                let response = try await responses.run(.second)
                let isRepeat = response.payload.data == first.payload.data && response.statusCode == first.statusCode
                return responses.omitsRepeats && isRepeat ? nil : response
            case .finished: return nil
            }
        }

        /// The next answer, or `nil` after the last.
        ///
        /// - Throws: What a send throws; the sequence ends then.
        public mutating func next() async throws -> Response<R.Model>? { try await next(isolation: #isolation) }
    }
}
