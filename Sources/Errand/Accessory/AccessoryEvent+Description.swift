internal import Foundation

// One line each, without values: only the origin of a redirect, and only the type of an error that is not the library's.

extension AccessoryEvent: CustomStringConvertible {
    /// The name of the event, and a description, such as `didWait(waited 3 ms for a permit)`.
    public var description: String {
        switch self {
        case .willStart: "willStart"
        case .didStop(let outcome): "didStop(\(outcome))"
        default: "\(name)(\(words))"
        }
    }

    /// The name of the case.
    package var name: String { Mirror(reflecting: self).children.first?.label ?? "willStart" }

    /// The event, as a log describes it.
    package var words: String {
        switch self {
        case .willStart: "starts"
        case .didProgress(let progress): "\(progress)"
        case .willRetry(.zero, let error): "tries again, because \(error.words)"
        case .willRetry(let pause, let error): "tries again in \(pause.words), because \(error.words)"
        case .didExhaustRetryBudget(let error):
            "is not retried, because the retry budget of the host is exhausted: \(error.words)"
        case .willRefreshCredential(let error?): "waits for a new credential, because \(error.words)"
        case .willRefreshCredential(nil): "waits for a new credential, because this one expires soon"
        case .didRedirect(let redirect): "\(redirect.statusCode), goes on to \(redirect.to.origin)"
        case .didDiagnose(let diagnostic): "\(diagnostic)".oneLine
        case .didWait(let time): "waited \(time.words) for a permit"
        case .didRevalidate(let outcome): "revalidation in the background: \(outcome)"
        case .willStop(let outcome): "\(outcome)"
        case .didStop: "stopped"
        }
    }
}

extension SendOutcome: CustomStringConvertible {
    /// The caller's result, and the time until it, such as `200 in 34 ms`.
    public var description: String {
        switch self {
        case .success(let status, let source, let metrics):
            "\(status)\(source.words) in \(metrics.total.words)\(metrics.attemptWords)"
        case .failure(let error): "failed: \(error.words)"
        case .cancelled: "cancelled"
        }
    }
}

extension TransferProgress: CustomStringConvertible {
    /// The direction and the number of bytes, such as `received 65536 of 100000 bytes`.
    public var description: String {
        let total = total.map { " of \($0)" } ?? ""
        return "\(direction == .upload ? "sent" : "received") \(completed)\(total) bytes"
    }
}

extension ResponseSource {
    /// The source after a status; empty for the network.
    fileprivate var words: String {
        switch self {
        case .network: ""
        case .cache: " from the cache"
        case .revalidated: ", validated by the server,"
        case .stale: " from the cache, stale,"
        }
    }
}

extension Error {
    /// The error without method and URL; ``shownDescription`` of one that is not the library's.
    var words: String {
        switch self {
        case let error as NetworkError: error.detail
        case let error as ServiceError: error.detail
        default: shownDescription
        }
    }
}
