internal import Foundation

/// An accessory that writes a line for the events of each send: `#12 GetUser GET api.example/users/7: 200 in 34 ms`.
///
/// A line contains the host of the URL, the path as the request declares it, and the names of the query's parameters; see
/// ``RequestContext/shownURL``. Values of header fields and bodies are never written. A redirect's target is written as its
/// origin, and an error that is not the library's as its type. Control characters, such as line breaks in a service's message,
/// are escaped, so that each event is one line.
///
/// Lines that cannot be written to the standard error are dropped. Up to 1 MiB of them waits for a slow reader; at the end of the
/// process, for half a second if it reads nothing, and for two seconds in all.
public struct LoggingAccessory: Accessory {
    /// The events that are written.
    public enum Level: Int, Sendable, Hashable, Comparable {
        /// A line for each failed send or revalidation in the background, and for each ``Diagnostic``.
        case failures
        /// A line for each send, and each revalidation in the background, when it has ended.
        case outcomes
        /// A line for each event.
        case events

        /// Returns whether the first level writes less than the second.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    private let level: Level
    private let secrets: Secrets?
    private let write: @Sendable (String) -> Void

    /// Creates a logging accessory.
    ///
    /// - Parameters:
    ///   - level: The events to write.
    ///   - secrets: The names whose values are shown in the queries of URLs, or `nil` for ``NetworkConfig/secrets`` of the agent's config.
    ///   - write: A closure that writes a line, passed without its line break. It is called in the background, by several
    ///     sends at once. `nil` writes to the standard error.
    public init(
        level: Level = .outcomes,
        secrets: Secrets? = nil,
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
        write("\(place(of: context)): \(words(for: event, of: context))".oneLine)
    }

    private func place(of context: RequestContext) -> String {
        let url = context.shownURL(by: secrets ?? context.secrets)
        let place = url.map { " " + $0.replacing(#/^https?:///#, with: "") } ?? ""
        return "#\(context.id) \(context.typeName) \(context.method)\(place)"
    }

    private func words(for event: AccessoryEvent, of context: RequestContext) -> String {
        // A failure at another URL than the line's, such as a redirect's or a CDN's, names it.
        if case .willStop(.failure(let error as NetworkError)) = event, let host = error.host,
            host != context.url?.origin.authority || error.path != context.declared?.shown
        {
            return "failed: \(error)"
        }
        return event.words
    }
}

extension AccessoryEvent {
    fileprivate var level: LoggingAccessory.Level {
        switch self {
        case .willStop(.failure), .didRevalidate(.failure), .didDiagnose: .failures
        case .willStop, .didRevalidate: .outcomes
        default: .events
        }
    }
}
