// Many requests, each to its own end: one that fails leaves the others alone.

extension Agent {
    /// Sends requests of any types at once, and returns what each came to, in their order.
    ///
    /// Cancelled, it returns at once, with `CancellationError` for each request that had no result.
    public func results<each R: Request & Sendable>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>)
    where repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends requests of any types at once, and returns what each came to, in their order; models are made on the
    /// caller's actor.
    ///
    /// Cancelled, it returns at once, with `CancellationError` for each request that had no result.
    public func results<each R: Request>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>) {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends the requests of a sequence, so many at once, and returns what each came to, in their order.
    ///
    /// - Parameters:
    ///   - requests: Taken when there is room for them; as many again as are on their way may wait.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    /// - Returns: As many results as there were requests; cancelled, `CancellationError` for each that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>]
    where
        Requests.Element: Request & Sendable,
        Requests.Element.Model: Sendable,
        Requests.Element.Formatter: Sendable
    {
        var rest = requests.makeIterator()
        guard let first = rest.next() else { return [] }
        let pool = ResultPool<Requests.Element>(agent: self, width: max(1, maximumConcurrent))
        if ResultPool.takes(first) { return await pool.results(of: first, and: rest) }
        let all = Resumed(first: first, rest: rest)
        return await resultStream(of: all, maximumConcurrent: maximumConcurrent).all()
    }

    /// Sends the requests of a sequence, so many at once, and returns what each came to, in their order; models are
    /// made on the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    /// - Returns: As many results as there were requests; cancelled, `CancellationError` for each that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>] where Requests.Element: Request {
        await resultStream(of: requests, maximumConcurrent: maximumConcurrent).all()
    }

    /// Sends the requests of a sequence, so many at once, and hands out the results as they finish.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way, or finished and not asked for, at most; less than 1 counts as 1.
    /// - Returns: The results, each with the place of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests>
    where
        Requests.Element: Request & Sendable,
        Requests.Element.Model: Sendable,
        Requests.Element.Formatter: Sendable
    {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) { request, part, deliver in
            await part.beginInBackground(request, then: deliver)
        }
    }

    /// Sends the requests of a sequence, so many at once, and hands out the results as they finish; models are made on
    /// the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way, or finished and not asked for, at most; less than 1 counts as 1.
    /// - Returns: The results, each with the place of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests> where Requests.Element: Request {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) { request, part, deliver in
            await part.begin(request, then: deliver)
        }
    }
}

/// A sequence whose first element was taken already.
private struct Resumed<Rest: IteratorProtocol>: Sequence, IteratorProtocol {
    var first: Rest.Element?
    var rest: Rest

    init(first: Rest.Element, rest: Rest) { (self.first, self.rest) = (first, rest) }

    mutating func next() -> Rest.Element? {
        guard let first else { return rest.next() }
        self.first = nil
        return first
    }
}
