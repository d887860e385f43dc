internal import Dispatch

extension ResponseCache {
    /// Changes the entry of a key on disk soon; `nil` removes it.
    ///
    /// Called under the lock, so that whoever finds the change also finds it in the queue: a removal, or a wait for all
    /// writes, follows it.
    func enqueue(
        _ entry: CacheEntry?,
        for key: CacheKey,
        keepingLater keepsLater: Bool = false,
        reportingTo write: CacheWrite? = nil,
        in state: inout State
    ) {
        do {
            let number = try state.pending.add(entry, for: key, keepingLater: keepsLater, reportingTo: write)
            self.write(key, number)
        } catch {
            state.lastFailure = error
            write?.finish(.failed(error))
            // In place of the newer entry, the older one is removed, which needs no space.
            if let number = try? state.pending.add(nil, for: key) { self.write(key, number) }
        }
    }

    /// Makes a pending change on disk, unless a later one has replaced it.
    private func write(_ key: CacheKey, _ number: Int) {
        guard let disk else { return }
        writes.async { [self] in
            guard let change = state.withLock({ $0.pending.change(number, of: key) }) else { return }
            let result = Result { try change.apply(to: disk, key, at: now()) }
            var isOldLeft = false
            if case .failure = result {
                // An older entry must not come back; if it cannot be removed either, it is hidden.
                let removal = Result { try disk.remove(for: key) }
                if case .failure = removal { isOldLeft = true } else { isOldLeft = disk.contains(key) }
            }
            let isFirst = state.withLock { state in
                switch result {
                case .success(true): state.pending.finish(number, for: key, .stored)
                case .success(false):
                    // In memory, it hides the later one, which another process stored, until who waits for it goes on.
                    if state.pending.change(number, of: key) != nil { memory?.remove(for: key) }
                    state.pending.finish(number, for: key, .superseded)
                case .failure(let error):
                    state.lastFailure = error
                    state.pending.fail(number, for: key, error, leavingOld: isOldLeft)
                }
                defer { state.isPrepared = true }
                return !state.isPrepared
            }
            if isFirst { writes.async { disk.prepare() } }
        }
    }
}

extension CacheStore {
    /// Whether there is a usable entry of a key.
    fileprivate func contains(_ key: CacheKey) -> Bool {
        // A store that fails to read has none that could come back.
        (try? entry(for: key)).flatMap(\.self) != nil
    }
}
