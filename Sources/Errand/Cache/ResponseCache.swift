internal import Dispatch
public import Foundation

/// Keeps answers for later: memory over disk, each bounded.
///
/// ```swift
/// config.cache = ResponseCache(directory: ResponseCache.defaultDirectory)
/// config.cachePolicy = .http
/// ```
///
/// A config names the cache, and the ``CachePolicy`` of each request says when it is used. Look-ups wait for no write and
/// writes for nobody: what is stored is in memory at once and on disk soon after, in a queue of the cache. Whatever goes
/// wrong there costs the cache and never the request; ``lastFailure`` tells.
public final class ResponseCache: Sendable {
    let memory: MemoryStore?
    let disk: (any CacheStore)?
    let appVersion: String
    let now: @Sendable () -> Date

    // The store in memory is changed under this lock, so that it never disagrees with what is pending.
    private let state = Lock(State())
    // Writes and maintenance, one after the other; look-ups beside them, a few at a time. None of the queues is a
    // concurrent one: on Linux these share their threads with all tasks, and a disk that hangs would stop those too.
    private let writes = DispatchQueue(label: "errand.cache.writes", qos: .utility)
    private let reads = (0..<4).map { CacheReadQueue(label: "errand.cache.reads.\($0)") }
    private let timers = DispatchQueue(label: "errand.cache.timers", qos: .userInitiated)

    private struct State {
        /// What is on its way to the disk; `nil` is a removal.
        var pending: [CacheKey: (entry: CacheEntry?, number: Int)] = [:]
        var pendingSize = 0
        /// The URLs whose entries are on their way off the disk; what is stored later is pending itself.
        var pendingGroups: Set<UInt64> = []
        /// How many removals of all entries are on their way.
        var pendingClearings = 0
        var lastNumber = 0
        /// Grows with each change, so that a look-up from before does not bring back what is gone.
        var changes = 0
        var clearings = 0
        /// When the entries of a user were cleared last, and all of them.
        var clearedScopes: [String: Int] = [:]
        var clearedAll = 0
        var isPrepared = false
        var lastFailure: (any Error)?

        /// What is known of a key before the disk is read; `nil` when only the disk tells.
        func pendingChange(of key: CacheKey) -> CacheEntry?? {
            if let pending = pending[key] { return .some(pending.entry) }
            return pendingClearings > 0 || pendingGroups.contains(key.group) ? .some(nil) : nil
        }

        /// Forgets what was on its way to the disk and is void now.
        mutating func dropPending(where isMeant: (CacheKey) -> Bool) {
            let dropped = pending.filter { isMeant($0.key) }
            for (key, change) in dropped {
                pending[key] = nil
                pendingSize -= change.entry?.body.count ?? 0
            }
        }
    }

    /// The most bytes that wait for the disk; what comes beyond them is not written.
    private static let maximumPendingSize = 32 << 20

    /// A cache over stores.
    ///
    /// - Parameters:
    ///   - memory: Where entries are found first; `nil` keeps none in memory.
    ///   - disk: Where they outlive the process, such as a ``DiskStore``; `nil` is nowhere.
    ///   - appVersion: The version of your program, when entries of another one shall not be found.
    ///   - now: Tells the time; one of your own is for tests.
    public init(
        memory: MemoryStore? = MemoryStore(),
        disk: (any CacheStore)?,
        appVersion: String = "",
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.memory = memory
        self.disk = disk
        self.appVersion = appVersion
        self.now = now
    }

    /// A cache in memory over a ``DiskStore`` with the usual bounds.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else; it is made with the first entry.
    ///   - maximumSize: The most bytes on disk.
    public convenience init(directory: URL, maximumSize: Int = 256 << 20) {
        self.init(disk: DiskStore(directory: directory, maximumSize: maximumSize))
    }

    /// A folder for this in the user's folder for caches, which the system may empty.
    public static var defaultDirectory: URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return (caches ?? FileManager.default.temporaryDirectory).appending(path: "\(program)/errand-responses")
    }

    /// The last failure of a store, such as a full disk; `nil` when there was none.
    public var lastFailure: (any Error)? { state.withLock { $0.lastFailure } }

    // MARK: Looking up

    /// The entry of a key.
    ///
    /// - Returns: The entry, whatever its age.
    /// - Throws: ``CacheMiss/absent`` or ``CacheMiss/damaged``; `CancellationError` if the task is cancelled while a store
    ///   is read.
    public func entry(for key: CacheKey) async throws -> CacheEntry {
        try await entry(for: key, endedBy: nil)
    }

    /// The entry of a key for a send, whose end ends the look-up; one that begins after the send's deadline has 100 ms.
    func entry(for key: CacheKey, endedBy stop: StopSignal?) async throws -> CacheEntry {
        if let found = memory?.entry(for: key) { return found }
        let (pending, changes) = state.withLock { ($0.pendingChange(of: key), $0.changes) }
        if let pending {
            guard let pending else { throw CacheMiss.absent }
            return pending
        }
        guard let disk else { throw CacheMiss.absent }
        let wait = CacheWait<CacheEntry>()
        let queue = reads[Int(key.words.1 & 3)]
        let id = queue.add { [self] in wait.finish(with: Result { try read(key, from: disk, since: changes) }) }
        guard let stop else { return try await wait.value { queue.drop(id) } }
        let slot = stop.slot()
        slot.fill(with: StoppableLookup(wait: wait, timers: timers) { queue.drop(id) })
        defer { slot.clear() }
        return try await wait.value { queue.drop(id) }
    }

    private final class StoppableLookup: Stoppable {
        private static let grace = DispatchTimeInterval.milliseconds(100)
        private let wait: CacheWait<CacheEntry>
        private let timers: DispatchQueue
        private let abandon: @Sendable () -> Void

        init(wait: CacheWait<CacheEntry>, timers: DispatchQueue, abandon: @escaping @Sendable () -> Void) {
            (self.wait, self.timers, self.abandon) = (wait, timers, abandon)
        }

        func stop() {
            wait.finish(with: .failure(CancellationError()))
            abandon()
        }

        func stopAfterGrace() { timers.asyncAfter(deadline: .now() + Self.grace) { self.stop() } }
    }

    /// Reads an entry, which is in memory then, whether or not somebody still waits for it.
    private func read(_ key: CacheKey, from disk: any CacheStore, since changes: Int) throws -> CacheEntry {
        let result = Result { try disk.entry(for: key) }
        return try state.withLock { state in
            let isCurrent = state.changes == changes
            if !isCurrent, let pending = state.pendingChange(of: key) {
                guard let pending else { throw CacheMiss.absent }
                return pending
            }
            guard case .success(let found) = result else { throw CacheMiss.damaged }
            guard let found else { throw CacheMiss.absent }
            if isCurrent { memory?.store(found, for: key) }
            return found
        }
    }

    // MARK: Storing

    /// A point in time, as far as clearing goes.
    struct Ticket: Sendable {
        fileprivate let clearings: Int
    }

    /// To be taken before a request is sent: its answer is not stored when its user's entries are cleared meanwhile.
    var ticket: Ticket { state.withLock { Ticket(clearings: $0.clearings) } }

    /// Stores an entry: in memory at once, on disk soon after.
    public func store(_ entry: CacheEntry, for key: CacheKey) { store(entry, for: key, since: nil) }

    func store(_ entry: CacheEntry, for key: CacheKey, since ticket: Ticket?) {
        // What says `no-store` is never written, whatever the policy.
        let rules = CacheDirectives(entry.headers)
        let onDisk = disk != nil && entry.isVetted && (!rules.noStore || rules.mustUnderstand)
        let number = state.withLock { state -> Int? in
            let cleared = max(state.clearedAll, state.clearedScopes[entry.scope] ?? 0)
            if let ticket, cleared > ticket.clearings { return nil }
            state.changes &+= 1
            memory?.store(entry, for: key)
            return enter(onDisk ? entry : nil, for: key, isUnvetted: !entry.isVetted, in: &state)
        }
        if let number, number > 0 { write(key, number) }
    }

    /// Puts something on its way to the disk, and returns its number; 0 when there is nothing to do.
    private func enter(_ entry: CacheEntry?, for key: CacheKey, isUnvetted: Bool, in state: inout State) -> Int {
        // What is not vetted leaves the disk as it is.
        guard disk != nil, !isUnvetted else { return 0 }
        let size = (entry?.body.count ?? 0) - (state.pending[key]?.entry?.body.count ?? 0)
        guard state.pendingSize + size <= Self.maximumPendingSize else {
            state.lastFailure = POSIXError(.ENOBUFS)
            return 0
        }
        state.pendingSize += size
        state.lastNumber += 1
        state.pending[key] = (entry, state.lastNumber)
        return state.lastNumber
    }

    private func write(_ key: CacheKey, _ number: Int) {
        guard let disk else { return }
        writes.async { [self] in
            // A later change of the same key makes this one needless.
            guard let pending = state.withLock({ $0.pending[key] }), pending.number == number else { return }
            var failure: (any Error)?
            do {
                if let entry = pending.entry { try disk.store(entry, for: key) } else { try disk.remove(for: key) }
            } catch {
                failure = error
            }
            let isFirst = state.withLock { state in
                if let failure { state.lastFailure = failure }
                if state.pending[key]?.number == number {
                    state.pending[key] = nil
                    state.pendingSize -= pending.entry?.body.count ?? 0
                }
                defer { state.isPrepared = true }
                return !state.isPrepared
            }
            if isFirst { writes.async { disk.prepare() } }
        }
    }

    /// Removes the entry of a key: at once for every look-up, on disk soon after.
    public func remove(for key: CacheKey) {
        let number = state.withLock { state in
            state.changes &+= 1
            memory?.remove(for: key)
            return enter(nil, for: key, isUnvetted: false, in: &state)
        }
        if number > 0 { write(key, number) }
    }

    /// Removes all entries of a URL: at once for every look-up, on disk soon after.
    func removeAll(ofURL url: String) {
        let group = CacheGroup(url: url)
        let isNew = state.withLock { state in
            state.changes &+= 1
            memory?.removeAll(ofGroup: group)
            guard disk != nil else { return false }
            state.dropPending { group.contains($0) }
            return state.pendingGroups.insert(group.digest).inserted
        }
        // A removal that is on its way already comes before all that is stored from now on.
        guard isNew, let disk else { return }
        writes.async { [self] in
            let result = Result { try disk.removeAll(ofGroup: group) }
            state.withLock { state in
                state.pendingGroups.remove(group.digest)
                if case .failure(let error) = result { state.lastFailure = error }
            }
        }
    }

    // MARK: Maintenance

    /// Waits until all that was stored and removed so far is on disk, such as before a program ends.
    ///
    /// Returns at once if the task is cancelled.
    public func flush() async { _ = await maintain {} }

    /// Runs maintenance after all writes so far; what it throws is kept in ``lastFailure``.
    ///
    /// - Parameters:
    ///   - isReading: Whether it is not begun once nobody waits for it; a removal is done all the same.
    ///   - work: Called on a queue of the cache.
    /// - Returns: What the work returned; `nil` if it failed or the task was cancelled.
    func maintain<Value: Sendable>(
        isReading: Bool = false,
        _ work: @escaping @Sendable () throws -> Value
    ) async -> Value? {
        let wait = CacheWait<Value?>()
        writes.async { [self] in
            if isReading, !wait.isWanted { return }
            do {
                wait.finish(with: .success(try work()))
            } catch {
                state.withLock { $0.lastFailure = error }
                wait.finish(with: .success(nil))
            }
        }
        // The only error is that of a task that waits no longer.
        return (try? await wait.value()) ?? nil
    }

    /// Removes entries on disk, then in memory, after all writes so far; in memory also when the disk fails.
    func remove(_ work: @escaping @Sendable (any CacheStore) throws -> Void) async {
        _ = await maintain { [self] in
            let result = Result { if let disk { try work(disk) } }
            if let memory {
                // A look-up that read the disk before brings nothing back.
                state.withLock { $0.changes &+= 1 }
                try work(memory)
            }
            try result.get()
        }
    }

    /// Removes everything: at once for every look-up, then on disk.
    func clear() async {
        willClear(scope: nil)
        state.withLock { state in
            state.changes &+= 1
            memory?.trim(toBytes: 0)
            guard disk != nil else { return }
            state.dropPending { _ in true }
            state.pendingClearings += 1
        }
        guard let disk else { return }
        _ = await maintain { [self] in
            defer { state.withLock { $0.pendingClearings -= 1 } }
            try disk.trim(toBytes: 0)
        }
    }

    /// Marks that all entries of a scope go, or of all, so that answers still under way are not stored.
    func willClear(scope: String?) {
        state.withLock { state in
            state.clearings += 1
            if let scope { state.clearedScopes[scope] = state.clearings } else { state.clearedAll = state.clearings }
        }
    }
}
