import ErrandInspector
import Foundation
import Testing

/// Other programs read an archive.
@Suite(.enabled(if: RecordedSends.python != nil, "ERRAND_PYTHON names no Python with jsonschema and haralyzer"))
struct ArchiveToolTests {
    /// Prints what is wrong, and for each entry its status, and the status and time that haralyzer reads.
    private static let script = #"""
        import json, sys
        from haralyzer import HarParser
        from jsonschema import Draft202012Validator, FormatChecker
        archive, schema = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
        for error in Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(archive):
            print("invalid:", error.json_path, error.message)
        parser = HarParser(archive)
        for entry, raw in zip(parser.pages[0].entries, archive["log"]["entries"], strict=True):
            parts = [time for name, time in raw["timings"].items() if name != "ssl" and time >= 0]
            if abs(sum(parts) - raw["time"]) > 1e-6:
                print("invalid: the times do not add up:", raw["time"], raw["timings"])
            print(entry.request.method, entry.response.status, entry.request.url, entry.startTime.year > 2000, entry.time >= 0)
        """#

    @Test(.limit(seconds: 60)) func theSchemaAcceptsAnArchiveAndHaralyzerReadsIt() async throws {
        let (recorder, python) = (try await RecordedSends.make(), try #require(RecordedSends.python))
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-inspector-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["archive.har", "schema.json", "read.py"].map { folder.appending(path: $0) }
        try recorder.write(to: files[0])
        try Data(ArchiveSchema.text.utf8).write(to: files[1])
        try Data(Self.script.utf8).write(to: files[2])
        let (status, text) = try RecordedSends.output(of: python, [files[2], files[0], files[1]].map(\.path))
        #expect(status == 0 && !text.contains("invalid"), "\(text)")
        let lines = text.split(separator: "\n")
        let count = recorder.sends.map { max(1, $0.exchanges.count) }.reduce(0, +)
        #expect(lines.count == count && lines.allSatisfy { $0.hasSuffix(" True True") }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("POST 200") } && lines.contains { $0.hasPrefix("GET 302") })
        #expect(lines.contains { $0.hasPrefix("GET 404") } && lines.contains { $0.hasPrefix("GET 0") })
    }
}
