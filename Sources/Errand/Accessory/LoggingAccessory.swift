internal import Foundation

/// An accessory that writes a line for the events of each send: `#12 GetUser GET api.example/users/7: 200 in 34 ms`.
///
/// A line contains the host of the URL, the path as the request declares it, and the names of the query's parameters; see
/// ``RequestContext/shownURL``. Values of header fields and bodies are written only at their levels, and only if their names are
/// listed as harmless in ``Secrets``. A redirect's target is written as its origin, and an error that is not the library's as its
/// type. Control characters, such as line breaks in a service's message, are escaped, so that each event is one line.
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
        /// Events, and the header sections of each ``Exchange``, when it has ended.
        case headers
        /// Events, and each ``Exchange`` with its bodies: up to 64 KiB of JSON, laid out, or of a form.
        ///
        /// Of an error response, the members are shown that explain it, such as `code`, `error`, `message`, `detail`, `title`,
        /// `type` and `status`, and the lists of texts in `errors`.
        case bodies

        /// Returns whether the first level writes less than the second.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    /// The form in which an event is written.
    public enum Format: Sendable, Hashable {
        /// A line. An exchange has more lines, which begin with `> ` for the request and with `< ` for the response.
        case text
        /// A JSON object on one line, with the members `time`, `send`, `request`, `method`, `url`, `event` and `message`, and
        /// with those of an exchange.
        case json
    }

    private let level: Level
    private let format: Format
    private let secrets: Secrets?
    private let write: @Sendable (String) -> Void

    /// Creates a logging accessory.
    ///
    /// - Parameters:
    ///   - level: The events to write.
    ///   - format: The form in which they are written.
    ///   - secrets: The names whose values are shown, or `nil` for ``NetworkConfig/secrets`` of the agent's config.
    ///   - write: A closure that writes an event, passed without the last line break. It is called in the background, by several
    ///     sends at once. `nil` writes to the standard error.
    public init(
        level: Level = .outcomes,
        format: Format = .text,
        secrets: Secrets? = nil,
        to write: (@Sendable (String) -> Void)? = nil
    ) {
        (self.level, self.format, self.secrets) = (level, format, secrets)
        if write == nil { StandardError.open() }
        self.write = write ?? { StandardError.write($0 + "\n") }
    }

    /// 64 KiB at the level of bodies, 0 at that of header sections.
    public var exchangeBodyLimit: Int? { level < .headers ? nil : level == .headers ? 0 : 64 << 10 }

    /// Writes the line of an event, if the level includes it.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard event.level <= level else { return }
        write(context, event.name, words(for: event, of: context))
    }

    /// Writes an exchange.
    public func request(_ context: RequestContext, exchanged exchange: Exchange) {
        let shown = ShownExchange(exchange, hasBodies: level == .bodies, hiding: secrets ?? context.secrets)
        write(context, "exchange", exchange.words, shown)
    }

    private func write(_ context: RequestContext, _ event: String, _ words: String, _ exchange: ShownExchange? = nil) {
        let url = context.shownURL(by: secrets ?? context.secrets)
        guard format == .json else {
            let place = url.map { " " + $0.replacing(#/^https?:///#, with: "") } ?? ""
            let line = "#\(context.id) \(context.typeName) \(context.method)\(place): \(words)".oneLine
            return write(([line] + (exchange?.lines ?? [])).joined(separator: "\n"))
        }
        let members: [(String, JSONValue)] = [
            ("time", .string(JSONTimestamp.text(for: Date(), milliseconds: true) ?? "")),
            ("send", .number(JSONNumber(context.id))), ("request", .string(context.typeName)),
            ("method", .string(context.method.rawValue)), ("url", url.map(JSONValue.string) ?? .null),
            ("event", .string(event)), ("message", .string(words)),
        ]
        let text = JSONValue.object(JSONObject(members + (exchange?.members ?? []))).description
        let isSafe = text.oneLine == text
        write(isSafe ? text : text.unicodeScalars.map { $0.breaksLines ? $0.inJSON : "\($0)" }.joined())
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
