import Foundation

/// Tells measurements, as lines for people or for programs.
struct Reporter: Sendable {
    let asJSON: Bool

    private struct Line: Encodable {
        let name: String
        let value: Double
        let unit: String
        let against: String?
    }

    /// A ratio says what it is `against`; a figure of our own does not.
    func tell(_ name: String, _ value: Double, unit: String, against: String? = nil) {
        let rounded = (value * 10_000).rounded() / 10_000
        if asJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let line = Line(name: name, value: rounded, unit: unit, against: against)
            // A number, three texts: nothing that cannot be encoded, unless the measurement is not a number.
            if let text = try? encoder.encode(line) { write(String(decoding: text, as: UTF8.self)) }
        } else {
            let label = name.padding(toLength: 36, withPad: " ", startingAt: 0)
            write("\(label) \(rounded) \(unit)\(against.map { "  against \($0)" } ?? "")")
        }
    }

    private func write(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// Says why something was not measured; never on the lines that programs read.
    func skip(_ name: String, because reason: String) {
        FileHandle.standardError.write(Data("skipped \(name): \(reason)\n".utf8))
    }
}

extension Sequence where Element == Double {
    /// The middle of the values; not a number when there are none.
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}
