import Foundation
import Testing

@Suite struct ReadmeTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func everyCodeBlockIsACopyOfExampleCode() throws {
        let program = try lines(of: "Examples/ReadmeSnippets/main.swift").joined(separator: "\n")
        let blocks = try codeBlocks(of: "README.md")
        #expect(!blocks.isEmpty)
        for block in blocks { #expect("\n\(program)\n".contains("\n\(block)\n"), "not in the example:\n\(block)") }
    }

    @Test func readmeIsShort() throws {
        #expect(try lines(of: "README.md").count < 150)
    }

    @Test func everyLinkLeadsToAFile() throws {
        for line in try lines(of: "README.md") {
            for match in line.matches(of: /\]\((?<target>[^)#]+)/) where !match.output.target.contains("://") {
                let file = Self.root.appending(path: String(match.output.target))
                #expect(FileManager.default.fileExists(atPath: file.path), "\(match.output.target)")
            }
        }
    }

    /// The lines of a file without the white space around them.
    private func lines(of path: String) throws -> [String] {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The blocks that are marked as Swift, without their fences.
    private func codeBlocks(of path: String) throws -> [String] {
        var blocks: [String] = []
        var block: [String]?
        for line in try lines(of: path) {
            switch (line, block) {
            case ("```swift", nil): block = []
            case ("```", let lines?):
                blocks.append(lines.joined(separator: "\n"))
                block = nil
            case (_, let lines?): block = lines + [line]
            default: break
            }
        }
        return blocks
    }
}
