import Errand
import ErrandInspector
import Foundation
import Testing

/// What a browser makes of the page of a waterfall.
@Suite(.enabled(if: RecordedSends.browser != nil, "no Chromium is there"))
struct WaterfallPageTests {
    /// Uses the page as a person does, and leaves what it finds in an element.
    private static let use = #"""
        <script>
        const found = {}, press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        const names = () => rows.map(row => row.ariaLevel + " " + row.querySelector(".type").textContent.replace(/ #\d+$/, ""));
        const choose = (id, value) => { $(id).value = value; $(id).dispatchEvent(new Event("input")); };
        found.names = names();
        found.bars = [...new Set([...document.querySelectorAll(".bars b")].map(bar => bar.style.background || bar.className))].sort();
        found.statuses = rows.filter(row => row.dataset.send).map(row => row.querySelector(".status").textContent);
        $("zoom").value = 60;
        choose("status", "failure");
        found.failures = names();
        found.zoom = $("zoom").value;
        choose("status", "cache");
        found.stored = names();
        choose("status", "");
        choose("text", "repeated");
        found.repeated = names();
        rows[0].focus();
        press("Enter");
        found.detail = $("detail").innerText;
        press("Escape");
        found.isHidden = $("detail").hidden;
        choose("text", "");
        rows[0].focus();
        press("ArrowLeft");
        found.closed = names().length;
        press("ArrowRight");
        found.opened = names().length;
        press("ArrowDown");
        found.focused = rows.indexOf(document.activeElement);
        choose("text", "no such thing");
        found.none = $("rows").innerText;
        found.loaded = performance.getEntriesByType("resource").length;
        found.errors = window.problems;
        document.body.innerHTML = "<pre id=found></pre>";
        document.getElementById("found").textContent = JSON.stringify(found);
        </script>
        """#

    @Test(.limit(seconds: 60)) func aBrowserShowsTheSendsAndFollowsTheKeyboard() async throws {
        let (recorder, browser) = (try await RecordedSends.make(), try #require(RecordedSends.browser))
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-inspector-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "waterfall.html")
        let watch = "<script>window.problems = []; onerror = text => problems.push(text)</script>"
        try Data((watch + recorder.waterfall() + Self.use).utf8).write(to: file)
        let arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--user-data-dir=\(folder.path)/user",
        ]
        let (_, text) = try RecordedSends.output(of: browser, arguments + [file.absoluteString])
        let dumped = try #require(text.firstMatch(of: #/<pre id="found">(.*?)<\/pre>/#)?.1, "\(text.prefix(2_000))")
        let json = dumped.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
        let found = try JSONValue(parsing: Data(json.utf8))
        func texts(_ name: String) -> [String] { (found[name]?.array ?? []).compactMap(\.string) }
        // The members of a batch begin in any order.
        let (item, inner) = (["2 Item"], ["2 BatchRequest", "3 Item", "3 Item"])
        #expect([item + inner, inner + item].contains(Array(texts("names").prefix(5).dropFirst())), "\(found)")
        #expect(texts("names").first == "1 BatchRequest")
        #expect(texts("names").count == 19 && texts("names").contains("1 PageSequence"), "\(texts("names"))")
        #expect(
            Set(["var(--wait)", "note", "stored", "span"]).isSubset(of: texts("bars")),
            "\(texts("bars"))"
        )
        #expect(
            texts("statuses").filter { $0 == "404" }.count == 1
                && texts("failures") == ["1 GeneralRequest", "1 GeneralRequest"]
        )
        #expect(texts("stored") == ["1 Item"] && texts("repeated") == ["1 Item"])
        let detail = found["detail"]?.string ?? ""
        #expect(
            detail.contains("attempt 1: 503") && detail.contains("attempt 2: 200") && detail.contains("tag repeated"),
            "\(detail)"
        )
        #expect(found["isHidden"] == true && found["closed"]?.int == 15 && found["opened"]?.int == 19)
        #expect(found["focused"] == 1 && found["none"] == "Nothing matches the filter.", "\(found)")
        #expect(found["loaded"] == 0 && found["errors"] == [] && found["zoom"] == "0")
    }
}
