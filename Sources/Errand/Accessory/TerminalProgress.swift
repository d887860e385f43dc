internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A progress bar on the terminal for a transfer, a batch or a chain.
///
/// It writes to the standard error, so that the program's own output is not affected, and only if that is a terminal.
/// Use it as an accessory of a request for its bytes, or of a batch or chain for its requests. If several are running,
/// the bar shows the last one that progressed.
public final class TerminalProgress: Accessory, CompositionAccessory {
    private struct Shown {
        var line = ""
    }

    private let title: String
    private let width: Int
    /// The function that writes, or `nil` if the standard error is not a terminal.
    private let write: (@Sendable (String) -> Void)?
    private let shown = Lock(Shown())

    /// Creates a progress bar on the standard error.
    ///
    /// - Parameters:
    ///   - title: The text before the bar. Control characters are omitted.
    ///   - width: The number of characters of the bar, from 1 to 200.
    public convenience init(_ title: String = "", width: Int = 30) {
        StandardError.open()
        self.init(title, width: width, write: isatty(STDERR_FILENO) == 1 ? StandardError.write : nil)
    }

    init(_ title: String, width: Int, write: (@Sendable (String) -> Void)?) {
        self.title = String(String.UnicodeScalarView(title.unicodeScalars.filter { !$0.breaksLines }))
        self.width = min(200, max(1, width))
        self.write = write
    }

    /// Shows the bytes of a request: those of its body, and then those of the response's.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .didProgress(let progress):
            let total = progress.total.map { " of \($0)" } ?? ""
            let bytes = "\(progress.completed)\(total) bytes \(progress.direction == .upload ? "sent" : "received")"
            show(progress.total == nil ? nil : progress.fractionCompleted, bytes)
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

    private func show(_ fraction: Double?, _ text: String) {
        let bar = fraction.map { fraction in
            let full = Int((Double(width) * min(1, max(0, fraction))).rounded())
            return "[\(String(repeating: "#", count: full))\(String(repeating: "-", count: width - full))] "
        }
        put((title.isEmpty ? "" : "\(title) ") + (bar ?? "") + text)
    }

    /// Replaces the line, unless it is the same.
    private func put(_ line: String, ending: String = "") {
        guard let write else { return }
        let isNew = shown.withLock { shown in
            defer { shown.line = ending.isEmpty ? line : "" }
            return shown.line != line || !ending.isEmpty
        }
        if isNew { write("\r\u{1B}[K\(line.oneLine)\(ending)") }
    }

    private func end(_ text: String) { put((title.isEmpty ? "" : "\(title) ") + text, ending: "\n") }

    private func clear() {
        let wasShown = shown.withLock { shown in
            defer { shown.line = "" }
            return !shown.line.isEmpty
        }
        if wasShown { write?("\r\u{1B}[K") }
    }
}
