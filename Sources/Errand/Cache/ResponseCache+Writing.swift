internal import Dispatch

extension ResponseCache {
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
                // An older entry must not come back. An error is no other than that of storing.
                if change.entry != nil { try? disk.remove(for: key) }
            }
            state.withLock { state in
                if case .failed(let error) = outcome { state.lastFailure = error }
                state.pending.finish(number, for: key, outcome)
            }
        }
    }
}
