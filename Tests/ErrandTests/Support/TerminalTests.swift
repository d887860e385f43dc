import Testing

@testable import Errand

@Suite struct TerminalTests {
    @Test(
        arguments: [
            (120, "60", 120), (nil, "60", 60), (0, "60", 60), (0, "wide", 80), (nil, nil, 80), (nil, "-1", 80),
        ] as [(Int?, String?, Int)]
    )
    func columnsAreTheReportedOnesOrThoseOfTheEnvironment(reported: Int?, variable: String?, count: Int) {
        #expect(Terminal.columns(reported: reported, variable) == count)
    }

    @Test(arguments: [("xterm-256color", true), ("dumb", false), ("", false), (nil, false)] as [(String?, Bool)])
    func dumbTerminalIsNotRedrawn(type: String?, canRedraw: Bool) {
        #expect(Terminal.canRedraw(type: type) == canRedraw)
    }

    @Test(arguments: [
        ("film.mp4", 8, "film.mp4"), ("film.mp4", 5, "film…"), ("film", 1, "…"), ("film", 0, ""),
        ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
        ("한국", 4, "한국"), ("🎬🎬", 3, "🎬…"),
    ])
    func textIsCutByColumns(text: String, columns: Int, cut: String) {
        #expect(text.cut(toColumns: columns) == cut)
    }
}
