#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking

/// Pauses the reception of one task of URLSession.
///
/// URLSession cannot do that: suspending a running task sends its request again. libcurl can pause a transfer.
final class SessionReception: PausableReception {
    /// `CURLPAUSE_RECV` and `CURLPAUSE_CONT` of curl.h.
    private static let (receivingPaused, nothingPaused): (Int32, Int32) = (1, 0)

    private let transfer: SessionTransfer

    /// Creates the reception of a running task, on the queue of all sessions; `nil` if it cannot be paused.
    init?(_ task: URLSessionTask, _ transfer: SessionTransfer?) {
        guard let transfer else { return nil }
        self.transfer = transfer
    }

    deinit {
        // Releases the handle here, because the last reference frees it.
        SessionQueueLoad.afterItsWork { [transfer] in withExtendedLifetime(transfer) {} }
    }

    func pause() { transfer.pause(Self.receivingPaused) }

    func resume(if isWanted: @escaping @Sendable () -> Bool) {
        SessionQueueLoad.afterItsWork { [self] in
            // Delivers at once what libcurl has kept, in callbacks that may pause again.
            if isWanted() { transfer.pause(Self.nothingPaused) }
        }
    }

    /// Pauses a running task and continues it at once, unless `isWanted` returns `false` by then; returns at once.
    ///
    /// URLSession registers for writing on a new connection, and never stops, so that a thread is woken endlessly while
    /// the exchange waits (measured: one core). A pause ends the registration.
    static func renew(_ transfer: @escaping @Sendable () -> SessionTransfer?) {
        SessionQueueLoad.afterItsWork {
            guard let transfer = transfer() else { return }
            transfer.pause(receivingPaused)
            transfer.pause(nothingPaused)
        }
    }
}

extension SessionPlatform {
    /// The age at which the reception of an exchange is renewed for the first time; short exchanges need none.
    static let firstRenewal: Duration? = .milliseconds(100)

    /// Whether the first final header section may be a proxy's, which responds to CONNECT before the server does.
    static let mayHaveProxy: Bool = {
        let names = ["http_proxy", "https_proxy", "all_proxy"]
        return ProcessInfo.processInfo.environment.contains { names.contains($0.key.lowercased()) && !$0.value.isEmpty }
    }()
}
#endif
