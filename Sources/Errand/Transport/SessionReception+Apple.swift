#if !canImport(FoundationNetworking)
internal import Foundation

/// Pauses the reception of one task of URLSession.
final class SessionReception: PausableReception {
    private let task: URLSessionTask

    /// Creates the reception of a running task.
    init?(_ task: URLSessionTask) { self.task = task }

    func pause() { if task.state == .running { task.suspend() } }

    func resume(if isWanted: @escaping @Sendable () -> Bool) {
        if task.state == .suspended, isWanted() { task.resume() }
    }

    static func renew(_ task: URLSessionTask, if isWanted: @escaping @Sendable () -> Bool) {}
}

extension SessionPlatform {
    /// Receptions need no renewal.
    static let firstRenewal: Duration? = nil

    /// Whether the first final header section may be a proxy's.
    static let mayHaveProxy = false
}
#endif
