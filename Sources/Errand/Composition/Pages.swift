/// The pages of a list, made by `pages(of:by:upTo:)` of ``Agent``.
public struct Pages<R: Request>: AsyncSequence {
    /// A page with the answer that it came from.
    public typealias Element = Response<R.Model>
    /// What a send throws, or a rule.
    public typealias Failure = any Error

    /// However many pages there seem to be, no more requests than this are sent.
    public static var maximumRequestCount: Int { 10_000 }

    let rule: PageRule<R.Model>
    let limits: [PageLimit<R.Model>]
    let sendFirst: nonisolated(nonsending) () async throws -> Response<R.Model>
    let sendNext: nonisolated(nonsending) (PageRule<R.Model>.Step) async throws -> Response<R.Model>

    /// Starts with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    /// Asks for one page after the other, each when it is asked for.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pages: Pages
        private var last: Response<R.Model>?
        private var step: PageRule<R.Model>.Step?
        private var count = 0
        private var items: [Int]
        private var isOver = false

        fileprivate init(pages: Pages) {
            self.pages = pages
            items = pages.limits.map { _ in 0 }
        }

        /// Waits for the next page; `nil` after the last.
        ///
        /// - Throws: What the send throws, or the rule where it cannot tell what follows; either is the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            guard !isOver else { return nil }
            // Whatever is thrown from here on is the end.
            isOver = true
            let response: Response<R.Model>
            if let last {
                let following = try pages.rule.next(last, count - 1)
                guard let following, following != step else { return nil }
                step = following
                response = try await pages.sendNext(following)
            } else {
                response = try await pages.sendFirst()
            }
            last = response
            count += 1
            isOver = count >= Pages.maximumRequestCount
            for (place, limit) in pages.limits.enumerated() where limit.isReached(response.model, count, &items[place])
            {
                isOver = true
            }
            return response
        }
    }
}

extension Agent {
    /// Sends a request for a list page by page, each page when it is asked for.
    ///
    /// - Parameters:
    ///   - request: Asks for the first page; later ones have all that it has.
    ///   - rule: Where the next page is.
    ///   - limits: Where to stop, although another page follows; at the latest ``Pages/maximumRequestCount``. A page
    ///     that repeats the one before it by its own account is the end, too.
    /// - Returns: The pages.
    public func pages<R: Request & Sendable>(
        of request: R,
        by rule: PageRule<R.Model> = .links,
        upTo limits: PageLimit<R.Model>...
    ) -> Pages<R> where R.Model: Sendable, R.Formatter: Sendable {
        Pages(rule: rule, limits: limits) {
            try await self.response(for: request)
        } sendNext: {
            try await self.response(for: NextPage(base: request, step: $0))
        }
    }

    /// Sends a request for a list page by page, each page when it is asked for; models are made on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: Asks for the first page; later ones have all that it has.
    ///   - rule: Where the next page is.
    ///   - limits: Where to stop, although another page follows; at the latest ``Pages/maximumRequestCount``. A page
    ///     that repeats the one before it by its own account is the end, too.
    /// - Returns: The pages.
    public func pages<R: Request>(
        of request: R,
        by rule: PageRule<R.Model> = .links,
        upTo limits: PageLimit<R.Model>...
    ) -> Pages<R> {
        Pages(rule: rule, limits: limits) {
            try await self.response(for: request)
        } sendNext: {
            try await self.response(for: NextPage(base: request, step: $0))
        }
    }
}
