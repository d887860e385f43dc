import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Uploads of files, forms and streams over real sockets: what a server accepts is received once and complete.
@Suite(.limit(seconds: 120))
struct UploadWireTests {
    private static let size = 3_000_000

    enum Kind: String, CaseIterable { case file, form, stream, streamOfUnknownLength }

    private let server: MockServer
    private let folder: CacheFolder
    private let file: URL
    private let agent: Agent

    init() throws {
        server = try MockServer()
        folder = try CacheFolder()
        file = folder.url.appending(path: "upload.bin")
        try PatternSource(count: Self.size, statesCount: true).bytes.write(to: file)
        agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero) }
    }

    private func body(_ kind: Kind) throws -> RequestBody {
        let file = file
        switch kind {
        case .file: return .file(file)
        case .form:
            return try .multipart { form in
                form.append("before", name: "first")
                try form.append(file: file, name: "file")
                form.append("after", name: "last")
            }
        case .stream, .streamOfUnknownLength:
            return .stream(byteCount: kind == .stream ? Int64(Self.size) : nil) {
                let handle = try FileHandle(forReadingFrom: file)
                return { try handle.read(upToCount: 50_000) }
            }
        }
    }

    private func send(_ kind: Kind, _ method: HTTPMethod = .put, to path: String = "/x") async throws -> String {
        try await agent.send(GeneralRequest(path).method(method).body(body(kind)).expecting(String.self))
    }

    /// Whether a request has the content of the file, with its length or in chunks.
    private func isWhole(_ request: MockRequest, _ kind: Kind) throws -> Bool {
        let expected = try Data(contentsOf: file)
        let isChunked = request.headers["Transfer-Encoding"] != nil
        guard isChunked == (kind == .streamOfUnknownLength),
            isChunked || request.headers.values(for: "Content-Length") == ["\(request.body.count)"]
        else { return false }
        guard kind == .form else { return request.body == expected }
        let boundary = String(request.headers["Content-Type"]?.split(separator: "=").last ?? "")
        let head = "Content-Disposition: form-data; name"
        var form = Data("--\(boundary)\r\n\(head)=\"first\"\r\n\r\nbefore\r\n--\(boundary)\r\n".utf8)
        form += Data("\(head)=\"file\"; filename=\"upload.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n".utf8)
        form += expected
        form += Data("\r\n--\(boundary)\r\n\(head)=\"last\"\r\n\r\nafter\r\n--\(boundary)--\r\n".utf8)
        return request.body == form
    }

    private func expectWhole(_ count: Int, _ kind: Kind, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let requests = server.requests
        #expect(requests.count == count, sourceLocation: sourceLocation)
        #expect(try requests.allSatisfy { try isWhole($0, kind) }, sourceLocation: sourceLocation)
    }

    @Test(arguments: Kind.allCases, [307, 308])
    func redirectedUploadIsSentAgainCompletely(_ kind: Kind, _ status: Int) async throws {
        server.on(.post, "/x", .redirect(to: "/y", status: status))
        server.on(.post, "/y", .text("done"))
        #expect(try await send(kind, .post) == "done")
        try expectWhole(2, kind)
        #expect(server.requests.map(\.path) == ["/x", "/y"])
    }

    @Test(arguments: Kind.allCases)
    func uploadIsSentAgainCompletelyWithANewCredential(_ kind: Kind) async throws {
        agent.config.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        server.on(.post, "/x") { $0.authorization?.token == "new" ? .text("done") : .status(401) }
        #expect(try await send(kind, .post) == "done")
        try expectWhole(2, kind)
    }

    @Test(arguments: Kind.allCases)
    func uploadIsRetriedCompletely(_ kind: Kind) async throws {
        server.enqueue(.status(503), .text("x").faulted(.resetBeforeHead), .text("done"))
        #expect(try await send(kind) == "done")
        try expectWhole(3, kind)
    }

    @Test(arguments: Kind.allCases)
    func uploadIsSentCompletelyIfAKeptConnectionDied(_ kind: Kind) async throws {
        server.on(.put, "/x", .text("done").faulted(.closeAfterResponse))
        for _ in 0..<5 { #expect(try await send(kind) == "done") }
        // Nothing was repeated that the server had received.
        try expectWhole(5, kind)
    }

    @Test func streamThatCanBeReadOnceIsSentOnce() async throws {
        server.on(.put, "/x", .redirect(to: "/y", status: 307))
        let body = RequestBody.stream(isReplayable: false) {
            var rest = ["a", "b"][...]
            return { rest.popFirst().map { Data($0.utf8) } }
        }
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
        }
        #expect(error?.reason == .invalidRedirect("its body can be read only once"))
        #expect(server.requests.map(\.text) == ["ab"])
    }

    // MARK: Bodies that fail

    enum Change: CaseIterable { case longer, shorter, replaced }

    /// A file that changes after its first bytes were read.
    private struct ChangingFile: BodySource {
        let source: FileSource
        let change: @Sendable () -> Void
        var byteCount: Int64? { source.byteCount }
        func makeReader() throws -> any BodyReader { Reader(try source.makeReader(), change) }

        final class Reader: BodyReader {
            private let base: any BodyReader
            private var change: (() -> Void)?
            init(_ base: any BodyReader, _ change: @escaping () -> Void) { (self.base, self.change) = (base, change) }

            func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
                defer { change = nil }
                defer { change?() }
                return try base.read(into: buffer)
            }
        }
    }

    @Test(arguments: Change.allCases, [Kind.file, .form])
    func fileThatChangesWhileItIsSentIsAnError(_ change: Change, _ kind: Kind) async throws {
        server.on(.put, "/x", .text("done"))
        let source = ChangingFile(source: try FileSource(file)) { [file] in
            switch change {
            case .longer: truncate(file.path, off_t(Self.size + 1))
            case .shorter: truncate(file.path, off_t(Self.size - 1))
            case .replaced: try? Data("other".utf8).write(to: file, options: .atomic)
            }
        }
        let body: RequestBody = kind == .form ? .multipart { $0.append(source: source, name: "a") } : .source(source)
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
        }
        #expect(error?.description.contains("the file 'upload.bin' changed before it was sent completely") == true)
        #expect(error?.kind == .unusableFile)
        #expect(error?.attempts == 1)
        #expect(server.requestCount == 0)
    }

    @Test func fileThatIsReplacedBetweenTwoAttemptsIsAnError() async throws {
        server.on(.put, "/x") { [file] _ in
            try? Data("other".utf8).write(to: file, options: .atomic)
            return .status(503)
        }
        let error = await #expect(throws: NetworkError.self) { try await send(.file) }
        #expect(error?.description.contains("the file 'upload.bin' changed before it was sent completely") == true)
        #expect(server.requestCount == 1)
    }

    @Test(arguments: [2_999_999, 3_000_001, 1], [Kind.stream, .form])
    func sourceOfAnotherLengthIsAnErrorAtOnce(_ byteCount: Int64, _ kind: Kind) async throws {
        server.on(.put, "/x", .text("done"))
        let source = ChunkSource(byteCount: byteCount, isReplayable: true) {
            var rest = [Data(count: 2_000_000), Data(count: 1_000_000)][...]
            return { rest.popFirst() }
        }
        let body: RequestBody = kind == .form ? .multipart { $0.append(source: source, name: "a") } : .source(source)
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
        }
        #expect(error?.description.contains("the byteCount of \(byteCount) of the body is wrong") == true)
        #expect(server.requestCount == 0)
    }

    @Test func emptyFileIsSentWithItsContentType() async throws {
        try Data().write(to: file)
        server.on(.post, "/x", .text("done"))
        #expect(try await send(.file, .post) == "done")
        let request = try #require(server.requests.first)
        #expect(request.body.isEmpty)
        #expect(request.headers["Content-Length"] == "0")
        #expect(request.headers["Content-Type"] == "application/octet-stream")
    }

    // MARK: Another parser

    private struct Part: Codable, Equatable {
        var name: String
        var fileName: String?
        var type: String
        var content: Data
    }

    /// Python's parser for mail; `json` has one list of parts for each form.
    private static let parser = """
        import base64, email.parser, json, sys
        def text(value): return value and value.encode("latin-1").decode("utf-8")
        forms = []
        for name in sys.argv[1:]:
            message = email.parser.Parser().parsestr(open(name, "rb").read().decode("latin-1"))
            assert message.is_multipart() and not message.defects, name
            forms.append([{
                "name": text(part.get_param("name", header="content-disposition")), "fileName": text(part.get_filename()),
                "type": part.get_content_type(), "content": base64.b64encode(part.get_payload().encode("latin-1")).decode(),
            } for part in message.get_payload()])
        print(json.dumps(forms))
        """

    @Test(.enabled(if: TLSRig.path(of: "env") != nil && pythonIsThere, "python3 is missing"))
    func formsAreReadByPython() async throws {
        server.on(.post, "/x", .text("done"))
        let seed = UInt64.random(in: 0...UInt64.max)
        print("UploadWireTests: seed \(seed)")
        var random = seed
        func next(_ limit: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % limit
        }
        let names = ["a", "a b", "ä ö", "a;b=c", "日本", "a%b", "--", "x'y"]
        var expected: [[Part]] = []
        for number in 0..<60 {
            var form = MultipartForm()
            var parts: [Part] = []
            for index in 0...next(5) {
                let name = names[next(names.count)]
                let content = Data((0..<[0, 1, 70, 5000][next(4)]).map { _ in [13, 10, 45, 45, 97, 0, 255][next(7)] })
                switch next(3) {
                case 0:
                    form.append("\(index) \(name)", name: name)
                    parts.append(Part(name: name, type: "text/plain", content: Data("\(index) \(name)".utf8)))
                case 1:
                    form.append(content, name: name, fileName: "\(name).json")
                    let type = "application/json"
                    parts.append(Part(name: name, fileName: "\(name).json", type: type, content: content))
                default:
                    let file = folder.url.appending(path: "\(number) \(index) \(name).png")
                    try content.write(to: file)
                    try form.append(file: file, name: name)
                    let fileName = file.lastPathComponent
                    parts.append(Part(name: name, fileName: fileName, type: "image/png", content: content))
                }
            }
            expected.append(parts)
            let request = GeneralRequest("/x").method(.post).body(.multipart(form)).expecting(String.self)
            #expect(try await agent.send(request) == "done")
        }
        let files = try server.requests.enumerated().map { index, request in
            let file = folder.url.appending(path: "received \(index)")
            #expect(request.headers["Content-Length"] == "\(request.body.count)")
            try (Data("Content-Type: \(request.headers["Content-Type"] ?? "")\r\n\r\n".utf8) + request.body).write(
                to: file
            )
            return file.path
        }
        let (status, json) = try await TLSRig.onThread {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["python3", "-c", Self.parser] + files
            process.standardOutput = output
            try process.run()
            let json = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, json)
        }
        #expect(status == 0)
        #expect(try JSONDecoder().decode([[Part]].self, from: json) == expected, "seed \(seed)")
    }
}

private let pythonIsThere = TLSRig.path(of: "python3") != nil
