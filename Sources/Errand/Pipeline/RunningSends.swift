internal import Synchronization

/// The running sends of an agent, so that each can be ended from outside its own task.
struct RunningSends: Sendable {
    private enum Running {
        case send(Send)
        /// A fetch in the background, which no caller waits for.
        case inBackground(PreparedRequest)

        /// The context, with its URL once it is known.
        var context: RequestContext {
            switch self {
            case .send(let send): send.latestContext
            case .inBackground(let prepared): prepared.context
            }
        }

        var sequence: SendSequence? { if case .send(let send) = self { send.sequence } else { nil } }

        func stop() {
            switch self {
            case .send(let send): send.stop.stop()
            case .inBackground(let prepared): prepared.stop.stop()
            }
        }
    }

    private struct Sequence { weak var object: SendSequence? }

    /// The running sends, each at its own place, because a dictionary takes ten times as long.
    private struct Places {
        private var running: [Running?] = []
        private var free: [Int] = []

        var isEmpty: Bool { free.count == running.count }
        var all: [Running] { running.compactMap { $0 } }

        /// Adds one; returns its place.
        mutating func add(_ one: Running) -> Int {
            guard let place = free.popLast() else {
                running.append(one)
                return running.count - 1
            }
            running[place] = one
            return place
        }

        /// Removes and returns the one at a place.
        mutating func remove(at place: Int) -> Running? {
            let one = running[place].take()
            free.append(place)
            // The memory for many sends at once is not kept.
            if isEmpty, running.count > 1_000 { self = Places() }
            return one
        }
    }

    private struct State {
        var running = Places()
        /// The closures that cancel sends that were started with a handle, which may not have begun yet.
        var started = Table<Int, @Sendable () -> Void>()
        var lastNumber = 0
        var sequences: [ObjectIdentifier: Sequence] = [:]
    }

    private let state = Lock(State())

    /// Whether no send is running, and no sequence of sends.
    var isEmpty: Bool { state.withLock { $0.running.isEmpty && $0.sequences.isEmpty && $0.started.isEmpty } }

    /// Records a send that was started with a handle, so that it ends with all sends although its task has not begun.
    ///
    /// - Parameter cancel: Cancels it; returns at once.
    /// - Returns: The number to pass to ``forget(started:)``, or `nil` for a request of a refresh, as in ``note(_:)``.
    func noteStarted(_ cancel: @escaping @Sendable () -> Void) -> Int? {
        guard !RefreshScope.isActive else { return nil }
        return state.withLock { state in
            state.lastNumber &+= 1
            state.started[state.lastNumber] = cancel
            return state.lastNumber
        }
    }

    /// Removes a started send, once it has ended.
    func forget(started number: Int?) {
        guard let number else { return }
        // Its references are released outside of the lock.
        _ = state.withLock { $0.started.removeValue(forKey: number) }
    }

    /// Records a send.
    ///
    /// The requests of a refresh belong to their session: if they were ended from here, the result of a consumed
    /// refresh token would be lost.
    func note(_ send: Send) {
        guard !RefreshScope.isActive else { return }
        state.withLock { send.place.store($0.running.add(.send(send)), ordering: .relaxed) }
        if send.sequence?.mustEnd == true { send.stop.stop() }
    }

    func forget(_ send: Send) {
        let place = send.place.exchange(-1, ordering: .relaxed)
        if place >= 0 { _ = state.withLock { $0.running.remove(at: place) } }
    }

    /// Records a sequence, until it is deallocated; a refresh's is not recorded, as in ``note(_:)`` of a send.
    func note(_ sequence: SendSequence) {
        guard !RefreshScope.isActive else { return }
        state.withLock { $0.sequences[ObjectIdentifier(sequence)] = Sequence(object: sequence) }
    }

    /// Forgets a sequence, none of whose sends is running.
    func forget(_ sequence: ObjectIdentifier) {
        // Its references are released outside of the lock.
        _ = state.withLock { $0.sequences.removeValue(forKey: sequence) }
    }

    /// Runs background work so that it can be ended like a send.
    func run(inBackground prepared: PreparedRequest, _ work: @Sendable () async -> SendOutcome) async -> SendOutcome {
        let place = state.withLock { $0.running.add(.inBackground(prepared)) }
        // Released outside of the lock.
        defer { _ = state.withLock { $0.running.remove(at: place) } }
        let watch = prepared.deadline?.watch(prepared.stop)
        defer { watch?.cancel() }
        return await work()
    }

    /// Ends sends and sequences.
    ///
    /// - Parameters:
    ///   - isEverything: Whether requests end, too, that have not begun and so have no context.
    ///   - predicate: Which of the others, by their contexts.
    func cancelAll(everything isEverything: Bool = false, where predicate: (RequestContext) -> Bool) {
        // Before their sends, so that no send has failed by itself, and sends that begin in them from now on end by themselves.
        for sequence in state.withLock({ $0.sequences.values.compactMap(\.object) })
        where isEverything || sequence.latestContext.map(predicate) == true {
            sequence.stop()
        }
        let (running, started) = state.withLock { state in
            (state.running.all, isEverything ? Array(state.started.values) : [])
        }
        // The last places first: as a rule those that still wait have them, and must not be sent in place of one that ends.
        for one in running.reversed() where one.sequence?.mustEnd == true || predicate(one.context) { one.stop() }
        for cancel in started { cancel() }
    }
}
