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

    private let inbox = Lock(Inbox())
    /// Unchecked: only used by the thread, of which there is one at most, and freed after it.
    private nonisolated(unsafe) let transfers: CurlTransfers

    /// Creates a loop; `nil` if the system has no more files or memory.
    init?(_ configuration: CurlTransport.Configuration, maximumConnectionsPerHost: Int) {
        guard let transfers = CurlTransfers(configuration, maximumConnectionsPerHost) else { return nil }
        self.transfers = transfers
    }

    /// The time of the last event, which is precise enough for an idle timeout.
    var now: ContinuousClock.Instant { transfers.now }

    /// Memory for short use.
    var scratch: UnsafeMutableRawBufferPointer { transfers.scratch }

    /// Passes a command to the thread, from any thread; returns at once.
    func submit(_ command: Command) {
        let (isAsleep, isNew) = inbox.withLock { inbox -> (Bool, Bool) in
            inbox.commands.append(command)
            defer { (inbox.isAsleep, inbox.isRunning) = (false, true) }
            return (inbox.isAsleep, !inbox.isRunning)
        }
        if isNew { start() } else if isAsleep { transfers.wake() }
    }

    /// Ends the thread as soon as there is no exchange.
    func close() {
        let isAsleep = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if isAsleep { transfers.wake() }
    }

    /// Makes the thread look at what it is asked for.
    func wake() { transfers.wake() }

    private func start() {
        let thread = Thread { self.run() }
        thread.name = "errand.curl"
        thread.stackSize = 512 << 10
        thread.start()
    }

    private func run() {
        errand_block_signals()
        guard CurlExit.begin(self) else { return }
        defer { CurlExit.end(self) }
        var commands: [Command] = []
        var idleSince: ContinuousClock.Instant?
        while !CurlExit.isExiting {
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
