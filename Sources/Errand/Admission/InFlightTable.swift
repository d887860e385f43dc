/// The in-flight fetches of an agent and the intervals between its sends; every change is a function of state and time.
struct InFlightTable: Sendable {
    /// A fetch in progress, of one send or shared by several.
    struct Fetch: Sendable {
        let id: Int
        /// Ends it.
        let stop: StopSignal
        /// The sends that share it, or `nil` if it belongs to one send.
        var subscribers: Table<ObjectIdentifier, InFlightSubscriber>?

        /// Whether a send that need not end waits for it.
        var isWanted: Bool {
            subscribers.map { !$0.values.allSatisfy { $0.stop.mustEnd } } ?? !stop.mustEnd
        }
    }

    /// The next step of a send.
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

    private struct Interval {
        let sendID: Int
        let end: Duration
    }

    /// The maximum number of identities whose intervals are known.
    static let maximumIntervalCount = 10_000

    private(set) var fetches = Table<DuplicateKey, Fetch>()
    /// The shared fetches that have to end, with the sends that wait for their ends, because user code still runs in them.
    private var ending = Table<Int, Fetch>()
    /// The times when sends of each identity were admitted; beyond the limit, the oldest ones are forgotten.
    private var intervals = HostTable<DuplicateKey, Interval>(limit: InFlightTable.maximumIntervalCount)
    private(set) var lastID = 0

    /// The number of identities whose intervals are known.
    var intervalCount: Int { intervals.count }

    /// Returns the step for a send, and records its consequences.
    ///
    /// A send that joins a fetch sends nothing, and needs no interval. A send without a policy neither joins a fetch nor
    /// can be joined. The subscriber is the send's subscription to a shared fetch.
    mutating func enter(
        _ key: DuplicateKey,
        _ policy: DuplicatePolicy,
        sendID: Int,
        subscriber: InFlightSubscriber,
        interval: Duration?,
        at now: Duration
    ) -> Step {
        // Numbers and not the fetch itself, because a copy would copy its subscribers for each one that is added.
        let current = policy == .allow ? nil : fetches[key].map { (id: $0.id, isShared: $0.subscribers != nil) }
        if policy == .share, let current, current.isShared {
            change(key) { $0.subscribers?[ObjectIdentifier(subscriber)] = subscriber }
            return .join(current.id)
        }
        // The caller of a cancelled send may send again before that send has left its fetch.
        if policy == .rejectNew, fetches[key]?.isWanted == true { return .reject(.duplicate) }
        if let interval {
            // A send that an interceptor repeats is admitted again.
            if let last = intervals[key], last.sendID != sendID, last.end > now {
                return .reject(.tooSoon(retryAfter: last.end - now))
            }
            let own = Interval(sendID: sendID, end: now + min(interval, .seconds(366 * 86_400)))
            intervals.change(key, default: own) { $0 = own }
        }
        // The fetch in progress has another policy and may not be shared.
        if policy == .allow || policy == .share && current != nil { return .alone }
        lastID += 1
        let previous = fetches[key]
        if let previous, previous.subscribers != nil { ending[previous.id] = previous }
        var fetch = Fetch(id: lastID, stop: subscriber.stop)
        if policy == .share {
            fetch = Fetch(id: lastID, stop: StopSignal(), subscribers: Table())
            fetch.subscribers?[ObjectIdentifier(subscriber)] = subscriber
        }
        fetches[key] = fetch
        return .start(fetch, instead: previous)
    }

    /// Changes a fetch that is under way.
    private mutating func change(_ key: DuplicateKey, _ body: (inout Fetch) -> Void) {
        fetches.change(key, default: Fetch(id: 0, stop: StopSignal()), body)
    }

    /// Removes a send that has to end from a shared fetch.
    ///
    /// - Returns: Whether the send waits until the fetch has ended, because no other send needs it, and the fetch's signal.
    mutating func leave(_ key: DuplicateKey, _ id: Int, _ subscriber: InFlightSubscriber) -> (Bool, StopSignal?) {
        guard fetches[key]?.id == id else { return (ending[id] != nil, nil) }
        guard fetches[key]?.subscribers?.count == 1 else {
            change(key) { $0.subscribers?[ObjectIdentifier(subscriber)] = nil }
            return (false, nil)
        }
        ending[id] = fetches.removeValue(forKey: key)
        return (true, ending[id]?.stop)
    }

    /// Removes a fetch that has ended, and returns the sends that wait for it.
    mutating func end(_ key: DuplicateKey, _ id: Int) -> [InFlightSubscriber] {
        let fetch = fetches[key]?.id == id ? fetches.removeValue(forKey: key) : ending.removeValue(forKey: id)
        return fetch?.subscribers?.values ?? []
    }

    /// Returns the sends that share a fetch.
    func subscribers(_ key: DuplicateKey, _ id: Int) -> [InFlightSubscriber] {
        guard let fetch = fetches[key], fetch.id == id else { return [] }
        return fetch.subscribers?.values ?? []
    }
}
