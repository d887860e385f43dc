#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking

/// Pauses the reception of one task of URLSession.
///
/// URLSession cannot do that: suspending a running task sends its request again. libcurl can pause a transfer, so this
/// calls `curl_easy_pause` with the handle that the task keeps in a private property, which is found by reflection. If
/// there is no such property or function, no reception is created, so it does not depend on the layout of the types.
final class SessionReception: PausableReception {
    /// libcurl's handle of a transfer, and the object that it is valid with.
    ///
    /// Unchecked: it is only used, and released, on the queue of all sessions.
    private struct Transfer: @unchecked Sendable {
        let owner: AnyObject
        let handle: UnsafeMutableRawPointer

        func set(_ action: Int32, by pause: PauseFunction) {
            // It fails if the transfer has ended, which needs no handling.
            withExtendedLifetime(owner) { _ = pause(handle, action) }
        }
    }

    private typealias PauseFunction = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32

    /// `curl_easy_pause` of the libcurl that Foundation has loaded, or `nil` if there is none.
    private static let pauseFunction = dlsym(nil, "curl_easy_pause").map { unsafeBitCast($0, to: PauseFunction.self) }

    /// `CURLPAUSE_RECV` and `CURLPAUSE_CONT` of curl.h.
    private static let (receivingPaused, nothingPaused): (Int32, Int32) = (1, 0)

    private let transfer: Transfer
    private let pauseFunction: PauseFunction

    /// Creates the reception of a running task, on the queue of all sessions; `nil` if it cannot be paused.
    init?(_ task: URLSessionTask) {
        guard let pauseFunction = Self.pauseFunction,
            let storage = Self.property("_protocolStorage", of: task),
            let loader = Self.property("existing", of: storage),
            let owner = Self.property("easyHandle", of: loader),
            Mirror(reflecting: owner).displayStyle == .class,
            let handle = Self.property("rawHandle", of: owner) as? UnsafeMutableRawPointer
        else { return nil }
        transfer = Transfer(owner: owner as AnyObject, handle: handle)
        self.pauseFunction = pauseFunction
    }

    deinit {
        // Releases the handle here, because the last reference frees it.
        SessionQueueLoad.afterItsWork { [transfer] in withExtendedLifetime(transfer) {} }
    }

    func pause() { transfer.set(Self.receivingPaused, by: pauseFunction) }

    func resume(if isWanted: @escaping @Sendable () -> Bool) {
        SessionQueueLoad.afterItsWork { [self] in
            // Delivers at once what libcurl has kept, in callbacks that may pause again.
            if isWanted() { transfer.set(Self.nothingPaused, by: pauseFunction) }
        }
    }

    /// Pauses a running task and continues it at once, unless `isWanted` returns `false` by then; returns at once.
    ///
    /// URLSession registers for writing on a new connection, and never stops, so that a thread is woken endlessly while
    /// the exchange waits (measured: one core). A pause ends the registration.
    static func renew(_ task: URLSessionTask, if isWanted: @escaping @Sendable () -> Bool) {
        SessionQueueLoad.afterItsWork {
            guard isWanted(), let reception = SessionReception(task) else { return }
            reception.transfer.set(receivingPaused, by: reception.pauseFunction)
            reception.transfer.set(nothingPaused, by: reception.pauseFunction)
        }
    }

    /// Returns the value of a stored property, or of the associated value of a case, with this name.
    private static func property(_ name: String, of value: Any) -> Any? {
        var mirror: Mirror? = Mirror(reflecting: value)
        while let current = mirror {
            if let child = current.children.first(where: { $0.label == name }) {
                let content = Mirror(reflecting: child.value)
                return content.displayStyle == .optional ? content.children.first?.value : child.value
            }
            mirror = current.superclassMirror
        }
        return nil
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
