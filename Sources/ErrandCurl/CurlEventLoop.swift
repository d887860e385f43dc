#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The thread that runs the transfers of a transport.
///
/// It is started by the first exchange and ends after a while without any; its connections stay open until they are too
/// old. Transfers are only used while ``transfers`` is locked: by that thread, or by a caller that starts an exchange
/// while the thread is idle, which avoids a thread hop.
final class CurlEventLoop: Sendable {
    /// A command from another thread.
    enum Command: Sendable {
        case start(CurlExchange)
        case stop(CurlExchange)
        case resume(CurlExchange)
    }

    private struct Inbox {
        var commands: [Command] = []
        /// Wakes the thread, if it waits or is about to.
        var sleeper: CurlTransfers?
        var isRunning = false
        var isClosed = false
    }

    /// The time without an exchange after which the thread ends, in nanoseconds.
    private static let patience: Int64 = 2_000_000_000

    /// Whether libcurl may write on a thread of the caller.
    ///
    /// Before 7.88 OpenSSL itself writes to the socket, and a closed connection raises SIGPIPE, which only the loop's
    /// own thread blocks.
    private static let mayStartHere = errand_curl_version_number() >= 0x075800

    private let configuration: CurlTransport.Configuration
    private let tls: CurlTLS
    private let maximumConnectionsPerHost: Int
    private let inbox = LoopLock(Inbox())
    private let transfers = LoopLock(Transfers())

    /// Unchecked: its content is used under the lock around it, except by the one thread that waits, and to wake that.
    private struct Transfers: @unchecked Sendable {
        /// Created by the first thread, so that a loop without an exchange needs no resources.
        var current: CurlTransfers?
    }

    /// Creates a loop; a maximum of 0 is none.
    init(_ configuration: CurlTransport.Configuration, _ tls: CurlTLS, maximumConnectionsPerHost: Int) {
        self.configuration = configuration
        self.tls = tls
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
    }

    /// Starts an exchange, from any thread; returns at once.
    func start(_ exchange: CurlExchange) {
        // An exchange that was stopped before is never sent, because its stop comes first.
        if !Self.mayStartHere || exchange.request.hasBody || exchange.isStopped || !startHere(exchange) {
            submit(.start(exchange))
        }
    }

    /// Starts an exchange without a body, which other code would read, on this thread, if no other one is under way.
    ///
    /// - Returns: Whether it did.
    private func startHere(_ exchange: CurlExchange) -> Bool {
        let started = transfers.withLockIfAvailable { transfers -> (CurlTransfers?, Bool) in
            // Earlier commands come first.
            guard let transfers = transfers.current, transfers.isEmpty,
                inbox.withLock({ $0.isRunning && $0.commands.isEmpty })
            else { return (nil, false) }
            return (transfers, transfers.startDuringWait(exchange))
        }
        guard let (transfers, mustWake) = started, let transfers else { return false }
        if mustWake { transfers.wake() }
        return true
    }

    /// Passes a command to the thread, from any thread; returns at once.
    func submit(_ command: Command) {
        let (sleeper, isNew) = inbox.withLock { inbox -> (CurlTransfers?, Bool) in
            inbox.commands.append(command)
            defer { (inbox.sleeper, inbox.isRunning) = (nil, true) }
            return (inbox.sleeper, !inbox.isRunning)
        }
        if isNew { startThread() } else { sleeper?.wake() }
    }

    /// Ends the thread as soon as there is no exchange.
    func close() {
        let sleeper = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.sleeper = nil }
            return inbox.sleeper
        }
        sleeper?.wake()
    }

    private func startThread() {
        // Foundation's Thread does not report that no thread could be created.
        let own = Unmanaged.passRetained(self)
        let result = errand_thread_start(
            { own in
                Unmanaged<CurlEventLoop>.fromOpaque(own).takeRetainedValue().run()
                return nil
            },
            own.toOpaque()
        )
        guard result != 0 else { return }
        own.release()
        fail("the system has no thread left for connections")
    }

    private func run() {
        errand_thread_name("errand.curl")
        guard let current = open() else { return fail("the system has no file descriptor left for connections") }
        var commands: [Command] = []
        var idleSince: Int64?
        while true {
            let wait = transfers.withLock { _ -> Int64? in
                current.process()
                commands.removeAll(keepingCapacity: true)
                let isClosed = inbox.withLock { inbox in
                    swap(&inbox.commands, &commands)
                    // The thread waits only if it has nothing to do.
                    inbox.sleeper = commands.isEmpty ? current : nil
                    return inbox.isClosed
                }
                // Reading a body may have taken long.
                if !commands.isEmpty { current.updateTime() }
                for command in commands { current.handle(command) }
                guard commands.isEmpty else { return 0 }
                // Another thread may have started an exchange that has ended already.
                idleSince = current.isEmpty ? max(idleSince ?? current.now, current.lastStart) : nil
                if let idleSince, isClosed || current.now - idleSince >= Self.patience, stops() { return nil }
                return current.prepareToWait(atMost: idleSince.map { $0 + Self.patience - current.now } ?? .max)
            }
            guard let wait else { return }
            current.wait(wait)
            inbox.withLock { $0.sleeper = nil }
        }
    }

    /// Returns the transfers, which outlive the thread, or `nil` if the system has no room for them.
    private func open() -> CurlTransfers? {
        transfers.withLock { transfers in
            transfers.current = transfers.current ?? CurlTransfers(configuration, tls, maximumConnectionsPerHost)
            transfers.current?.look()
            return transfers.current
        }
    }

    /// Ends all exchanges, because their thread cannot run.
    private func fail(_ reason: String) {
        transfers.withLock { transfers in
            let commands = inbox.withLock { inbox in
                defer { (inbox.commands, inbox.isRunning) = ([], false) }
                return inbox.commands
            }
            let error = NetworkError(.other(reason))
            for command in commands {
                switch command {
                case .start(let exchange): exchange.end(.failure(error))
                // It must not be sent if it is started later.
                case .stop(let exchange) where !exchange.hasEntered: exchange.end(.failure(CancellationError()))
                case .stop, .resume: break
                }
            }
            // A caller may have started an exchange itself, expecting the thread to run.
            transfers.current?.endAll(throwing: error)
        }
    }

    /// Whether the thread may end, because nothing was submitted meanwhile.
    private func stops() -> Bool {
        inbox.withLock { inbox in
            guard inbox.commands.isEmpty else { return false }
            (inbox.isRunning, inbox.sleeper) = (false, nil)
            return true
        }
    }
}
#endif
