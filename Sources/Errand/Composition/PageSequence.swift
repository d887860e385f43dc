internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The pages of a list, created by `pages(of:by:upTo:)` of ``Agent``.
public struct PageSequence<R: Request>: AsyncSequence {
    /// A page with the response that it was created from.
    public typealias Element = Response<R.Model>
    /// The error of a send or of the rule.
    public typealias Failure = any Error

    /// The maximum number of requests that are sent, whatever the number of pages.
    public static var maximumRequestCount: Int { 10_000 }

    /// Requests the page after the last one, or the first; returns `nil` if there is none.
    typealias Advance =
        nonisolated(nonsending) (_ last: Response<R.Model>?, _ index: Int) async throws -> Response<R.Model>?

    let sends: RunningSends
    let limits: [PageLimit<R.Model>]
    let makeAdvance: (SendSequence) -> Advance

    /// Returns an iterator that starts with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    /// An iterator that sends the request for each page when it is requested.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pages: PageSequence
        /// Requests a page, or is `nil` after the last; it alone holds the sequence of the sends.
        private var advance: Advance?
        private var last: Response<R.Model>?
        private var count = 0
        private var items: [Int]

        fileprivate init(pages: PageSequence) {
            self.pages = pages
            advance = pages.makeAdvance(SendSequence("PageSequence", pages.sends))
            items = pages.limits.map { _ in 0 }
        }

        /// Returns the next page, or `nil` after the last.
        ///
        /// - Throws: The error of the send, or of the rule if it cannot find the next page. Either ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            guard let advance else { return nil }
            // Any error from here on ends the sequence.
            self.advance = nil
            guard let response = try await advance(last, count - 1) else { return nil }
            last = response
            count += 1
            var isOver = false
            for (place, limit) in pages.limits.enumerated() where limit.isReached(response.model, count, &items[place])
            {
                isOver = true
            }
            if !isOver { self.advance = advance }
            return response
        }
    }
}

extension Agent {
    /// Returns the pages of a list, each requested when the sequence is advanced.
    ///
    /// - Parameters:
    ///   - request: The request for the first page. The others are changed copies of it.
    ///   - rule: The rule that finds the next page.
    ///   - limits: The limits at which to stop, although another page follows. After ``PageSequence/maximumRequestCount`` pages,
    ///     another one is an error. A page that repeats the link or the parameter of the one before ends the sequence.
    /// - Returns: The pages.
    public func pages<R: Request & Sendable>(
        of request: R,
        by rule: PageRule<R.Model> = .links,
        upTo limits: PageLimit<R.Model>...
    ) -> PageSequence<R> where R.Model: Sendable, R.Formatter: Sendable {
        PageSequence(sends: pipeline.sends, limits: limits) { sequence in
            var links = PageLinks(rule, in: sequence)
            return { last, index in
                guard let last else { return try await self.response(for: request, step: .whole, in: sequence) }
                guard let step = try links.step(after: last, index) else { return nil }
                let page = NextPage(base: request, step: step, encoding: self.config.parameterEncoding)
                return try await self.response(for: page, step: .whole, in: sequence)
            }
        }
    }

    /// Returns the pages of a list, each requested when the sequence is advanced; models are created on the caller's
    /// actor.
    ///
    /// - Parameters:
    ///   - request: The request for the first page. The others are changed copies of it.
    ///   - rule: The rule that finds the next page.
    ///   - limits: The limits at which to stop, although another page follows. After ``PageSequence/maximumRequestCount`` pages,
    ///     another one is an error. A page that repeats the link or the parameter of the one before ends the sequence.
    /// - Returns: The pages.
    public func pages<R: Request>(
        of request: R,
        by rule: PageRule<R.Model> = .links,
        upTo limits: PageLimit<R.Model>...
    ) -> PageSequence<R> {
        PageSequence(sends: pipeline.sends, limits: limits) { sequence in
            var links = PageLinks(rule, in: sequence)
            return { last, index in
                guard let last else { return try await self.response(for: request, step: .whole, in: sequence) }
                guard let step = try links.step(after: last, index) else { return nil }
                let page = NextPage(base: request, step: step, encoding: self.config.parameterEncoding)
                return try await self.response(for: page, step: .whole, in: sequence)
            }
        }
    }

    /// Returns the pages of a list, each requested when the sequence is advanced.
    ///
    /// - Parameters:
    ///   - request: The request for the first page.
    ///   - limits: The limits at which to stop, although another page follows. After ``PageSequence/maximumRequestCount`` pages,
    ///     another one is an error.
    ///   - next: Returns the request for the page after this one, or `nil` if it is the last; called on the caller.
    /// - Returns: The pages.
    public func pages<R: Request & Sendable>(
        of request: R,
        upTo limits: PageLimit<R.Model>...,
        next: @escaping (Response<R.Model>) throws -> R?
    ) -> PageSequence<R> where R.Model: Sendable, R.Formatter: Sendable {
        PageSequence(sends: pipeline.sends, limits: limits) { sequence in
            { last, index in
                guard let last else { return try await self.response(for: request, step: .whole, in: sequence) }
                guard let request = try next(last) else { return nil }
                try checkPageCount(index, of: last)
                return try await self.response(for: request, step: .whole, in: sequence)
            }
        }
    }

    /// Returns the pages of a list, each requested when the sequence is advanced; models are created on the caller's
    /// actor.
    ///
    /// - Parameters:
    ///   - request: The request for the first page.
    ///   - limits: The limits at which to stop, although another page follows. After ``PageSequence/maximumRequestCount`` pages,
    ///     another one is an error.
    ///   - next: Returns the request for the page after this one, or `nil` if it is the last; called on the caller.
    /// - Returns: The pages.
    public func pages<R: Request>(
        of request: R,
        upTo limits: PageLimit<R.Model>...,
        next: @escaping (Response<R.Model>) throws -> R?
    ) -> PageSequence<R> {
        PageSequence(sends: pipeline.sends, limits: limits) { sequence in
            { last, index in
                guard let last else { return try await self.response(for: request, step: .whole, in: sequence) }
                guard let request = try next(last) else { return nil }
                try checkPageCount(index, of: last)
                return try await self.response(for: request, step: .whole, in: sequence)
            }
        }
    }
}

/// Checks that another page may be requested after the one at an index, starting at 0.
private func checkPageCount<Model>(_ index: Int, of last: Response<Model>) throws {
    guard index + 1 < PageSequence<GeneralRequest<DefaultFormatter<Data>>>.maximumRequestCount else {
        throw last.error(
            .invalidLink(
                "there are more than \(index + 1) pages; check the name of the parameter, or stop at a limit with upTo:"
            )
        )
    }
}

/// The steps to the pages of a list, which never lead to another origin or to a page that was requested already.
private struct PageLinks<Model> {
    private let rule: PageRule<Model>
    private let sequence: SendSequence
    private var last: PageRule<Model>.Step?
    private var visited: Set<URL> = []

    init(_ rule: PageRule<Model>, in sequence: SendSequence) { (self.rule, self.sequence) = (rule, sequence) }

    /// Returns the step to the page after the one at an index, or `nil` if that is the last.
    mutating func step(after page: Response<Model>, _ index: Int) throws -> PageRule<Model>.Step? {
        guard let step = try rule.next(page, index), step != last else { return nil }
        try checkPageCount(index, of: page)
        last = step
        guard case .link(let url) = step else { return step }
        guard sequence.isOwnOrigin(of: url) else {
            throw page.error(
                .invalidLink(
                    "it leads to another origin, \(url.origin); if that may receive the request, use pages(of:upTo:next:)"
                )
            )
        }
        let credential = page.raw.credential
        visited.insert(credential.removed(from: page.url))
        if let first = page.redirects.first { visited.insert(credential.removed(from: first.from)) }
        guard visited.insert(url).inserted else { throw page.error(.invalidLink("it leads to an earlier page")) }
        return step
    }
}
