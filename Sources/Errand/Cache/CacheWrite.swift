/// The storing of an entry, which continues whether or not anything waits for it.
///
/// `try await cache.store(entry, for: key).outcome()` waits for it.
public final class CacheWrite: Sendable {
    /// What became of an entry that was to be stored.
    public enum Outcome: Sendable {
        /// The entry is on disk, or in memory if the cache has no disk store.
        case stored
        /// The entry is in memory only, because its response must not be written (`no-store`).
        case inMemory
        /// The entry was removed, or replaced by a later one, before it was written.
        case superseded
        /// The entry is not on disk, for this reason. An older entry of the key is removed.
        ///
        /// A `POSIXError` of a ``DiskStore``: `EFBIG` if the entry is larger than the store, `ENOSPC` if the disk is full
        /// although nothing is left to remove, `EROFS` if it is read-only; of the cache: `ENOBUFS` if too much is waiting
        /// to be written.
        case failed(any Error)
    }

    private let state = Lock((outcome: Outcome?.none, waits: [CacheWait<Outcome>]()))

    init() {}

    /// Waits until the entry is stored.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; the entry is stored nevertheless.
    public func outcome() async throws -> Outcome {
        let wait = CacheWait<Outcome>()
        let outcome = state.withLock { state in
            if state.outcome == nil { state.waits.append(wait) }
            return state.outcome
        }
        if let outcome { return outcome }
        return try await wait.value()
    }

    /// Ends the storing; the first outcome counts.
    func finish(_ outcome: Outcome) {
        let waits = state.withLock { state in
            defer { state.waits = [] }
            if state.outcome == nil { state.outcome = outcome }
            return state.waits
        }
        for wait in waits { wait.finish(with: .success(outcome)) }
    }
}
