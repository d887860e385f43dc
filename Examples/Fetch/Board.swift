import Errand
import Foundation
import Synchronization

/// A line with a progress bar for each download, on the standard error if that is a terminal.
final class Board: Sendable {
    private struct Line {
        let name: String
        var progress: TransferProgress?
        /// The bytes and the times of the last seconds, for the rate.
        var samples: [(bytes: Int64, time: ContinuousClock.Instant)] = []
        var end: String?
        var isComplete = false
    }

    private struct Lines {
        var all: [Line]
        var drawn = 0
        var lastDraw: ContinuousClock.Instant?

        /// The sum of all lines, with the total once each of them has one.
        private var overall: Line {
            let begun = all.compactMap(\.progress)
            let totals = begun.compactMap(\.total)
            let progress = TransferProgress(
                direction: .download,
                completed: begun.map(\.completed).reduce(0, +),
                total: totals.count == all.count ? totals.reduce(0, +) : nil
            )
            return Line(name: "\(all.count(where: \.isComplete)) of \(all.count) files", progress: progress)
        }

        mutating func draw(at now: ContinuousClock.Instant) {
            lastDraw = now
            var text = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
            for line in all { text += "\r\u{1B}[K\(Board.text(of: line))\n" }
            if all.count > 1 { text += "\r\u{1B}[K\(Board.text(of: overall))\n" }
            drawn = all.count > 1 ? all.count + 1 : 1
            StandardStream.write(text.utf8, to: STDERR_FILENO)
        }
    }

    private let lines: Mutex<Lines>
    private let isShown: Bool

    init(names: [String], isShown: Bool) {
        lines = Mutex(Lines(all: names.map { Line(name: $0) }))
        self.isShown = isShown && isatty(STDERR_FILENO) == 1
    }

    func show(_ progress: TransferProgress, of index: Int) {
        guard isShown else { return }
        let now = ContinuousClock.now
        lines.withLock { lines in
            lines.all[index].progress = progress
            lines.all[index].samples.append((progress.completed, now))
            lines.all[index].samples.removeAll { now - $0.time > .seconds(5) }
            if lines.lastDraw.map({ now - $0 > .milliseconds(100) }) ?? true { lines.draw(at: now) }
        }
    }

    /// Ends a line with a text.
    func end(_ index: Int, _ text: String, isComplete: Bool = false) {
        guard isShown else { return }
        lines.withLock { lines in
            lines.all[index].isComplete = isComplete
            lines.all[index].end = text
            lines.draw(at: .now)
        }
    }

    private static func text(of line: Line) -> String {
        let name =
            line.name.count > 24
            ? line.name.prefix(23) + "…" : line.name + String(repeating: " ", count: 24 - line.name.count)
        if let end = line.end { return "\(name)  \(end)" }
        guard let progress = line.progress else { return "\(name)  waiting" }
        var text = "\(name)  "
        if let total = progress.total {
            let full = Int(progress.fractionCompleted * 20)
            text += "[" + String(repeating: "#", count: full) + String(repeating: "-", count: 20 - full) + "] "
            text += "\(Int(progress.fractionCompleted * 100)) % of \(size(total))"
        } else {
            text += size(progress.completed)
        }
        guard let first = line.samples.first, let last = line.samples.last, last.time > first.time else { return text }
        let rate = Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1))
        guard rate > 0 else { return text }
        text += ", \(size(Int64(rate)))/s"
        if let total = progress.total { text += ", \(duration(Double(total - progress.completed) / rate)) left" }
        return text
    }

    /// A number of bytes in the largest unit of which there is at least one.
    static func size(_ bytes: Int64) -> String {
        let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
        for (unit, factor) in units where Double(bytes) >= factor {
            let value = (Double(bytes) / factor * 10).rounded() / 10
            return "\(value) \(unit)"
        }
        return "\(bytes) bytes"
    }

    private static func duration(_ seconds: Double) -> String {
        guard seconds < 360_000 else { return "long" }
        let whole = Int(seconds.rounded(.up))
        if whole < 60 { return "\(whole) s" }
        return whole < 3_600 ? "\(whole / 60) min" : "\(whole / 3_600) h \(whole / 60 % 60) min"
    }
}
