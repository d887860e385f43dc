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

    /// A sequence that has begun.
    private struct Sequence {
        let end: SendSequence.End
        let stop: @Sendable () -> Void
        /// The number of its running sends.
        var count = 0
        /// The latest send, until it has ended.
        var send: Send?
        /// The context of the last send that has ended.
        var last: RequestContext?

        var context: RequestContext? { send?.latestContext ?? last }

        mutating func begin(_ send: Send) {
            count += 1
            self.send = send
        }

        mutating func end(_ send: Send, _ context: RequestContext) {
            count -= 1
            last = context
            if self.send === send { self.send = nil }
        }
    }

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

        /// Adds a sequence, and the sequences that contain it; none of them counts its sends.
        mutating func add(_ sequence: SendSequence) {
            var next: SendSequence? = sequence
            while let sequence = next, !sequence.isNoted.exchange(true, ordering: .relaxed) {
                sequences[ObjectIdentifier(sequence)] = Sequence(end: sequence.end, stop: sequence.stop)
                next = sequence.outer
            }
        }

        /// Changes the sequences that a send is a part of.
        mutating func change(_ send: Send, _ change: (inout Sequence) -> Void) {
            var next = send.sequence
            while let sequence = next {
                let new = Sequence(end: sequence.end, stop: sequence.stop)
                change(&sequences[ObjectIdentifier(sequence), default: new])
                next = sequence.outer
            }
        }
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
        state.withLock { state in
            send.place.store(state.running.add(.send(send)), ordering: .relaxed)
            guard let sequence = send.sequence else { return }
            if sequence.countsSends { state.change(send) { $0.begin(send) } } else { state.add(sequence) }
        }
        if send.sequence?.mustEnd == true { send.stop.stop() }
    }

    func forget(_ send: Send) {
        let place = send.place.exchange(-1, ordering: .relaxed)
        guard place >= 0 else { return }
        guard send.sequence?.countsSends == true else { return state.withLock { _ = $0.running.remove(at: place) } }
        let context = send.latestContext
        state.withLock { state in
            _ = state.running.remove(at: place)
            state.change(send) { $0.end(send, context) }
        }
    }

    /// Forgets a sequence, none of whose sends is running.
    func forget(_ sequence: ObjectIdentifier) {
        // Its references are released outside of the lock.
        _ = state.withLock { $0.sequences.removeValue(forKey: sequence) }
    }

    /// Runs background work so that it can be ended like a send.
    func run(inBackground prepared: PreparedRequest, _ work: @Sendable () async -> Outcome) async -> Outcome {
        let place = state.withLock { $0.running.add(.inBackground(prepared)) }
        // Released outside of the lock.
        defer { _ = state.withLock { $0.running.remove(at: place) } }
        let watch = prepared.deadline?.watch(prepared.stop)
        defer { watch?.cancel() }
        return await work()
    }

    /// Ends a sequence after a send of it that was cancelled too late, if that was the only one that ran.
    func endUnlessOthersRun(_ sequence: SendSequence) {
        let othersRun = state.withLock { ($0.sequences[ObjectIdentifier(sequence)]?.count ?? 0) > 0 }
        switch sequence.end {
        case .withItsSend: sequence.stop()
        case .onlyBetween: if !othersRun { sequence.stop() }
        // It was ended with all, or not at all, even if it is a part of another one.
        case .withAllSends: if let outer = sequence.outer { endUnlessOthersRun(outer) }
        }
    }

    /// Ends sends and sequences.
    ///
    /// - Parameters:
    ///   - isEverything: Whether requests end, too, that have not begun and so have no context.
    ///   - predicate: Which of the others, by their contexts.
    func cancelAll(everything isEverything: Bool = false, where predicate: (RequestContext) -> Bool) {
        let (running, sequences, started) = state.withLock { state in
            (state.running.all, state.sequences, isEverything ? Array(state.started.values) : [])
        }
        // Before their sends, so that no send has failed by itself.
        if isEverything { for sequence in sequences.values { sequence.stop() } }
        for one in running where predicate(one.context) { one.stop() }
        for sequence in sequences.values where !isEverything && sequence.end != .withAllSends {
            guard sequence.count == 0 || sequence.end == .withItsSend else { continue }
            if sequence.context.map(predicate) == true { sequence.stop() }
        }
        for cancel in started { cancel() }
        // The sends that have begun in them meanwhile.
        let begun = state.withLock { state in state.running.all.filter { $0.sequence?.mustEnd == true } }
        for one in begun { one.stop() }
    }
}
