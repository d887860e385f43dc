internal import Dispatch

extension ResponseCache {
    /// The number of bytes of the entries on disk, or in memory if the cache has no disk store.
    ///
    /// It includes the entries of other processes that share the directory of a ``DiskStore``, and those that are still to
    /// be written if that takes less than half a second. They are counted, which takes about 2 µs for each entry; the value is
    /// 0 if the task is cancelled before the disk has responded.
    public var size: Int { get async { await totals.size } }

    /// The number of entries on disk, or in memory if the cache has no disk store; see ``size``.
    public var count: Int { get async { await totals.count } }

    private var totals: (count: Int, size: Int) {
        get async {
            guard let disk else { return memory?.totals() ?? (0, 0) }
            let (written, counted) = (CacheWait<Void>(), CacheWait<(count: Int, size: Int)>())
            writes.async { written.finish(with: .success(())) }
            // Writes that hang, or fail slowly, are not waited for.
            counts.asyncAfter(deadline: limit()) { written.finish(with: .success(())) }
            // The only error is the cancellation of the task, which does not wait for the result either.
            _ = try? await written.value()
            counts.async { [self] in
                guard counted.isWanted else { return }
                let result = Result { try disk.totals() }
                if case .failure(let error) = result { state.withLock { $0.lastFailure = error } }
                counted.finish(with: result)
            }
            return (try? await counted.value()) ?? (0, 0)
        }
    }

    /// All entries without their bodies, in no particular order; reading one takes some 10 µs.
    public var entries: [StoredEntry] {
        get async {
            let found = Lock([StoredEntry]())
            let store: (any CacheStore)? = disk ?? memory
            _ = await maintain(isReading: true) {
                try store?.removeAll(among: { _ in true }) { entry in
                    if !entry.head.isVariantIndex { found.withLock { $0.append(entry) } }
                    return false
                }
            }
            return found.withLock { $0 }
        }
    }

    /// Removes the least recently used entries until their size is at most `limit` bytes, on disk and in memory each.
    public func trim(toBytes limit: Int) async { await remove { try $0.trim(toBytes: limit) } }

    // MARK: Work on the queue of writes

    /// Waits until all changes so far are on disk, such as before a program ends.
    ///
    /// A change that another of the same key has replaced is not written; the other one is, soon. Returns at once if the task
    /// is cancelled.
    public func flush() async {
        // What a response replaces may have to be read first; that work adds the writes after the first wait.
        for _ in 0..<2 { _ = await maintain {} }
    }

    /// Runs maintenance after all writes so far; its error is kept in ``lastFailure``.
    ///
    /// - Parameters:
    ///   - isReading: Whether it is skipped if no task waits for it any more; a removal is always run.
    ///   - begin: Changes the state, under the lock, so that what is stored from now on is written afterwards.
    ///   - work: Called on a queue of the cache.
    /// - Returns: The result of the work, or `nil` if it failed or the task was cancelled.
    func maintain<Value: Sendable>(
        isReading: Bool = false,
        beginning begin: (inout State) -> Void = { _ in },
        _ work: @escaping @Sendable () throws -> Value
    ) async -> Value? {
        let wait = CacheWait<Value>()
        // What is visible in memory is also in the queue.
        state.withLock { state in
            begin(&state)
            writes.async { [self] in
                if isReading, !wait.isWanted { return }
                let result = Result { try work() }
                if case .failure(let error) = result { self.state.withLock { $0.lastFailure = error } }
                wait.finish(with: result)
            }
        }
        // An error is kept as the last failure, unless it is the cancellation of the task.
        return try? await wait.value()
    }

    /// Removes entries on disk, then in memory, after all writes so far; in memory also if the disk fails.
    func remove(_ work: @escaping @Sendable (any CacheStore) throws -> Void) async {
        _ = await maintain { [self] in
            let result = Result { if let disk { try work(disk) } }
            if let memory {
                // A lookup that read the disk before restores nothing.
                state.withLock { $0.changes.noteAll() }
                try work(memory)
            }
            try result.get()
        }
    }

    // MARK: Writing

    /// Changes the entry of a key on disk soon; `nil` removes it.
    ///
    /// Called under the lock, so that whoever finds the change also finds it in the queue: a removal, or a wait for all
    /// writes, follows it.
    func enqueue(
        _ entry: CacheEntry?,
        for key: CacheKey,
        reportingTo write: CacheWrite? = nil,
        in state: inout State
    ) {
        do {
            self.write(key, try state.pending.add(entry, for: key, reportingTo: write))
        } catch {
            state.lastFailure = error
            write?.finish(.failed(error))
            // In place of the newer entry, the older one is removed, which needs no space.
            if let number = try? state.pending.add(nil, for: key, reportingTo: nil) { self.write(key, number) }
        }
    }

    /// Makes a pending change on disk, unless a later one has replaced it.
    private func write(_ key: CacheKey, _ number: Int) {
        guard let disk else { return }
        writes.async { [self] in
            guard let change = state.withLock({ $0.pending.change(number, of: key) }) else { return }
            var outcome = CacheWrite.Outcome.stored
            do {
                if let entry = change.entry { try disk.store(entry, for: key) } else { try disk.remove(for: key) }
            } catch {
                outcome = .failed(error)
                // An older entry must not come back. An error here has the cause of the first one.
                if change.entry != nil { try? disk.remove(for: key) }
            }
            state.withLock { state in
                if case .failed(let error) = outcome { state.lastFailure = error }
                state.pending.finish(number, for: key, outcome)
            }
        }
    }
}
