/// The flights of an agent and the intervals between its sends; every change is a function of state and time.
struct FlightTable: Sendable {
    /// A fetch that is under way, and those who wait for it.
    struct Flight: Sendable {
        let id: Int
        let isShared: Bool
        var seats: [ObjectIdentifier: FlightSeat]
        var task: Task<Void, Never>?
    }

    /// What a send has to do.
    enum Step: Sendable {
        /// Fetch on its own.
        case alone
        /// Wait for this flight.
        case join(_ flight: Int)
        /// Start this flight, and end the one before.
        case start(_ flight: Int, instead: Flight?)
        /// Fail.
        case reject(NetworkError.Reason)
    }

    private(set) var flights: [DuplicateKey: Flight] = [:]
    private var intervals = MinimumIntervals()
    private var lastID = 0

    /// Decides about a send, and notes what follows.
    ///
    /// Who joins a flight sends nothing, and needs no interval. A send without a policy neither sees flights nor is
    /// one. The seat is where the send waits, if it does.
    mutating func enter(
        _ key: DuplicateKey,
        _ policy: DuplicatePolicy,
        sendID: Int,
        seat: FlightSeat,
        interval: Duration?,
        at now: Duration
    ) -> Step {
        // Numbers and not the flight itself: a copy of it would have its seats copied for each one that is added.
        let current = policy == .allow ? nil : flights[key].map { (id: $0.id, isShared: $0.isShared) }
        if policy == .share, let current, current.isShared {
            flights[key]?.seats[ObjectIdentifier(seat)] = seat
            return .join(current.id)
        }
        if policy == .rejectNew, current != nil { return .reject(.duplicate) }
        if let interval, let pause = intervals.admit(key, sendID: sendID, interval: interval, at: now) {
            return .reject(.tooSoon(retryAfter: pause))
        }
        // One that may not be shared is under way: its policy is not ours to change.
        if policy == .allow || policy == .share && current != nil { return .alone }
        lastID += 1
        let previous = flights[key]
        flights[key] = Flight(id: lastID, isShared: policy == .share, seats: [ObjectIdentifier(seat): seat])
        return .start(lastID, instead: previous)
    }

    /// Gives a flight the task that it owns.
    ///
    /// - Returns: Whether anybody still waits for it.
    mutating func own(_ task: Task<Void, Never>, _ key: DuplicateKey, _ id: Int) -> Bool {
        guard flights[key]?.id == id else { return false }
        flights[key]?.task = task
        return true
    }

    /// A send does not wait any more.
    ///
    /// - Returns: The task of a flight for which nobody waits now.
    mutating func leave(_ key: DuplicateKey, _ id: Int, _ seat: FlightSeat) -> Task<Void, Never>? {
        guard flights[key]?.id == id else { return nil }
        flights[key]?.seats[ObjectIdentifier(seat)] = nil
        guard flights[key]?.seats.isEmpty == true else { return nil }
        return flights.removeValue(forKey: key)?.task
    }

    /// A flight is over; returns those who wait for it.
    mutating func end(_ key: DuplicateKey, _ id: Int) -> [FlightSeat] {
        guard let flight = flights[key], flight.id == id else { return [] }
        flights[key] = nil
        return Array(flight.seats.values)
    }

    /// Those who wait for a flight.
    func seats(_ key: DuplicateKey, _ id: Int) -> [FlightSeat] {
        guard let flight = flights[key], flight.id == id else { return [] }
        return Array(flight.seats.values)
    }
}
