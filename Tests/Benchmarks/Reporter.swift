import Foundation

/// Reports measurements, as lines for people or for programs.
struct Reporter: Sendable {
    let asJSON: Bool

    private struct Line: Encodable {
        let name: String
        let value: Double
        let unit: String
        let against: String?
    }

    /// Reports one measurement.
    ///
    /// - Parameters:
    ///   - name: What checks read it by.
    ///   - value: The figure; the median where there are several.
    ///   - unit: What it counts.
    ///   - against: What the value is divided by in a ratio; `nil` for a figure of our own.
    ///   - spread: From the smallest to the largest of several rounds; for people only.
    /// - Throws: A value that is not a number cannot be reported as JSON.
    func report(
        _ name: String,
        _ value: Double,
        unit: String,
        against: String? = nil,
        spread: ClosedRange<Double>? = nil
    ) throws {
        if asJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let value = (value * 10_000).rounded() / 10_000
            let line = Line(name: name, value: value, unit: unit, against: against)
            write(String(decoding: try encoder.encode(line), as: UTF8.self))
        } else {
            let label = name.padding(toLength: 40, withPad: " ", startingAt: 0)
            let range = spread.map { " (\(text($0.lowerBound)) to \(text($0.upperBound)))" } ?? ""
            write("\(label) \(text(value)) \(unit)\(range)\(against.map { ", against \($0)" } ?? "")")
        }
    }

    /// Reports why something was not measured; never on the lines that programs read.
    func skip(_ name: String, because reason: String) {
        FileHandle.standardError.write(Data("skipped \(name): \(reason)\n".utf8))
    }

    private func text(_ value: Double) -> String {
        value.magnitude >= 1_000 ? String(format: "%.0f", value) : String(format: "%.3f", value)
    }

    private func write(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
