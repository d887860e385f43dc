import Foundation
import Testing

/// The functions between a caller and the wire: those that `Documentation/Architecture.md` lists, and no more than twelve.
///
/// Their stack cannot be had: the system's backtrace loses asynchronous callers in a program of this size.
@Suite struct SendWalkTests {
    private struct Step: CustomStringConvertible {
        let type: String
        let function: String
        let file: String

        var description: String { "\(type).\(function)" }
    }

    private struct NoBody: Error { let step: Step }

    private let root: URL

    init() {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        root = url
    }

    @Test func plainSendCallsTheDocumentedFunctions() throws {
        let steps = try walk()
        #expect((2...12).contains(steps.count))
        #expect(steps.first?.description == "Agent.send")
        var last = ""
        for (step, next) in zip(steps, steps.dropFirst()) {
            let body = try body(of: step)
            if step.type == "Pipeline" { last = body }
            #expect(
                body.contains("\(next.function)(") || last.contains("\(next.function)("),
                "\(step) calls no \(next)"
            )
        }
        let wire = try body(of: #require(steps.last))
        #expect(wire.contains("transport.send("))
    }

    /// The numbered list: `Type.function(…)`, then the file.
    private func walk() throws -> [Step] {
        let text = try String(contentsOf: root.appending(path: "Documentation/Architecture.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## The life of a send").dropFirst().first)
        let list = section.prefix { $0 != "#" }
        return list.matches(of: /[0-9]+\. `(\w+)\.(\w+)\([^`]*`, `([^`]+)`/).map { match in
            Step(type: String(match.1), function: String(match.2), file: String(match.3))
        }
    }

    /// What stands between the braces of a function.
    private func body(of step: Step) throws -> String {
        let file = root.appending(path: "Sources/Errand").appending(path: step.file)
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        guard
            let start = lines.firstIndex(where: {
                $0.contains(" func \(step.function)(") || $0.contains(" func \(step.function)<")
            })
        else { throw NoBody(step: step) }
        // A function ends where a brace closes at the depth of its first line.
        let indentation = lines[start].prefix { $0 == " " }
        let end = lines[start...].firstIndex { $0 == "\(indentation)}" } ?? lines.endIndex
        return lines[(start + 1)..<end].joined(separator: "\n")
    }
}
