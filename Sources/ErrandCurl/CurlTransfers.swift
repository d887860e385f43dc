#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The transfers of an event loop, with their handles and idle timeouts.
///
/// Must not be used by two threads at once, except ``wake()``.
final class CurlTransfers {
    /// The maximum number of handles that are kept for later requests.
    private static let maximumSpareHandles = 256

    var now = ContinuousClock.now
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    private let configuration: CurlTransport.Configuration
    private let loop: OpaquePointer
    private var used: [CurlHandle] = []
    private var spare: [CurlHandle] = []
    /// When the first idle timeout may be due, or `nil` without an exchange.
    private var nextCheck: ContinuousClock.Instant?

    init?(_ configuration: CurlTransport.Configuration, _ maximumConnectionsPerHost: Int) {
        guard let loop = errand_curl_loop_create() else { return nil }
        self.configuration = configuration
        self.loop = loop
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
    var isEmpty: Bool { used.isEmpty }

    /// Makes ``wait(atMost:)`` return, from any thread.
    func wake() { errand_curl_loop_wake(loop) }

    func handle(_ command: CurlEventLoop.Command) {
        switch command {
        case .start(let exchange): start(exchange)
        case .stop(let exchange): stop(exchange, .failure(CancellationError()))
        case .resume(let exchange): exchange.resume()
        }
    }

    /// Waits for the network and for timers.
    func wait(atMost limit: Duration?) {
        let wait = [limit, nextCheck.map { $0 - now }].compactMap(\.self).min().map { max(.zero, $0) }
        // Rounded up, because a timer that is too early would wait once more.
        errand_curl_loop_wait(loop, wait.map { Int64(($0 / .milliseconds(1)).rounded(.up)) } ?? -1)
    }

    /// Does what sockets are ready for, such as ends of connections that nobody watched.
    func look() { errand_curl_loop_look(loop) }

    /// Does what was waited for.
    func process() {
        now = .now
        errand_curl_loop_process(loop)
        var code: Int32 = 0
        while let easy = errand_curl_loop_next_ended(loop, &code) { end(easy, code) }
        checkIdleTimeouts()
    }

    private func start(_ exchange: CurlExchange) {
        guard !exchange.hasEnded else { return }
        guard let handle = spare.popLast() ?? CurlHandle(configuration, of: self, on: loop) else {
            exchange.end(.failure(NetworkError(.other("libcurl has no memory for another transfer"))))
            return
        }
        handle.begin(exchange, at: now)
        handle.place = used.count
        used.append(handle)
        let code = errand_curl_loop_add(loop, handle.easy)
        guard code == 0 else {
            release(handle)
            exchange.end(.failure(NetworkError(.other("libcurl accepts no transfer, for its reason \(code)"))))
            return
        }
        let due = now + exchange.idleTimeout
        if nextCheck.map({ due < $0 }) ?? true { nextCheck = due }
    }

    private func stop(_ exchange: CurlExchange, _ result: Result<Void, any Error>) {
        if let handle = exchange.handle {
            errand_curl_loop_remove(loop, handle.easy)
            release(handle)
        }
        exchange.end(result)
    }

    /// Ends the exchange of a transfer that libcurl has ended.
    private func end(_ easy: UnsafeMutableRawPointer, _ code: Int32) {
        guard let own = errand_curl_get_pointer(easy, Int32(ErrandCurlInfoPrivate)) else { return }
        let handle = Unmanaged<CurlHandle>.fromOpaque(own).takeUnretainedValue()
        guard let exchange = handle.exchange else { return }
        let result: Result<Void, any Error> =
            code == 0 ? .success(()) : .failure(CurlFailure.error(code, of: handle, exchange))
        if code == 0, handle.usesHTTP1 { errand_curl_loop_expect_silence(loop, errand_curl_get_socket(easy)) }
        errand_curl_loop_remove(loop, easy)
        exchange.end(result)
        release(handle)
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
        guard let due = nextCheck, due <= now else { return }
        nextCheck = nil
        var first: Duration?
        for handle in used {
            guard let exchange = handle.exchange, let left = exchange.idleTimeLeft(at: now) else { continue }
            if left <= .zero {
                stop(exchange, .failure(NetworkError(.idleTimeout(exchange.options.idleTimeout))))
            } else {
                first = min(first ?? left, left)
            }
        }
        // A paused exchange has no timeout until it continues.
        if let first { nextCheck = now + first } else if !used.isEmpty { nextCheck = now + .seconds(1) }
    }
}
#endif
