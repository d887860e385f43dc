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
}

extension SessionPlatform {
    /// Whether the first final header section may be that of a proxy.
    static let mayHaveProxy = false
}
#endif
