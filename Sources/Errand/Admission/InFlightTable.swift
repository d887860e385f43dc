/// The in-flight fetches of an agent and the intervals between its sends; every change is a function of state and time.
struct InFlightTable: Sendable {
    /// A fetch in progress, and its subscribers.
    struct Fetch: Sendable {
        let id: Int
        let isShared: Bool
        /// Whether it receives into a file, which only one fetch can have at a time.
        let hasFile: Bool
        var subscribers = Table<ObjectIdentifier, InFlightSubscriber>()
        var task: Task<Void, Never>?
        /// Has the task as soon as there is one, for the fetch that replaces or follows this one.
        let begun = Delivery<Task<Void, Never>>()

        /// Whether a send waits for it that need not end.
        var isWanted: Bool { !subscribers.values.allSatisfy(\.isLeaving) }
    }

    /// What a send has to do.
    enum Step: Sendable {
        /// Fetch on its own.
        case alone
        /// Wait for this fetch.
        case join(_ fetch: Int)
        /// Start this fetch, and end the previous one.
        case start(_ fetch: Fetch, instead: Fetch?)
        /// Fail.
        case reject(NetworkError.Reason)
    }

    private(set) var fetches = Table<DuplicateKey, Fetch>()
    /// For each key the latest fetch that no send waits for any more, until it has released its file or another one waits
    /// for that.
    private var abandoned = Table<DuplicateKey, Fetch>()
    private var intervals = MinimumIntervals()
    private var lastID = 0

    /// Returns the step for a send, and records its consequences.
    ///
    /// A send that joins a fetch sends nothing, and needs no interval. A send without a policy neither joins a fetch nor
    /// can be joined. The subscriber is the send's subscription, if it waits.
    mutating func enter(
        _ key: DuplicateKey,
        _ policy: DuplicatePolicy,
        sendID: Int,
        subscriber: InFlightSubscriber,
        interval: Duration?,
        hasFile: Bool,
        at now: Duration
    ) -> Step {
        // Numbers and not the fetch itself: a copy of it would copy its subscribers for each one that is added.
        let current = policy == .allow ? nil : fetches[key].map { (id: $0.id, isShared: $0.isShared) }
        if policy == .share, let current, current.isShared {
            change(key) { $0.subscribers[ObjectIdentifier(subscriber)] = subscriber }
            return .join(current.id)
        }
        // The caller of a cancelled send may send again before that send has left its fetch.
        if policy == .rejectNew, fetches[key]?.isWanted == true { return .reject(.duplicate) }
        if let interval, let pause = intervals.admit(key, sendID: sendID, interval: interval, at: now) {
            return .reject(.tooSoon(retryAfter: pause))
        }
        // The fetch in progress has another policy and may not be shared.
        if policy == .allow || policy == .share && current != nil { return .alone }
        lastID += 1
        let previous = fetches[key] ?? abandoned.removeValue(forKey: key)
        var fetch = Fetch(id: lastID, isShared: policy == .share, hasFile: hasFile)
        fetch.subscribers[ObjectIdentifier(subscriber)] = subscriber
        fetches[key] = fetch
        return .start(fetch, instead: previous)
    }

    /// Changes a fetch that is under way.
    private mutating func change(_ key: DuplicateKey, _ body: (inout Fetch) -> Void) {
        fetches.change(key, default: Fetch(id: 0, isShared: false, hasFile: false), body)
    }

    /// Sets the task that a fetch owns.
    ///
    /// - Returns: Whether any send still waits for it.
    mutating func own(_ task: Task<Void, Never>, _ key: DuplicateKey, _ id: Int) -> Bool {
        guard fetches[key]?.id == id else { return false }
        change(key) { $0.task = task }
        return true
    }

    /// Removes a send that no longer waits.
    ///
    /// - Returns: The task of the fetch if no other send waits for it, or `nil`.
    mutating func leave(_ key: DuplicateKey, _ id: Int, _ subscriber: InFlightSubscriber) -> Task<Void, Never>? {
        guard fetches[key]?.id == id else { return nil }
        change(key) { $0.subscribers[ObjectIdentifier(subscriber)] = nil }
        guard fetches[key]?.subscribers.isEmpty == true else { return nil }
        let fetch = fetches.removeValue(forKey: key)
        if let fetch, fetch.hasFile { abandoned[key] = fetch }
        return fetch?.task
    }

    /// Records that a fetch that no send waits for has released its file.
    mutating func didReleaseFile(_ key: DuplicateKey, _ id: Int) {
        if abandoned[key]?.id == id { abandoned[key] = nil }
    }

    /// Removes a fetch that has ended, and returns its subscribers.
    mutating func end(_ key: DuplicateKey, _ id: Int) -> [InFlightSubscriber] {
        guard let fetch = fetches[key], fetch.id == id else { return [] }
        fetches[key] = nil
        return fetch.subscribers.values
    }

    /// Returns the subscribers of a fetch.
    func subscribers(_ key: DuplicateKey, _ id: Int) -> [InFlightSubscriber] {
        guard let fetch = fetches[key], fetch.id == id else { return [] }
        return fetch.subscribers.values
    }
}
