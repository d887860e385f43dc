extension ThrottleQueue {
    /// A first-in, first-out queue; waiters that leave early are skipped, and removed when there are many of them.
    struct Line: Sendable {
        private var ids: [Int] = []
        private var start = 0
        private(set) var count = 0

        var first: Int? { count > 0 ? ids[start] : nil }

        mutating func append(_ id: Int) {
            ids.append(id)
            count += 1
        }

        /// Records that one waiter has left; `isHere` returns whether another one is still waiting.
        mutating func removeOne(_ isHere: (Int) -> Bool) {
            count -= 1
            while start < ids.count, !isHere(ids[start]) { start += 1 }
            guard ids.count > 2 * count + 32 else { return }
            ids = ids[start...].filter(isHere)
            start = 0
        }
    }
}
