import Errand
import ErrandTerminal
import Testing
import ToolSupport

@Suite struct BoardLinesTests {
    private let now = ContinuousClock.now

    private func lines(_ names: [String], completed: [Int: Int64] = [:], ended: Set<Int> = []) -> BoardLines {
        var lines = BoardLines(names: names)
        for (index, bytes) in completed {
            let halves = [bytes / 2, bytes].enumerated()
            for (second, bytes) in halves {
                let progress = TransferProgress(direction: .download, completed: bytes, total: 3_000_000)
                lines.show(progress, of: index, at: now + .seconds(second))
            }
        }
        for index in ended { lines.end(index, "3.0 MB", isComplete: true) }
        return lines
    }

    @Test(arguments: [
        (100, "film.mp4                  [##########----------] 50 % of 3.0 MB, 750.0 kB/s, 2 s left"),
        (80, "film.mp4                  [#####-----] 50 % of 3.0 MB, 750.0 kB/s, 2 s left"),
        (60, "film.mp4                  50 % of 3.0 MB, 750.0 kB/s, 2 s …"),
        (40, "film.mp4   50 % of 3.0 MB, 750.0 kB/s,…"), (12, "film.mp4  …"), (1, ""),
    ])
    func lineIsNarrowerThanTheTerminal(columns: Int, text: String) {
        let lines = lines(["film.mp4"], completed: [0: 1_500_000])
        #expect(lines.texts(on: Terminal(columns: columns, rows: 24)) == [text])
    }

    @Test func namesAreCutByColumns() {
        let lines = lines(["日本語の長いファイル名前です.bin", "e\u{301}te\u{301}.bin"], completed: [:])
        #expect(
            lines.texts(on: Terminal(columns: 80, rows: 24)).prefix(2) == [
                "日本語の長いファイル名…   waiting", "e\u{301}te\u{301}.bin                   waiting",
            ]
        )
    }

    @Test(
        arguments: [
            (24, ["0", "1", "2", "3", "4", "5", "2 of 6"]), (8, ["0", "1", "2", "3", "4", "5", "2 of 6"]),
            (7, ["1", "2", "3", "5", "… and 2", "2 of 6"]), (5, ["1", "3", "… and 4", "2 of 6"]),
            (3, ["6 files", "2 of 6"]), (2, ["2 of 6"]), (1, []),
        ] as [(Int, [String])]
    )
    func thereAreFewerLinesThanRows(rows: Int, beginnings: [String]) {
        let lines = lines((0..<6).map { "\($0)" }, completed: [1: 1_000, 3: 1_000], ended: [0, 4])
        let texts = lines.texts(on: Terminal(columns: 80, rows: rows))
        #expect(texts.count == beginnings.count && texts.count < rows, "\(texts)")
        for (text, beginning) in zip(texts, beginnings) { #expect(text.hasPrefix(beginning), "\(texts)") }
    }

    @Test(
        arguments: [
            (0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
            (3_000_000, "3.0 MB"), (1_234_567_890, "1.2 GB"),
        ] as [(Int64, String)]
    )
    func sizeIsInTheLargestUnit(bytes: Int64, text: String) { #expect(BoardLines.size(bytes) == text) }
}

@Suite struct TerminalTests {
    @Test(
        arguments: [
            (100, 30, [:], 100, 30), (nil, nil, [:], 80, 24), (0, 0, ["COLUMNS": "60", "LINES": "20"], 60, 20),
            (nil, nil, ["COLUMNS": "wide", "LINES": "-1"], 80, 24),
            (100, 30, ["COLUMNS": "60", "LINES": "20"], 100, 30),
        ] as [(Int?, Int?, [String: String], Int, Int)]
    )
    func sizeIsTheReportedOneOrTheEnvironments(
        reportedColumns: Int?,
        reportedRows: Int?,
        environment: [String: String],
        columns: Int,
        rows: Int
    ) {
        let reported = reportedColumns.flatMap { columns in reportedRows.map { (columns, $0) } }
        #expect(Terminal(reported: reported, environment: environment) == Terminal(columns: columns, rows: rows))
    }

    @Test(arguments: [("xterm", true), ("dumb", false), ("", false), (nil, false)] as [(String?, Bool)])
    func dumbTerminalIsNotRedrawn(type: String?, canRedraw: Bool) {
        #expect(Terminal.canRedraw(type) == canRedraw)
    }
}
