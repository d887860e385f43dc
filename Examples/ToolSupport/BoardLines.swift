package import Errand
package import ErrandTerminal

/// What a ``Board`` shows, as text for a terminal of any size.
package struct BoardLines: Sendable {
    private struct Line {
        let name: String
        var progress: TransferProgress?
        /// The bytes and the times of the last seconds, for the rate.
        var samples: [(bytes: Int64, time: ContinuousClock.Instant)] = []
        var end: String?
        var isComplete = false
    }

    private var all: [Line]

    package init(names: [String]) { all = names.map { Line(name: $0) } }

    package mutating func show(_ progress: TransferProgress, of index: Int, at now: ContinuousClock.Instant) {
        all[index].progress = progress
        all[index].samples.append((progress.completed, now))
        all[index].samples.removeAll { now - $0.time > .seconds(5) }
    }

    package mutating func end(_ index: Int, _ text: String, isComplete: Bool) {
        all[index].isComplete = isComplete
        all[index].end = text
    }

    /// Returns the lines for a terminal: each is narrower than the terminal, and there are fewer than its rows.
    ///
    /// If there are too many, the running ones are shown first, then the waiting ones, then the others.
    package func texts(on terminal: Terminal) -> [String] {
        let width = terminal.columns - 1
        let room = terminal.rows - 1
        guard all.count > 1 else { return room > 0 ? all.map { Self.text(of: $0, width: width) } : [] }
        var shown = Array(all.indices)
        if all.count + 1 > room {
            let ranks = all.map { $0.end != nil ? 2 : $0.progress == nil ? 1 : 0 }
            let first = shown.sorted { (ranks[$0], $0) < (ranks[$1], $1) }.prefix(max(0, room - 2))
            shown = first.sorted()
        }
        var texts = shown.map { Self.text(of: all[$0], width: width) }
        let hidden = all.count - shown.count
        if hidden > 0 {
            texts.append((shown.isEmpty ? "\(hidden) files" : "… and \(hidden) more").cut(toColumns: width))
        }
        texts.append(Self.text(of: overall, width: width))
        return Array(texts.suffix(max(0, room)))
    }

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

    /// Returns the text of a line; the widths of its name and its bar depend only on the terminal's, so that nothing jumps.
    private static func text(of line: Line, width: Int) -> String {
        let name = line.name.padded(toColumns: min(24, max(8, width - 30))) + "  "
        return (name + facts(of: line, barWidth: min(20, width - 69))).cut(toColumns: width)
    }

    private static func facts(of line: Line, barWidth: Int) -> String {
        if let end = line.end { return end }
        guard let progress = line.progress else { return "waiting" }
        var text = ""
        if let total = progress.total {
            if barWidth >= 5 {
                let full = Int(progress.fractionCompleted * Double(barWidth))
                text += "[" + String(repeating: "#", count: full)
                text += String(repeating: "-", count: barWidth - full) + "] "
            }
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

    /// A number of bytes in the largest unit that is not larger.
    package static func size(_ bytes: Int64) -> String {
        let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
        // A number that would be rounded to 1000 is 1 of the next unit.
        for (unit, factor) in units where Double(bytes) >= factor * 0.99995 {
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
