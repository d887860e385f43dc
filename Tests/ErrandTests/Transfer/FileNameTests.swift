import Errand
import Foundation
import Testing

@testable import Errand

/// Names of files that servers propose.
@Suite struct FileNameTests {
    private func name(_ disposition: String?, _ url: String = "https://h/p/from%20url.txt") throws -> String {
        var headers = HTTPHeaders()
        headers["Content-Disposition"] = disposition
        return FileName(of: headers, from: try #require(URL(string: url))).text
    }

    @Test func contentDispositionNamesTheFile() throws {
        #expect(try name("attachment; filename=\"a b.txt\"") == "a b.txt")
        #expect(try name("attachment;filename=a.txt;") == "a.txt")
        #expect(try name("inline; FileName = a.txt ; x=y") == "a.txt")
        #expect(try name(#"attachment; filename="a\"b\\c.txt""#) == "c.txt")
        #expect(try name("attachment; filename=plain.txt; filename*=UTF-8''%e2%82%ac.txt") == "€.txt")
        #expect(try name("attachment; filename*=iso-8859-1'en'%A3.txt") == "£.txt")
        #expect(try name("attachment; filename*=utf8''%e2%82%ac.txt") == "€.txt")
        #expect(try name("attachment; filename*=x''%e2%82%ac.txt") == "€.txt")
        #expect(try name("attachment; filename=plain.txt; filename*=UTF8'en'%e2%82%ac.txt") == "€.txt")
        #expect(try name("attachment; filename=naïve file.txt") == "naïve file.txt")
    }

    @Test func whatCannotBeReadFallsBackToTheURL() throws {
        let others = [
            nil, "", ";", "attachment", "attachment; filename", "attachment; filename=", "attachment; filename=\"",
            "attachment; filename*=UTF-8''%", "attachment; filename*=UTF-8''%ff", "attachment; filename*=x''%ff",
            "attachment; filename=\"..\"", "attachment; filename=\"/\"", String(repeating: "a", count: 10_000),
        ]
        for one in others { #expect(try name(one) == "from url.txt", "\(one ?? "none")") }
    }

    @Test func aSecretNamesNoFile() throws {
        let url = try #require(URL(string: "https://h/files/token"))
        let declared = DeclaredPath("/files/\(secret: "token")")
        #expect(FileName(of: [:], from: url, declared).text == "download")
        let headers: HTTPHeaders = ["Content-Disposition": "attachment; filename=a.txt"]
        #expect(FileName(of: headers, from: url, declared).text == "a.txt")
        #expect(FileName(of: [:], from: url, DeclaredPath("/\(secret: "token")/b%20c.txt")).text == "b c.txt")
    }

    @Test func aURLWithoutAUsableNameGivesAFixedOne() throws {
        for url in ["https://h", "https://h/", "https://h/a/", "https://h/..", "https://h/%2E%2E", "https://h/%00"] {
            #expect(try name(nil, url) == "download", "\(url)")
        }
        #expect(try name(nil, "https://h/a%2Fb") == "b")
    }

    @Test func namesAreVisibleSingleComponents() throws {
        let cases = [
            "../../etc/passwd": "passwd", "..\\\\..\\\\x.exe": "x.exe", ".bashrc": "bashrc", "C:x": "C_x",
            "con.txt": "_con.txt",
            "NUL": "_NUL", "a. . ": "a", " a": "a", "a\u{202E}txt.exe": "atxt.exe", "a\u{7}b": "ab", "a*?b": "a__b",
            "....": "from url.txt",
        ]
        for (text, wanted) in cases { #expect(try name("attachment; filename=\"\(text)\"") == wanted, "\(text)") }
    }

    @Test func longNamesKeepTheirExtension() throws {
        for letter in ["n", "ü", "e\u{301}"] {
            let long = try name("attachment; filename=\"\(String(repeating: letter, count: 1_000)).tar\"")
            #expect(long.utf8.count <= 200 && long.hasSuffix(".tar") && long.utf8.count > 190)
        }
        let zalgo = "a" + String(repeating: "\u{301}", count: 2_000)
        #expect(try name("attachment; filename=\"\(zalgo).txt\"") == "download.txt")
        // What remains of it names a device.
        let device = "cone" + String(repeating: "\u{301}", count: 100)
        #expect(try name("attachment; filename=\"\(device).txt\"") == "_con.txt")
    }

    /// Each is one `Character` with its neighbour, which is then neither a slash nor a period.
    @Test(arguments: ["\u{200D}", "\u{200C}", "\u{301}", "\u{E0020}", "\u{600}", "\u{FE0F}", "\u{1F3FB}"])
    func marksBesideADelimiterHideItFromNobody(mark: String) throws {
        let texts = [
            "/\(mark)..\(mark)/\(mark).bashrc", "\(mark)/\(mark)..\(mark)/x", "a\\\(mark)..\\\(mark)x",
            "\(mark)..\(mark)/",
            ".\(mark)hidden", "x.part\(mark)", "a\(mark)/\(mark)b",
        ]
        for text in texts {
            let encoded = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            for found in [
                try name("attachment; filename*=UTF-8''\(encoded)"), try name("attachment; filename=\"\(text)\""),
                try name(nil, "https://h/p/\(encoded)"),
            ] {
                let scalars = found.unicodeScalars
                #expect(!scalars.contains("/") && !scalars.contains("\\"), "\(text.debugDescription)")
                #expect(scalars.first != "." && !found.utf8.reversed().starts(with: ".part".utf8.reversed()))
                #expect(FileName.isSafe(found))
            }
        }
    }
}
