import Testing

@testable import Errand
@testable import ErrandTerminal

@Suite struct TerminalTests {
    @Test(arguments: [
        ("film.mp4", 8, "film.mp4"), ("film.mp4", 5, "film…"), ("film", 1, "…"), ("film", 0, ""),
        ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
        ("한국", 4, "한국"), ("🎬🎬", 3, "🎬…"),
    ])
    func textIsCutByColumns(text: String, columns: Int, cut: String) {
        #expect(text.cut(toColumns: columns) == cut)
    }
}
