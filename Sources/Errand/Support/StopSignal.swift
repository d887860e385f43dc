internal import Dispatch
internal import Synchronization

/// An exchange of a ``StoppableTransport``, which can be ended from any thread.
public protocol StoppableExchange: AnyObject, Sendable {
    /// Ends the exchange, for its caller at once and as cancelled.
    ///
    /// Must not wait, and may be called more than once, also after the exchange has ended.
    func stop()
}

/// Something that a ``StopSignal`` can end: a task, or an exchange of a transport.
protocol Stoppable: StoppableExchange {
    /// Ends it if it is still running when its grace period is over.
    func stopAfterGrace()

    /// Whether a deadline leaves it its grace period, because it detects the deadline itself.
    var noticesDeadlines: Bool { get }
}

extension Stoppable {
    var noticesDeadlines: Bool { false }
}

extension StoppableExchange {
    /// Ends it now, unless it has a grace period.
    fileprivate func stopSoon() { if let work = self as? any Stoppable { work.stopAfterGrace() } else { stop() } }

    /// Begins its grace period, if it has one.
    fileprivate func beginGrace() { (self as? any Stoppable)?.stopAfterGrace() }

    fileprivate var leavesDeadlinesToItself: Bool { (self as? any Stoppable)?.noticesDeadlines == true }
}

/// Ends a send from outside its task: for `cancelAll(where:)`, handles, scopes and deadlines.
///
/// Each operation that a send waits for registers here, the innermost last. Cancellation ends all of them; a deadline ends
/// the innermost first, so that the cache can still supply a stale response in place of what the network did not return in
/// time.
///
/// A send needs a task of its own only if code outside of the library may wait or block. Such code may ignore its
/// cancellation; the send then ends without it after a ``Grace`` period.
final class StopSignal: Sendable {
    /// The reason why a send has to end.
    enum Reason: Sendable {
        case cancelled
        case deadline
        /// A newer equal send replaced it, by ``DuplicatePolicy/cancelPrevious``.
        case superseded
        /// It has ended by itself; code that it left behind can no longer start anything.
        case finished
    }

    /// The time that code that does not react to its cancellation may delay the end of a send, in milliseconds.
    enum Grace: Int, Sendable {
        /// For an accessory that is notified while its caller waits.
        case notification = 50
        /// For adapters, interceptors, gates, a refresh, or a transport.
        case network = 80
        /// For send interceptors, which enclose the cache.
        case send = 130
        /// For the whole send, if accessories or a formatter may block.
        case whole = 180

        fileprivate static let queue = DispatchQueue(label: "errand.agent.grace")

        /// Calls `end` after this time, unless `hasEnded` returns `true` by then.
        ///
        /// It takes longer on a busy machine: until everything that was ready to run has run.
        fileprivate func afterwards(hasEnded: @escaping @Sendable () -> Bool, end: @escaping @Sendable () -> Void) {
            Self.queue.asyncAfter(deadline: .now() + .milliseconds(rawValue)) {
                guard !hasEnded() else { return }
                Task {
                    for _ in 0..<10 { await Task.yield() }
                    end()
                }
            }
        }
    }

    private struct State {
        var reason: Reason?
        var isWhole = false
        /// The operations that the send waits for, the innermost last.
        var entries = Entries()
        var abandonHandlers: [Int: @Sendable () -> Void] = [:]
    }

    /// A stack whose first entry is not in an array, because most sends wait for one thing at a time.
    private struct Entries {
        typealias Entry = (id: Int, stoppable: any StoppableExchange)

        private var outermost: Entry?
        private var inner: [Entry] = []

        var isEmpty: Bool { outermost == nil && inner.isEmpty }
        /// All entries, the innermost first.
        var fromInside: [Entry] { inner.reversed() + (outermost.map { [$0] } ?? []) }

        /// - Returns: Whether it is the only entry.
        mutating func add(_ entry: Entry) -> Bool {
            guard isEmpty else {
                inner.append(entry)
                return false
            }
            outermost = entry
            return true
        }

        mutating func remove(_ id: Int) {
            if outermost?.id == id {
                outermost = nil
            } else if let place = inner.lastIndex(where: { $0.id == id }) {
                inner.remove(at: place)
            }
        }
    }

    private let state = Lock(State())
    /// Whether there is a reason; it is read often, so without the lock.
    private let isEnding = Atomic(false)
    private let lastID = Atomic(0)

    init() {}

    /// The reason why the send has to end, or `nil` if it does not.
    ///
    /// Cancellation of the caller's own task is recorded only if the send runs in a task.
    var reason: Reason? { state.withLock { $0.reason } }

    /// Whether the send waits for nothing that could be ended.
    var isIdle: Bool { state.withLock { $0.entries.isEmpty } }

    /// Ends the send's current operations, and those that it would begin.
    ///
    /// Cancellation takes precedence over an expired deadline.
    ///
    /// - Returns: Whether the send had ended by itself before.
    @discardableResult
    func stop(_ reason: Reason = .cancelled) -> Bool {
        let (entries, hadEnded) = state.withLock { state in
            let hadEnded = if case .finished? = state.reason { true } else { false }
            if state.reason == nil || reason == .cancelled { state.reason = reason }
            return (state.entries.fromInside, hadEnded)
        }
        isEnding.store(true, ordering: .releasing)
        // Before the first one is stopped, whose cancellation handler may block.
        for entry in entries.dropFirst() { entry.stoppable.beginGrace() }
        for (place, entry) in entries.enumerated() {
            if reason == .deadline, place > 0 || entry.stoppable.leavesDeadlinesToItself {
                entry.stoppable.stopSoon()
            } else {
                entry.stoppable.stop()
            }
        }
        return hadEnded
    }

    /// Whether the deadline, and not the caller, ended the send.
    ///
    /// If the send has a task of its own, the cancellation of that task does not indicate that the caller cancelled.
    var isOverDeadline: Bool {
        let (reason, isWhole) = state.withLock { ($0.reason, $0.isWhole) }
        return reason == .deadline && (isWhole || !Task.isCancelled)
    }

    /// Records that the whole send runs in a task of its own.
    func runsAsWhole() { state.withLock { $0.isWhole = true } }

    /// Whether the whole send runs in a task of its own.
    var isWhole: Bool { state.withLock { $0.isWhole } }

    /// Records why the send ends by itself, unless there is a reason already.
    func note(_ reason: Reason) {
        state.withLock { $0.reason = $0.reason ?? reason }
        isEnding.store(true, ordering: .releasing)
    }

    /// Records that the caller has cancelled the send, which takes precedence over an expired deadline.
    private func callerWasCancelled() {
        state.withLock { state in
            if case .finished? = state.reason { return }
            state.reason = .cancelled
        }
        isEnding.store(true, ordering: .releasing)
    }

    /// Registers a closure to call if code that the send waits for is left behind.
    ///
    /// - Returns: The number to pass to ``removeAbandonHandler(_:)``.
    func onAbandon(_ handler: @escaping @Sendable () -> Void) -> Int {
        let id = makeID()
        state.withLock { $0.abandonHandlers[id] = handler }
        return id
    }

    func removeAbandonHandler(_ id: Int) { state.withLock { _ = $0.abandonHandlers.removeValue(forKey: id) } }

    fileprivate func didAbandon() {
        let handlers = state.withLock { state in
            defer { state.abandonHandlers = [:] }
            return state.abandonHandlers
        }
        for handler in handlers.values { handler() }
    }

    /// - Throws: `CancellationError` if the send has to end, or if its task was cancelled.
    func check() throws {
        if mustEnd || Task.isCancelled { throw CancellationError() }
    }

    /// Whether the send has to end, other than by the cancellation of its task.
    var mustEnd: Bool { isEnding.load(ordering: .acquiring) }

    private func makeID() -> Int { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Returns a slot for something that the send will wait for.
    func slot() -> StopSlot { StopSlot(signal: self, id: makeID()) }

    /// - Returns: Whether it is the outermost entry.
    @discardableResult
    fileprivate func add(_ stoppable: any StoppableExchange, _ id: Int) -> Bool {
        let (reason, isOutermost) = state.withLock { state in
            let isOutermost = state.entries.add((id, stoppable))
            return (state.reason, isOutermost)
        }
        switch reason {
        case nil: break
        // What begins after the deadline, such as a lookup of a stale response, has its grace period.
        case .deadline?: stoppable.stopSoon()
        case .cancelled?, .superseded?, .finished?: stoppable.stop()
        }
        return isOutermost
    }

    fileprivate func remove(_ id: Int) {
        state.withLock { $0.entries.remove(id) }
    }

    /// Runs work in a task that ends with the signal, with the caller's task, or by itself.
    ///
    /// - Parameters:
    ///   - grace: The time that the work may continue after its cancellation before this returns without it.
    ///   - startsHere: Whether the work may run on this thread until it first suspends, which costs less. Not for work that
    ///     may block.
    ///   - evenIfEnding: Whether the work gets its grace period even if the send has to end already.
    ///   - endsWhenCancelled: Whether this returns at once when the send is cancelled.
    ///   - work: The work to run. What it returns or throws after the grace period is dropped.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws, or `CancellationError`.
    @inline(never)
    func run<Value: Sendable>(
        grace: Grace = .network,
        startsHere: Bool = true,
        evenIfEnding: Bool = false,
        endsWhenCancelled: Bool = false,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if !evenIfEnding { try check() }
        let run = StoppableRun<Value>(grace: grace, endsWhenCancelled: endsWhenCancelled, of: self)
        let id = makeID()
        let isOutermost = add(run, id)
        defer { remove(id) }
        return try await withTaskCancellationHandler {
            // Not earlier: a hook may work for long before it suspends, and its send may have to end meanwhile.
            run.start(startsHere: startsHere, work)
            return try await run.outcome.value().get()
        } onCancel: {
            // A task further inside may not be the caller's: an interceptor may cancel one of several requests.
            if isOutermost { callerWasCancelled() }
            run.stop()
        }
    }
}

/// A place among the things that a send waits for, in which a ``StoppableTransport`` puts its exchange.
public struct StopSlot: Sendable {
    fileprivate let signal: StopSignal
    fileprivate let id: Int

    /// Registers what the send waits for from now on, and ends it at once if the send has to end.
    ///
    /// Called once, before the exchange begins.
    public func fill(with exchange: any StoppableExchange) { signal.add(exchange, id) }

    /// Removes what the send no longer waits for.
    func clear() { signal.remove(id) }
}

/// Work in a task of its own whose caller waits for it, but no longer than its grace period once it is cancelled.
private final class StoppableRun<Value: Sendable>: Stoppable {
    let outcome = Delivery<Result<Value, any Error>>()
    var noticesDeadlines: Bool { grace == .whole }
    private let grace: StopSignal.Grace
    private let endsWhenCancelled: Bool
    private let signal: StopSignal
    private let isStopped = Atomic(false)
    private let isEnding = Atomic(false)

    init(grace: StopSignal.Grace, endsWhenCancelled: Bool, of signal: StopSignal) {
        self.grace = grace
        self.endsWhenCancelled = endsWhenCancelled
        self.signal = signal
    }

    func start(startsHere: Bool, _ work: @escaping @Sendable () async throws -> Value) {
        let task = startsHere ? Self.starting(work, outcome) : Task { [outcome] in await Self.run(work, outcome) }
        // Either the flag is seen here, or the task by who sets it.
        outcome.isMade(by: task)
        if isStopped.load(ordering: .sequentiallyConsistent) { task.cancel() }
    }

    func stop() {
        let task = taskToCancel()
        if endsWhenCancelled { outcome.deliver(.failure(CancellationError())) }
        // First, because a cancellation handler may block.
        stopAfterGrace()
        task?.cancel()
    }

    func stopAfterGrace() {
        guard !isEnding.exchange(true, ordering: .acquiringAndReleasing), !outcome.isDelivered else { return }
        grace.afterwards(hasEnded: { [outcome] in outcome.isDelivered }, end: { [self] in end() })
    }

    private func end() {
        let task = taskToCancel()
        // Before the caller goes on, and whatever a cancellation handler does.
        if !outcome.isDelivered { signal.didAbandon() }
        outcome.deliver(.failure(CancellationError()))
        task?.cancel()
    }

    private func taskToCancel() -> Task<Void, Never>? {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        return outcome.task
    }

    /// Returns a task that runs on the caller's thread until it first suspends, if the system supports that.
    private static func starting(
        _ work: @escaping @Sendable () async throws -> Value,
        _ outcome: Delivery<Result<Value, any Error>>
    ) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { await run(work, outcome) }
        } else {
            Task { await run(work, outcome) }
        }
    }

    private static func run(
        _ work: @escaping @Sendable () async throws -> Value,
        _ outcome: Delivery<Result<Value, any Error>>
    ) async {
        do {
            outcome.deliver(.success(try await work()))
        } catch {
            outcome.deliver(.failure(error))
        }
    }
}
