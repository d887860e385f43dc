public import Errand

/// A progress bar on the terminal for a transfer, a batch or a chain.
///
/// It writes to the standard error, so that the program's own output is not affected, and only if that is a terminal that
/// can replace a line: nothing is written if `TERM` is `dumb` or not set. Use it as an accessory of a request for its bytes, or of
/// a batch or chain for its requests. If several are running, the bar shows the last one that progressed.
///
/// A line is never wider than the terminal, whose size is read each time, or else from `COLUMNS`: the bar gets shorter, and a text
/// that is still too long is cut. Bytes are drawn at most ten times per second, and once more when they are complete.
public final class TerminalProgress: Accessory, CompositionAccessory {
    private struct Shown {
        var line = ""
        /// When bytes were drawn last, and in which direction.
        var bytes: (time: Moment, direction: TransferProgress.Direction)?
    }

    /// The minimum time between two draws of bytes.
    private static let minimumInterval = Duration.milliseconds(100)

    private let title: String
    private let width: Int
    private let columns: @Sendable () -> Int
    private let now: @Sendable () -> Moment
    /// The function that writes, or `nil` if the standard error is not a terminal that can replace a line.
    private let write: (@Sendable (String) -> Void)?
    private let shown = Lock(Shown())

    /// Creates a progress bar on the standard error.
    ///
    /// - Parameters:
    ///   - title: The text before the bar. Control characters are omitted.
    ///   - width: The maximum number of characters of the bar, from 1 to 200.
    public convenience init(_ title: String = "", width: Int = 30) {
        StandardError.open()
        let write: @Sendable (String) -> Void = { StandardError.write($0) }
        self.init(title, width: width, write: Terminal.canRedraw ? write : nil)
    }

    init(
        _ title: String,
        width: Int,
        columns: @escaping @Sendable () -> Int = { Terminal.current.columns },
        now: @escaping @Sendable () -> Moment = { .now },
        write: (@Sendable (String) -> Void)?
    ) {
        self.title = String(String.UnicodeScalarView(title.unicodeScalars.filter { !$0.breaksLines }))
        self.width = min(200, max(1, width))
        self.columns = columns
        self.now = now
        self.write = write
    }

    /// Shows the bytes of a request: first of its body, and then of the response's.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .didProgress(let progress):
            guard write != nil, isDue(progress) else { return }
            let fraction = progress.total == nil ? nil : progress.fractionCompleted
            show(fraction, Self.bytes(of: progress))
        case .didStop: clear()
        default: break
        }
    }

    /// Shows the requests of a batch or chain.
    public func composition(_ context: CompositionContext, did event: CompositionEvent) {
        let progress = context.progress
        switch event {
        case .willStart, .didFinish:
            let total = progress.total.map { " of \($0)" } ?? ""
            show(progress.total == nil ? nil : progress.fractionCompleted, "\(progress.finished.count)\(total)")
        case .willStop: break
        case .didStop(.success): end("\(progress.finished.count) done")
        case .didStop(.cancelled): end("cancelled after \(progress.finished.count)")
        case .didStop(.failure):
            end("failed in \(progress.failed?.typeName ?? "a request") after \(progress.finished.count)")
        }
    }

    /// Whether bytes are to be drawn: the first and the last ones, and those between after an interval.
    private func isDue(_ progress: TransferProgress) -> Bool {
        let now = now()
        return shown.withLock { shown in
            if let last = shown.bytes, last.direction == progress.direction, progress.completed != progress.total,
                now - last.time < Self.minimumInterval
            {
                return false
            }
            shown.bytes = (now, progress.direction)
            return true
        }
    }

    private func show(_ fraction: Double?, _ text: String) {
        put(Self.line(title, fraction, text, barWidth: width, columns: columns()))
    }

    /// Returns a line that is narrower than the terminal, so that the cursor stays in it.
    ///
    /// - Parameters:
    ///   - title: The text before the bar.
    ///   - fraction: The completed fraction, or `nil` for no bar.
    ///   - text: The text after the bar.
    ///   - barWidth: The maximum number of characters of the bar; one that would have fewer than four is omitted.
    ///   - columns: The number of columns of the terminal.
    /// - Returns: The line.
    static func line(
        _ title: String,
        _ fraction: Double?,
        _ text: String,
        barWidth: Int,
        columns: Int
    ) -> String {
        let title = title.isEmpty ? "" : "\(title) "
        let text = text.oneLine
        // The brackets and the space after them.
        let room = columns - 1 - title.columnCount - text.columnCount - 3
        let width = min(barWidth, room)
        guard let fraction, width >= min(4, barWidth) else { return (title + text).cut(toColumns: columns - 1) }
        let full = Int((Double(width) * min(1, max(0, fraction))).rounded())
        return "\(title)[\(String(repeating: "#", count: full))\(String(repeating: "-", count: width - full))] \(text)"
    }

    /// Returns the bytes in the unit of the total, or in their own unit if there is no total.
    static func bytes(of progress: TransferProgress) -> String {
        let verb = progress.direction == .upload ? "sent" : "received"
        let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
        let largest = Double(max(progress.completed, progress.total ?? 0))
        // A number that would be rounded to 1000 is 1 of the next unit.
        guard let (unit, factor) = units.first(where: { largest >= $0.1 * 0.99995 }) else {
            return "\(progress.completed)\(progress.total.map { " of \($0)" } ?? "") bytes \(verb)"
        }
        func number(_ count: Int64) -> String { "\((Double(count) / factor * 10).rounded() / 10)" }
        return "\(number(progress.completed))\(progress.total.map { " of \(number($0))" } ?? "") \(unit) \(verb)"
    }

    /// Replaces the line, unless it is the same.
    private func put(_ line: String, ending: String = "") {
        guard let write else { return }
        let isNew = shown.withLock { shown in
            defer { shown.line = ending.isEmpty ? line : "" }
            return shown.line != line || !ending.isEmpty
        }
        if isNew { write("\r\u{1B}[K\(line)\(ending)") }
    }

    private func end(_ text: String) {
        put(Self.line(title, nil, text, barWidth: width, columns: columns()), ending: "\n")
    }

    private func clear() {
        let wasShown = shown.withLock { shown in
            defer { shown = Shown() }
            return !shown.line.isEmpty
        }
        if wasShown { write?("\r\u{1B}[K") }
    }
}
