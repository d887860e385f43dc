import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The bytes of a form.
@Suite struct MultipartFormTests {
    private struct Bytes: BodySource {
        var bytes = Data()
        var byteCount: Int64?
        var isReplayable = true
        func makeReader() throws -> any BodyReader { try OutgoingBody.data(bytes).makeReader() }
    }

    private static func bytes(of body: any BodySource, upTo limit: () -> Int = { 4096 }) throws -> Data {
        let reader = try OutgoingBody.source(body).makeReader()
        var data = Data()
        while true {
            var piece = [UInt8](repeating: 0, count: max(1, limit()))
            let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
            guard count > 0 else { return data }
            data.append(contentsOf: piece[..<count])
        }
    }

    private static func text(of form: MultipartForm) throws -> String {
        String(decoding: try bytes(of: MultipartBody(form, makeBoundary: { "0BOUND" })), as: UTF8.self)
    }

    @Test func partsAreWrittenAsRFC7578Describes() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "photo.jpg")
        try Data("JPEG".utf8).write(to: file)
        var form = MultipartForm()
        form.append("Grün", name: "title")
        form.append(Data("{}".utf8), name: "info", contentType: "application/json", headers: ["X-Part": "1"])
        try form.append(file: file, name: "photo")
        form.append(Data("x".utf8), name: "data", fileName: "x")
        form.append("y", name: "own", headers: ["content-disposition": "form-data; name=own", "Content-Type": "a/b"])
        let expected = [
            "--0BOUND", #"Content-Disposition: form-data; name="title""#, "", "Grün", "--0BOUND",
            #"Content-Disposition: form-data; name="info""#, "Content-Type: application/json", "X-Part: 1", "", "{}",
            "--0BOUND",
            #"Content-Disposition: form-data; name="photo"; filename="photo.jpg""#, "Content-Type: image/jpeg", "",
            "JPEG",
            "--0BOUND", #"Content-Disposition: form-data; name="data"; filename="x""#,
            "Content-Type: application/octet-stream",
            "", "x", "--0BOUND", "content-disposition: form-data; name=own", "Content-Type: a/b", "", "y", "--0BOUND--",
            "",
        ]
        #expect(try Self.text(of: form) == expected.joined(separator: "\r\n"))
        #expect(try Self.text(of: MultipartForm()) == "--0BOUND--\r\n")
    }

    @Test(arguments: [
        ("a\"b", "a%22b"), ("a\r\nb\n\r", "a%0D%0Ab%0A%0D"), ("ä 日本 😀", "ä 日本 😀"), ("a\\b;=%22", "a\\b;=%22"), ("", ""),
        ("a\u{0}b", "a\u{0}b"),
    ])
    func namesAreEscapedAsTheHTMLStandardRequires(_ name: String, _ escaped: String) throws {
        var form = MultipartForm()
        form.append(Data(), name: name, fileName: name)
        let line = "Content-Disposition: form-data; name=\"\(escaped)\"; filename=\"\(escaped)\"\r\n"
        #expect(try Self.text(of: form).contains(line))
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b", "a\rb"])
    func lineBreakInAHeaderFieldOfAPartIsRejected(_ value: String) throws {
        var forms: [MultipartForm] = []
        for index in 0..<4 {
            var form = MultipartForm()
            switch index {
            case 0: form.append("x", name: "n", headers: ["X-Part": value])
            case 1: form.append(Data(), name: "n", contentType: value)
            case 2: form.append("x", name: "n", headers: ["Content-Disposition": value])
            default: form.append("x", name: "n", headers: [value: "x"])
            }
            var outer = MultipartForm()
            outer.append(form, name: "nested")
            forms += [form, outer]
        }
        for form in forms {
            let error = #expect(throws: NetworkError.self) { try MultipartBody(form) }
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test func boundaryIsRandomAndNotInAHeaderOfAPart() throws {
        var seen = Set<String>()
        for _ in 0..<1000 {
            let type = try MultipartBody(MultipartForm()).contentType
            let boundary = try #require(type.wholeMatch(of: /multipart\/form-data; boundary=errand-([0-9a-f]{32})/)?.1)
            seen.insert(String(boundary))
        }
        #expect(seen.count == 1000)
        var form = MultipartForm()
        form.append("x", name: "about first and second")
        var boundaries = ["first", "second", "third"][...]
        let body = try MultipartBody(form, makeBoundary: { boundaries.popFirst() ?? "" })
        #expect(body.contentType == "multipart/form-data; boundary=third")
    }

    @Test func lengthsAreAddedExactlyOrRejected() throws {
        func form(_ lengths: Int64?...) -> MultipartForm {
            var form = MultipartForm()
            for length in lengths { form.append(source: Bytes(byteCount: length), name: "n") }
            return form
        }
        #expect(try MultipartBody(form(1, nil)).byteCount == nil)
        #expect(try #require(MultipartBody(form(1 << 40, 1 << 40)).byteCount) > 1 << 41)
        for lengths in [form(.max), form(.max, .max), form(-1), form(5, .min)] {
            let error = #expect(throws: NetworkError.self) { try MultipartBody(lengths) }
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test func formCanBeReadAgainIfEachPartCan() throws {
        var form = MultipartForm()
        form.append(source: Bytes(byteCount: 0), name: "n")
        #expect(try MultipartBody(form).isReplayable)
        var outer = MultipartForm()
        form.append(source: Bytes(byteCount: 0, isReplayable: false), name: "n")
        outer.append(form, name: "inner")
        #expect(try !MultipartBody(outer).isReplayable)
    }

    @Test func contentTypeOfAConfigDoesNotReplaceAForms() async throws {
        var form = MultipartForm()
        form.append("1", name: "a")
        let rig = Rig(config: .test { $0.headers = ["Content-Type": "application/json"] })
        let sent = try await rig.wire(GeneralRequest("/x").method(.post).body(.multipart(form)).expecting(Void.self))
        let type = try #require(sent.headers["Content-Type"])
        #expect(type.hasPrefix("multipart/form-data; boundary="))
        let body = try sent.bodyText()
        #expect(body.hasPrefix("--" + type.dropFirst("multipart/form-data; boundary=".count)))
        #expect(sent.body.byteCount == Int64(body.utf8.count))
    }

    @Test func missingFileIsAnErrorWhenItIsAppended() {
        expect(throwing: .fileUnusable("'none.txt': it does not exist")) {
            _ = try RequestBody.multipart { try $0.append(file: URL(filePath: "/secret/none.txt"), name: "a") }
        }
    }

    // MARK: Random forms

    private struct Parsed: Equatable {
        var disposition: String
        var type: String?
        var content: Data
        var parts: [Parsed] = []
    }

    /// Reads a form as a server would, knowing nothing but the boundary.
    private static func parse(_ data: Data, boundary: String) throws -> [Parsed] {
        var rest = Data("\r\n".utf8) + data
        let delimiter = Data("\r\n--\(boundary)".utf8)
        var parts: [Parsed] = []
        while let range = rest.range(of: delimiter) {
            let section = rest[..<range.lowerBound]
            if range.lowerBound > rest.startIndex {
                let end = try #require(section.range(of: Data("\r\n\r\n".utf8)))
                var part = Parsed(disposition: "", content: Data(section[end.upperBound...]))
                for line in String(decoding: section[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                {
                    if line.hasPrefix("Content-Disposition: ") { part.disposition = String(line.dropFirst(21)) }
                    if line.hasPrefix("Content-Type: ") { part.type = String(line.dropFirst(14)) }
                }
                if let type = part.type, type.hasPrefix("multipart/mixed; boundary=") {
                    part.parts = try parse(part.content, boundary: String(type.dropFirst(26)))
                    (part.type, part.content) = ("nested", Data())
                }
                parts.append(part)
            }
            rest = rest[range.upperBound...]
            if rest.starts(with: Data("--\r\n".utf8)) {
                #expect(rest.count == 4)
                return parts
            }
            #expect(rest.starts(with: Data("\r\n".utf8)))
            // The line break may also begin the next delimiter.
            rest = rest.dropFirst(2)
        }
        Issue.record("no closing delimiter")
        return parts
    }

    private static let names = ["a", "", "ä ö", "a;b=c", "x\\y", "日本", "form-data", "--b", "a b"]

    private static func randomData(_ random: inout SeededGenerator) -> Data {
        let count = [0, 1, 10, 300].randomElement(using: &random) ?? 0
        let letters = Array("\r\n-ab:\u{FF}".utf8)
        return Data((0..<count).map { _ in letters.randomElement(using: &random) ?? 0 })
    }

    private static func randomForm(
        _ random: inout SeededGenerator,
        in directory: TemporaryDirectory,
        depth: Int
    ) throws -> (MultipartForm, [Parsed]) {
        var (form, expected): (MultipartForm, [Parsed]) = (MultipartForm(), [])
        let word = depth == 0 ? "form-data" : "attachment"
        for index in 0..<Int.random(in: 0...5, using: &random) {
            let name = names.randomElement(using: &random) ?? ""
            let disposition = depth > 0 && name.isEmpty ? word : "\(word); name=\"\(name)\""
            let data = randomData(&random)
            switch Int.random(in: 0...(depth < 3 ? 4 : 3), using: &random) {
            case 0:
                let text = String(decoding: data, as: UTF8.self)
                form.append(text, name: name)
                expected.append(Parsed(disposition: disposition, content: Data(text.utf8)))
            case 1:
                form.append(data, name: name, contentType: "a/b")
                expected.append(Parsed(disposition: disposition, type: "a/b", content: data))
            case 2:
                let file = directory.url.appending(
                    path: "\(depth) \(index) \(UInt32.random(in: 0 ... .max, using: &random)).png"
                )
                try data.write(to: file)
                try form.append(file: file, name: name)
                let full = disposition + "; filename=\"\(file.lastPathComponent)\""
                expected.append(Parsed(disposition: full, type: "image/png", content: data))
            case 3:
                form.append(source: Bytes(bytes: data, byteCount: Int64(data.count)), name: name, fileName: "s")
                let full = disposition + "; filename=\"s\""
                expected.append(Parsed(disposition: full, type: "application/octet-stream", content: data))
            default:
                let (inner, parts) = try randomForm(&random, in: directory, depth: depth + 1)
                form.append(inner, name: name)
                expected.append(Parsed(disposition: disposition, type: "nested", content: Data(), parts: parts))
            }
        }
        return (form, expected)
    }

    @Test func anyFormIsParsedBackAndHasItsExactLength() throws {
        let directory = try TemporaryDirectory()
        for seed in UInt64(0)..<200 {
            var random = SeededGenerator(seed: seed)
            let (form, expected) = try Self.randomForm(&random, in: directory, depth: 0)
            let body = try MultipartBody(form)
            let bytes = try Self.bytes(of: body) { [1, 7, 64, 65_536].randomElement(using: &random) ?? 1 }
            #expect(body.byteCount == Int64(bytes.count), "seed \(seed)")
            let boundary = String(body.contentType.dropFirst("multipart/form-data; boundary=".count))
            #expect(try Self.parse(bytes, boundary: boundary) == expected, "seed \(seed)")
            #expect(try Self.bytes(of: body) == bytes, "seed \(seed)")
        }
    }
}
