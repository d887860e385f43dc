#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The transfers of an event loop, with their handles and idle timeouts.
///
/// Must not be used by two threads at once, except ``wake()`` and as described for ``wait(_:)``.
final class CurlTransfers {
    /// The time in nanoseconds after a stop in which no waiting exchange takes its place, because it may be stopped a
    /// moment later.
    private static let stopPause: Int64 = 2_000_000
    /// The number of stops in one pause from which many exchanges are being stopped, so that another pause follows.
    private static let manyStops = 4
    /// The maximum number of pauses after stops.
    private static let maximumStopPauses = 50
    /// The maximum number of handles that are kept for later requests.
    private static let maximumSpareHandles = 256

    let scratch: UnsafeMutableRawBufferPointer
    /// The hosts that are reached directly, although there is a proxy; `nil` if none is configured.
    let proxyBypass: ProxyBypass?
    /// What the TLS connections of the transport use.
    let tls: CurlTLS

    private let configuration: CurlTransport.Configuration
    private let loop: OpaquePointer
    private var used: [CurlHandle] = []
    private var spare: [CurlHandle] = []
    private var hosts: HostQueues
    /// The stopped exchanges whose connections are not yet passed on to waiting ones, and the time when they are.
    private var stopped: (exchanges: [CurlExchange], due: Int64) = ([], .max)
    /// The number of their pauses, and of stops in the latest one.
    private var stopPauses = (number: 0, stopCount: 0)
    private var ended: [(easy: UnsafeMutableRawPointer, code: Int32)] = []
    /// When the last exchange began, by the loop's clock.
    private(set) var lastStart = Int64.min
    /// The time of the first idle timeout, by the loop's clock; `nil` without an exchange.
    private var nextCheck: Int64?
    /// The latest end of the current wait.
    private var wakeTime: Int64 = 0
    /// Whether the last wait did not look at the sockets; only the event loop's thread uses it.
    private var hasSkipped = false

    init?(_ configuration: CurlTransport.Configuration, _ tls: CurlTLS, _ maximumConnectionsPerHost: Int) {
        guard let loop = errand_curl_loop_create() else { return nil }
        self.configuration = configuration
        self.tls = tls
        self.loop = loop
        // Not before: without a loop nothing would free it.
        scratch = .allocate(byteCount: 64 << 10, alignment: 16)
        proxyBypass = configuration.proxyBypass
        hosts = HostQueues(limit: maximumConnectionsPerHost, configuration.httpVersion)
        errand_curl_loop_set(loop, Int32(ErrandCurlSetMaximumConnectionsPerHost), maximumConnectionsPerHost)
        errand_curl_loop_set(loop, Int32(ErrandCurlSetMaximumConnections), configuration.maximumConnections ?? 0)
        if let count = configuration.maximumIdleConnections {
            errand_curl_loop_set(loop, Int32(ErrandCurlSetMaximumIdleConnections), count)
        }
    }

    deinit {
        for handle in used { errand_curl_loop_remove(loop, handle.easy) }
        (used, spare) = ([], [])
        errand_curl_loop_free(loop)
        scratch.deallocate()
    }

    /// Whether no exchange is under way.
    var isEmpty: Bool { used.isEmpty && stopped.exchanges.isEmpty }

    /// The time in nanoseconds of the system's clock, as of the last ``updateTime()``.
    var now: Int64 { errand_curl_loop_time(loop) }

    func updateTime() { errand_curl_loop_update_time(loop) }

    /// Makes ``wait(atMost:)`` return, from any thread.
    func wake() { errand_curl_loop_wake(loop) }

    func handle(_ command: CurlEventLoop.Command) {
        switch command {
        case .start(let exchange): start(exchange)
        case .stop(let exchange): stop(exchange, .failure(CancellationError()))
        case .resume(let exchange):
            if let error = exchange.resume() { stop(exchange, .failure(error)) }
            noteIdleLimit(of: exchange)
        }
    }

    /// Ends every exchange, including those that wait for a connection.
    func endAll(throwing error: any Error) {
        for exchange in hosts.waiting + used.compactMap(\.exchange) { stop(exchange, .failure(error)) }
        leaveStopped()
    }

    /// Prepares to wait for the network and for timers, or at most so many nanoseconds.
    ///
    /// - Returns: The time to wait, in milliseconds.
    func prepareToWait(atMost limit: Int64 = .max) -> Int64 {
        updateTime()
        wakeTime = min(nextDue, limit == .max ? limit : now + limit)
        let left = max(0, wakeTime - now)
        // Rounded up, because a timer that is too early would wait once more.
        return left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1)
    }

    /// Waits for the network; meanwhile another thread may start an exchange.
    func wait(_ milliseconds: Int64) {
        // A due timer, as of each new transfer, needs no system call; after a second one the sockets are checked.
        hasSkipped = milliseconds == 0 && !hasSkipped
        if !hasSkipped { errand_curl_loop_wait(loop, milliseconds) }
    }

    /// Starts an exchange while the event loop's thread waits.
    ///
    /// - Returns: Whether that thread has to be woken, because it would wait for too long.
    func startDuringWait(_ exchange: CurlExchange) -> Bool {
        updateTime()
        errand_curl_loop_look_aside(loop)
        start(exchange)
        errand_curl_loop_process_timer(loop)
        processEnded()
        return nextDue < wakeTime
    }

    /// The time of the first timer; `.max` without one.
    private var nextDue: Int64 {
        let due = errand_curl_loop_due(loop)
        return min(nextCheck ?? .max, stopped.due, due < 0 ? .max : due)
    }

    /// Processes ready sockets, such as unwatched connections that were closed.
    func look() { errand_curl_loop_look(loop) }

    /// Does what was waited for.
    func process() {
        updateTime()
        errand_curl_loop_process_events(loop)
        errand_curl_loop_process_timer(loop)
        processEnded()
        if stopped.due <= now { endStopPause() }
        checkIdleTimeouts()
    }

    private func processEnded() {
        while true {
            // All are taken first, because libcurl searches the remaining ones for each handle that is removed.
            var code: Int32 = 0
            while let easy = errand_curl_loop_next_ended(loop, &code) { ended.append((easy, code)) }
            guard !ended.isEmpty else { return }
            for (easy, code) in ended { end(easy, code) }
            ended.removeAll(keepingCapacity: true)
        }
    }

    private func start(_ exchange: CurlExchange) {
        guard !exchange.hasEnded else { return }
        lastStart = now
        exchange.enter(at: now)
        if hosts.add(exchange), !begin(exchange) { leave(exchange) }
        noteIdleLimit(of: exchange)
    }

    /// Checks the idle timeout of an exchange no later than it is due.
    func noteIdleLimit(of exchange: CurlExchange) {
        if !exchange.hasEnded, let due = exchange.idleLimit { nextCheck = min(nextCheck ?? due, due) }
    }

    /// Returns whether another handle's transfer uses a connection with HTTP/1.1, named by its TLS session.
    func isInUse(_ session: UnsafeRawPointer, beside handle: CurlHandle) -> Bool {
        used.contains { $0 !== handle && $0.uses(session) }
    }

    /// Passes an exchange to libcurl.
    ///
    /// - Returns: Whether libcurl has it; otherwise it has ended.
    private func begin(_ exchange: CurlExchange) -> Bool {
        // Its stop may not have been handled yet.
        if exchange.isStopped {
            exchange.end(.failure(CancellationError()))
            return false
        }
        guard let handle = spare.popLast() ?? CurlHandle(configuration, of: self, on: loop) else {
            exchange.end(.failure(NetworkError(.other("libcurl has no memory for another transfer"))))
            return false
        }
        if let refusal = handle.refusal {
            exchange.end(.failure(refusal))
            return false
        }
        handle.begin(exchange)
        handle.place = used.count
        used.append(handle)
        let code = errand_curl_loop_add(loop, handle.easy)
        guard code != 0 else { return true }
        release(handle)
        exchange.end(.failure(NetworkError(.other("libcurl accepts no transfer, for its reason \(code)"))))
        return false
    }

    private func stop(_ exchange: CurlExchange, _ result: Result<Void, any Error>) {
        guard !exchange.hasEnded else { return }
        stopPauses.stopCount += 1
        let handle = exchange.handle
        if let handle {
            errand_curl_loop_remove(loop, handle.easy)
            release(handle)
        }
        let hasWaited = handle == nil && exchange.hasEntered
        exchange.end(result)
        if handle == nil {
            if hasWaited { hosts.noteEnd(of: exchange) }
        } else if hosts.hasWaiting(for: exchange) {
            if stopped.exchanges.isEmpty { stopPauses = (1, 1) }
            stopped.exchanges.append(exchange)
            stopped.due = min(stopped.due, now + Self.stopPause)
        } else {
            leave(exchange)
        }
    }

    /// Passes on the connections of stopped exchanges, unless many more were stopped meanwhile.
    private func endStopPause() {
        guard stopPauses.stopCount >= Self.manyStops, stopPauses.number < Self.maximumStopPauses else {
            return leaveStopped()
        }
        stopPauses = (stopPauses.number + 1, 0)
        stopped.due = now + Self.stopPause
    }

    private func leaveStopped() {
        let exchanges = stopped.exchanges
        stopped = ([], .max)
        for exchange in exchanges { leave(exchange) }
    }

    /// Ends the exchange of a transfer that libcurl has ended.
    private func end(_ easy: UnsafeMutableRawPointer, _ code: Int32) {
        guard let own = errand_curl_get_pointer(easy, Int32(ErrandCurlInfoPrivate)) else { return }
        let handle = Unmanaged<CurlHandle>.fromOpaque(own).takeUnretainedValue()
        guard let exchange = handle.exchange else { return }
        let result: Result<Void, any Error> =
            code == 0 ? .success(()) : .failure(CurlFailure.error(code, of: handle, exchange))
        let usedHTTP1 = code == 0 ? handle.usesHTTP1 : nil
        // 55 is `CURLE_SEND_ERROR`. 7.88 keeps the connection if it happens at the first byte.
        if code == 55 { errand_curl_socket_retire(errand_curl_get_socket(easy)) }
        if usedHTTP1 == true { errand_curl_loop_expect_silence(loop, errand_curl_get_socket(easy)) }
        errand_curl_loop_remove(loop, easy)
        if handle.isInterrupted, !exchange.isRestarted, !exchange.hasFailed {
            release(handle)
            exchange.isRestarted = true
            if !begin(exchange) { leave(exchange) }
            return
        }
        exchange.end(result)
        release(handle)
        leave(exchange, usedHTTP1: usedHTTP1)
    }

    /// Begins the exchanges that have waited for the end of another one.
    private func leave(_ exchange: CurlExchange, usedHTTP1: Bool? = nil) {
        var left = [(exchange, usedHTTP1)]
        while let (exchange, usedHTTP1) = left.popLast() {
            for next in hosts.remove(exchange, usedHTTP1: usedHTTP1) where !begin(next) { left.append((next, nil)) }
        }
    }

    private func release(_ handle: CurlHandle) {
        let last = used.removeLast()
        if last !== handle {
            used[handle.place] = last
            last.place = handle.place
        }
        handle.end()
        if spare.count < Self.maximumSpareHandles { spare.append(handle) }
    }

    private func checkIdleTimeouts() {
        // Bytes may be waiting in a socket.
        guard !hasSkipped, let due = nextCheck, due <= now else { return }
        nextCheck = nil
        var first: Int64?
        for exchange in used.compactMap(\.exchange) + hosts.waiting {
            guard !exchange.hasEnded, let due = exchange.idleLimit else { continue }
            if due <= now {
                stop(exchange, exchange.idleResult)
            } else {
                first = min(first ?? due, due)
            }
        }
        // A paused exchange has no timeout until it continues.
        if let first {
            nextCheck = min(nextCheck ?? first, first)
        } else if !used.isEmpty {
            nextCheck = now + 1_000_000_000
        }
    }
}
#endif
