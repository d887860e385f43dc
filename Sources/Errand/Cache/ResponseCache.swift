internal import Dispatch
public import Foundation

/// A cache of responses in memory and on disk, each with a maximum size.
///
/// ```swift
/// config.cache = ResponseCache(directory: ResponseCache.defaultDirectory)
/// config.cachePolicy = .http
/// ```
///
/// The config has the cache, and the ``CachePolicy`` of each request decides when it is used. Lookups do not wait for
/// writes: an entry is stored in memory at once, and on disk soon after by a queue of the cache. A failure of a store
/// never fails a request; it is available as ``lastFailure``.
public final class ResponseCache: Sendable {
    let memory: MemoryStore?
    let disk: (any CacheStore)?
    let appVersion: String
    let maximumHeuristicLifetime: Duration
    /// The maximum time that a lookup waits for the disk, in milliseconds.
    private let patience: Int
    static let standardPatience = 500
    let now: @Sendable () -> Date
    /// The secret of digests of credentials.
    let secret: CacheSecret

    // The store in memory is changed under this lock, so that it is always consistent with the pending changes.
    let state = Lock(State())
    // Writes and maintenance run serially, lookups beside them.
    let writes = DispatchQueue(label: "errand.cache.writes", qos: .utility)
    private let reads: CacheReads
    let counts = DispatchQueue(label: "errand.cache.counts", qos: .utility)

    /// The revalidations that run in the background.
    let revalidations = CacheRevalidations()

    typealias Ticket = CacheRemovals.Ticket

    struct State {
        var pending = PendingWrites()
        var variants = PendingVariants()
        /// Counts the changes, so that an earlier lookup does not restore what was removed.
        var changes = CacheChanges()
        var removals = CacheRemovals()
        /// The times, in microseconds, at which the stored responses were requested, because memory may not keep them.
        var requested = RecentTimes()
        /// The lists of parameters that requests ignore: responses may be stored under URLs without them.
        var ignoredParameters: Set<IgnoredParameters> = []
        var lastFailure: (any Error)?
        /// The time of the last change.
        var date = Date()
    }

    /// Creates a cache with these stores.
    ///
    /// - Parameters:
    ///   - memory: The store that is read first, or `nil` to keep nothing in memory.
    ///   - disk: The store that outlives the process, such as a ``DiskStore``, or `nil` for none.
    ///   - appVersion: The version of your program, if entries of other versions must not be found. By default, it is
    ///     ignored.
    ///   - maximumHeuristicLifetime: The maximum time for which ``CachePolicy/http`` considers a response fresh that
    ///     doesn't state its lifetime. By default, it is one day; zero means that such a response is always validated.
    ///   - now: Returns the current time. Replace it in tests only.
    public convenience init(
        memory: MemoryStore? = MemoryStore(),
        disk: (any CacheStore)?,
        appVersion: String = "",
        maximumHeuristicLifetime: Duration = .seconds(86_400),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            memory: memory,
            disk: disk,
            appVersion: appVersion,
            maximumHeuristicLifetime: maximumHeuristicLifetime,
            patience: Self.standardPatience,
            now: now
        )
    }

    /// Creates a cache with another time limit of a lookup, for tests on a machine that is busy.
    init(
        memory: MemoryStore?,
        disk: (any CacheStore)?,
        appVersion: String = "",
        maximumHeuristicLifetime: Duration = .seconds(86_400),
        patience: Int,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.patience = patience
        self.memory = memory
        self.disk = disk
        self.appVersion = appVersion
        self.maximumHeuristicLifetime = maximumHeuristicLifetime
        self.now = now
        secret = CacheSecret(in: (disk as? DiskStore)?.files)
        reads = CacheReads(patience: patience)
    }

    /// Creates a cache in memory and in a ``DiskStore`` with the default limits.
    ///
    /// - Parameters:
    ///   - directory: A directory for nothing else; it is created with the first entry.
    ///   - maximumSize: The maximum size on disk in bytes.
    public convenience init(directory: URL, maximumSize: Int = 256 << 20) {
        self.init(disk: DiskStore(directory: directory, maximumSize: maximumSize))
    }

    /// The default of the maximum lifetime of a response that doesn't state it (RFC 9111, section 4.2.2).
    static let standardHeuristicLifetime = Duration.seconds(86_400)

    /// A directory for a cache in the user's caches directory, which the system may empty.
    public static var defaultDirectory: URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return (caches ?? FileManager.default.temporaryDirectory).appending(path: "\(program)/errand-responses")
    }

    /// The last failure of a store, such as a full disk, or `nil` if there was none.
    public var lastFailure: (any Error)? { state.withLock { $0.lastFailure } }

    // MARK: Looking up

    /// Returns the entry of a key, whatever its age.
    ///
    /// - Returns: The entry.
    /// - Throws: ``CacheMiss/absent``, ``CacheMiss/damaged``, or ``CacheMiss/tooSlow`` if the store takes longer than half a
    ///   second; `CancellationError` if the task is cancelled while a store is read.
    public func entry(for key: CacheKey) async throws -> CacheEntry {
        try await entry(for: key, endedBy: nil, until: limit())
    }

    /// Until when a lookup that begins now waits for the disk: half a second at most, and half of the time that its send has
    /// left; but 25 ms in any case, which is enough for a disk, also after the send's deadline.
    func limit(ofSendFor rest: Duration? = nil) -> DispatchTime {
        let half = rest.map { $0 / .milliseconds(2) } ?? .infinity
        return .now() + .milliseconds(Int(max(25, min(Double(patience), half))))
    }

    /// Returns the entry of a key for a send, whose end ends the lookup.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - stop: The end of the send, or `nil` if only the task ends the lookup.
    ///   - limit: Until when the store is waited for, or `nil` if it is waited for however long it takes.
    /// - Returns: The entry, whatever its age.
    /// - Throws: ``CacheMiss``, or `CancellationError` if the send or the task ends first.
    func entry(for key: CacheKey, endedBy stop: StopSignal?, until limit: DispatchTime?) async throws -> CacheEntry {
        if let found = memory?.entry(for: key) {
            disk?.didUse(key)
            return found
        }
        let (pending, changes) = state.withLock { ($0.pending.change(of: key), $0.changes[key]) }
        if let pending {
            guard let pending else { throw CacheMiss.absent }
            return pending
        }
        guard let disk else { throw CacheMiss.absent }
        return try await reads.entry(for: key, until: limit, endedBy: stop) { [self] in
            try read(key, from: disk, since: changes)
        }
    }

    /// Returns the entry of a key on a queue that may block, or `nil` if it cannot be read.
    func storedEntry(for key: CacheKey) -> CacheEntry? {
        if let found = memory?.entry(for: key) { return found }
        let (pending, changes) = state.withLock { ($0.pending.change(of: key), $0.changes[key]) }
        return pending ?? disk.flatMap { try? read(key, from: $0, since: changes) }
    }

    /// Reads an entry and keeps it in memory, whether or not a lookup still waits for it.
    private func read(_ key: CacheKey, from disk: any CacheStore, since changes: Int) throws -> CacheEntry {
        let result = Result { try disk.entry(for: key) }
        return try change { state in
            let isCurrent = state.changes[key] == changes
            if !isCurrent, let pending = state.pending.change(of: key) {
                guard let pending else { throw CacheMiss.absent }
                return pending
            }
            guard case .success(let found) = result else { throw CacheMiss.damaged }
            guard let found, !state.removals.hide(found, for: key, at: state.date) else { throw CacheMiss.absent }
            if isCurrent { memory?.store(found, for: key) }
            return found
        }
    }

    // MARK: Storing

    /// A ticket to be taken before a request is sent: its response is not stored if such entries are removed since.
    var ticket: Ticket {
        change { $0.removals.ticket(at: $0.date) }
    }

    /// Changes the state in one step, at one time: of two sends that do so, the second sees what the first has done.
    func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        let date = now()
        return try state.withLock { state in
            state.date = date
            return try body(&state)
        }
    }

    /// Stores an entry: in memory at once, on disk soon after.
    ///
    /// An entry that was requested before it was removed, such as by ``removeAll()``, is not read from disk again.
    ///
    /// - Returns: What can be awaited to know when the entry is on disk, or why it is not.
    @discardableResult
    public func store(_ entry: CacheEntry, for key: CacheKey) -> CacheWrite {
        let write = CacheWrite()
        store(entry, for: key, since: nil, reportingTo: write)
        return write
    }

    /// Stores a response, unless it was removed since a ticket was taken, or one that was requested later is stored.
    func store(
        _ entry: CacheEntry,
        for key: CacheKey,
        since ticket: Ticket?,
        reportingTo write: CacheWrite? = nil
    ) {
        change { state in
            guard allows(entry, at: [key], since: ticket, in: state) else {
                write?.finish(.superseded)
                return
            }
            store(entry, for: key, reportingTo: write, in: &state)
        }
    }

    /// Whether a response may be stored at all.
    ///
    /// Not if it was removed since a ticket was taken, or if one that was requested later is stored for one of some keys of
    /// its URL. Without a ticket, any may.
    func allows(_ entry: CacheEntry, at keys: [CacheKey], since ticket: Ticket?, in state: State) -> Bool {
        guard let ticket else { return true }
        return keys.allSatisfy { state.removals.allow(entry, for: $0, since: ticket) }
            && !isLater(keys, than: entry.requested.microseconds, in: state)
    }

    /// Stores a response, whatever is stored for its key.
    func store(_ entry: CacheEntry, for key: CacheKey, reportingTo write: CacheWrite?, in state: inout State) {
        // A response with `no-store` is never written, whatever the policy.
        let isWritten = !entry.isMemoryOnly && !CacheControl.forbidsStoring(entry)
        if !isWritten { write?.finish(.inMemory) }
        put(entry, for: key, isWritten: isWritten, reportingTo: write, in: &state)
        // What only memory may have, and cannot keep, must not leave an older one on disk.
        if !entry.isVetted, !keepsUnvetted(entry) { discard(key, in: &state) }
    }

    /// Whether memory is large enough for an entry whose request could not be asked for its veto.
    func keepsUnvetted(_ entry: CacheEntry) -> Bool { memory?.canStore(entry) ?? false }

    /// Stores an entry, under the lock: in memory at once, on disk soon after.
    func put(
        _ entry: CacheEntry,
        for key: CacheKey,
        isWritten: Bool = true,
        reportingTo write: CacheWrite? = nil,
        in state: inout State
    ) {
        state.requested.note(key, at: entry.requested.microseconds)
        state.changes.note(key)
        memory?.store(entry, for: key)
        if disk != nil, entry.isVetted {
            enqueue(isWritten ? entry : nil, for: key, reportingTo: write, in: &state)
        } else {
            let isStored = disk == nil && memory?.canStore(entry) == true
            write?.finish(disk != nil ? .inMemory : isStored ? .stored : .failed(POSIXError(.EFBIG)))
        }
    }
}
