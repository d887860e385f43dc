internal import Foundation

/// An accessory that writes a line for the events of each send: `#12 GetUser GET api.example/users/7: 200 in 34 ms`.
///
/// No line contains a secret: URLs are redacted by ``Secrets/redacted(_:)-(URL)``, values of header fields and bodies are never
/// written, and of an error that is not the library's only the type. Control characters, such as line breaks in a service's
/// message, are escaped, so that each event is one line. What cannot be written to the standard error is dropped.
public struct LoggingAccessory: Accessory {
    /// The events that are written.
    public enum Level: Int, Sendable, Hashable, Comparable {
        /// A line for each failed send, and for each ``Diagnostic``.
        case failures
        /// A line for each send when it has ended.
        case outcomes
        /// A line for each event.
        case events

        /// Returns whether the first level writes less than the second.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    private let level: Level
    private let secrets: Secrets
    private let write: @Sendable (String) -> Void

    /// Creates a logging accessory.
    ///
    /// - Parameters:
    ///   - level: The events to write.
    ///   - secrets: The names to redact in the queries of URLs.
    ///   - write: A closure that writes a line, passed without its line break. It is called in the background, by several
    ///     sends at once. `nil` writes to the standard error.
    public init(
        level: Level = .outcomes,
        secrets: Secrets = Secrets(),
        to write: (@Sendable (String) -> Void)? = nil
    ) {
        self.level = level
        self.secrets = secrets
        if write == nil { StandardError.open() }
        self.write = write ?? { StandardError.write($0 + "\n") }
    }

    /// Writes the line of an event, if the level includes it.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard event.level <= level else { return }
        write("\(place(of: context)): \(words(for: event))".oneLine)
    }

    private func place(of context: RequestContext) -> String {
        let place = context.url.map { " " + secrets.redacted($0).replacing(#/^https?:///#, with: "") } ?? ""
        return "#\(context.id) \(context.typeName) \(context.method)\(place)"
    }

    private func words(for event: AccessoryEvent) -> String {
        switch event {
        case .willStart: "starts"
        case .didProgress(let progress):
            "\(progress.direction == .upload ? "sent" : "received") \(progress.completed) bytes"
                + (progress.total.map { " of \($0)" } ?? "")
        case .willRetry(.zero, let error): "tries again, because \(words(for: error))"
        case .willRetry(let pause, let error): "tries again in \(pause.words), because \(words(for: error))"
        case .didExhaustRetryBudget(let error):
            "is not retried, because the retry budget of the host is exhausted: \(words(for: error))"
        case .willRefreshCredential(let error?): "waits for a new credential, because \(words(for: error))"
        case .willRefreshCredential(nil): "waits for a new credential, because this one expires soon"
        case .didRedirect(let redirect): "\(redirect.statusCode), goes on to \(secrets.redacted(redirect.to))"
        case .didDiagnose(let diagnostic): "\(diagnostic)"
        case .didWait(let time): "waited \(time.words) for a permit"
        case .willStop(let outcome): words(for: outcome)
        case .didStop: "stopped"
        }
    }

    private func words(for outcome: Outcome) -> String {
        switch outcome {
        case .success(let status, let source, let metrics):
            "\(status)\(source.isFromCache ? " from the cache" : "") in \(metrics.total.words)"
                + (metrics.attempts.count > 1 ? " after \(metrics.attempts.count) attempts" : "")
        case .failure(let error): "failed: \(words(for: error))"
        case .cancelled: "cancelled"
        }
    }

    private func words(for error: any Error) -> String {
        switch error {
        case let error as NetworkError: error.detail
        case let error as ServiceError: error.detail
        default: "\(type(of: error))"
        }
    }
}

extension AccessoryEvent {
    fileprivate var level: LoggingAccessory.Level {
        switch self {
        case .willStop(.failure), .didDiagnose: .failures
        case .willStop: .outcomes
        default: .events
        }
    }
}
