#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The thread that runs the transfers of a transport.
///
/// It is started by the first exchange and ends after a while without any; its connections stay open until they are too old.
/// Everything but ``submit(_:)`` and ``close()`` happens on that thread.
final class CurlEventLoop: Sendable {
    /// What other threads ask for.
    enum Command: Sendable {
        case start(CurlExchange)
        case stop(CurlExchange)
        case resume(CurlExchange)
    }

    private struct Inbox {
        var commands: [Command] = []
        /// Whether the thread waits, or is about to, and has to be woken.
        var isAsleep = false
        var isRunning = false
        var isClosed = false
    }

    /// The time without an exchange after which the thread ends.
    private static let patience = Duration.seconds(2)

    private let configuration: CurlTransport.Configuration
    private let maximumConnectionsPerHost: Int
    private let inbox = LoopLock(Inbox())
    /// Made by the first thread, so that a loop without an exchange has nothing.
    ///
    /// Unchecked: used by the thread, of which there is one at most; others only wake one that sleeps, as the inbox says.
    private nonisolated(unsafe) var transfers: CurlTransfers?

    /// Creates a loop; a maximum of 0 is none.
    init(_ configuration: CurlTransport.Configuration, maximumConnectionsPerHost: Int) {
        self.configuration = configuration
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
    }

    /// Passes a command to the thread, from any thread; returns at once.
    func submit(_ command: Command) {
        let (isAsleep, isNew) = inbox.withLock { inbox -> (Bool, Bool) in
            inbox.commands.append(command)
            defer { (inbox.isAsleep, inbox.isRunning) = (false, true) }
            return (inbox.isAsleep, !inbox.isRunning)
        }
        if isNew { start() } else if isAsleep { transfers?.wake() }
    }

    /// Ends the thread as soon as there is no exchange.
    func close() {
        let isAsleep = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if isAsleep { transfers?.wake() }
    }

    private func start() {
        // Foundation's Thread does not say that there is none left.
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
        guard let transfers = transfers ?? CurlTransfers(configuration, maximumConnectionsPerHost) else {
            return fail("the system has no file descriptor left for connections")
        }
        self.transfers = transfers
        transfers.look()
        var commands: [Command] = []
        var idleSince: ContinuousClock.Instant?
        while true {
            commands.removeAll(keepingCapacity: true)
            let isClosed = inbox.withLock { inbox in
                swap(&inbox.commands, &commands)
                // Only a thread that has nothing to do waits.
                inbox.isAsleep = commands.isEmpty
                return inbox.isClosed
            }
            transfers.now = .now
            for command in commands { transfers.handle(command) }
            guard commands.isEmpty else { continue }
            if transfers.isEmpty {
                let since = idleSince ?? transfers.now
                idleSince = since
                if isClosed || transfers.now - since >= Self.patience, stops() { return }
            } else {
                idleSince = nil
            }
            transfers.wait(atMost: transfers.isEmpty ? Self.patience : nil)
            inbox.withLock { $0.isAsleep = false }
            transfers.process()
        }
    }

    /// Ends the exchanges that wait for a thread that cannot run.
    private func fail(_ reason: String) {
        while true {
            let commands = inbox.withLock { inbox -> [Command] in
                defer { (inbox.commands, inbox.isRunning) = ([], !inbox.commands.isEmpty) }
                return inbox.commands
            }
            guard !commands.isEmpty else { return }
            for case .start(let exchange) in commands { exchange.end(.failure(NetworkError(.other(reason)))) }
        }
    }

    /// Whether the thread may end, because nothing was submitted meanwhile.
    private func stops() -> Bool {
        inbox.withLock { inbox in
            guard inbox.commands.isEmpty else { return false }
            inbox.isRunning = false
            return true
        }
    }
}
#endif
