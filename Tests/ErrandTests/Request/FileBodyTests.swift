import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Bodies of files and streams.
@Suite struct FileBodyTests {
    private let directory: TemporaryDirectory
    private let file: URL

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.url.appending(path: "report.csv")
        try Data(count: 200_000).write(to: file)
    }

    private func request(_ body: RequestBody, _ method: HTTPMethod = .post) -> GeneralRequest<VoidFormatter> {
        GeneralRequest("/x").method(method).body(body).expecting(Void.self)
    }

    private func read(_ body: OutgoingBody, afterFirst change: () throws -> Void = {}) throws -> Int {
        let reader = try body.makeReader()
        var sum = 0
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
            if sum == 0 { try change() }
            sum += count
            if count == 0 { return sum }
        }
    }

    @Test(arguments: [
        ("a.JPG", "image/jpeg"), ("a.csv", "text/csv"), ("a.tar.gz", "application/gzip"),
        ("a.unknown", "application/octet-stream"), ("zip", "application/octet-stream"),
    ])
    func contentTypeFollowsTheExtension(_ name: String, _ type: String) async throws {
        let file = directory.url.appending(path: name)
        try Data("x".utf8).write(to: file)
        let rig = Rig()
        let sent = try await rig.wire(request(.file(file)))
        #expect(sent.headers["Content-Type"] == type)
        #expect(sent.body.byteCount == 1)
        #expect(try sent.bodyText() == "x")
        #expect(try await rig.wire(request(.file(file, contentType: "a/b"))).headers["Content-Type"] == "a/b")
        #expect(try await rig.wire(request(.file(file)).header("Content-Type", "c/d")).headers["Content-Type"] == "c/d")
    }

    @Test func emptyFileIsAnEmptyBodyWithItsContentType() async throws {
        try Data().write(to: file)
        let post = try await Rig().wire(request(.file(file)))
        #expect(post.body.byteCount == 0)
        #expect(post.headers["Content-Type"] == "text/csv")
        let get = try await Rig().wire(request(.file(file), .get))
        #expect(get.body.byteCount == 0)
        #expect(!get.headers.contains("Content-Type"))
    }

    #if os(Linux)
    @Test func fileWithAWrongSizeIsAnError() throws {
        let error = #expect(throws: NetworkError.self) { try FileSource(URL(filePath: "/proc/self/status")) }
        #expect(error?.reason == .fileUnusable("'status': its size differs from its content's"))
    }
    #endif

    @Test(arguments: ["missing", "directory", "loop", "pipe", "below", "long", "web"])
    func fileThatCannotBeReadIsAnErrorBeforeAnythingIsSent(_ kind: String) async throws {
        var url = directory.url.appending(path: kind)
        var reason = "it does not exist"
        switch kind {
        case "directory":
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            reason = "it is a directory"
        case "loop":
            try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: url.path)
            reason = "it is a symbolic link to itself"
        case "pipe":
            mkfifo(url.path, 0o600)
            reason = "it is not a regular file"
        case "below": url = file.appending(path: kind)
        case "long":
            url = directory.url.appending(path: String(repeating: "x", count: 300))
            reason = "its path is too long"
        case "web":
            url = try #require(URL(string: "https://user:secret@api.example/web"))
            reason = "its URL is not a file URL"
        default: break
        }
        let rig = Rig()
        let error = await #expect(throws: NetworkError.self) { try await rig.agent.send(request(.file(url))) }
        #expect(error?.reason == .fileUnusable("'\(url.lastPathComponent)': \(reason)"))
        #expect(error?.description.contains(directory.url.lastPathComponent) == false)
        #expect(error?.description.contains("secret") == false)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test(.enabled(if: geteuid() != 0, "root may read every file"))
    func fileWithoutPermissionIsAnError() async throws {
        chmod(file.path, 0)
        await expect(
            throwing: .fileUnusable("'report.csv': its permissions do not allow to read it")
        ) { try await Rig().agent.send(request(.file(file))) }
    }

    enum Change: CaseIterable { case longer, shorter, rewritten, replaced, empty }

    private func apply(_ change: Change) throws {
        switch change {
        case .longer:
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("x".utf8))
        case .shorter: truncate(file.path, 199_999)
        case .empty: truncate(file.path, 0)
        case .rewritten:
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: Data("x".utf8))
        case .replaced: try Data(count: 200_000).write(to: file, options: .atomic)
        }
    }

    @Test(arguments: Change.allCases, [false, true])
    func fileThatChangesIsNeverReadCompletely(_ change: Change, _ isOpen: Bool) throws {
        // The clock of the file system is some milliseconds coarse.
        var past = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        #expect(utimes(file.path, &past) == 0)
        let body = OutgoingBody.source(try FileSource(file))
        #expect(try read(body) == 200_000)
        #expect(try read(body) == 200_000)
        expect(
            throwing: .bodyUnreadable(
                "the file 'report.csv' changed before it was sent completely; send the request again"
            )
        ) {
            if isOpen {
                _ = try read(body) { try apply(change) }
            } else {
                try apply(change)
                _ = try read(body)
            }
        }
    }

    @Test func fileThatIsDeletedWhileItIsReadIsReadCompletely() throws {
        let body = OutgoingBody.source(try FileSource(file))
        #expect(try read(body) { try FileManager.default.removeItem(at: file) } == 200_000)
        expect(throwing: .fileUnusable("'report.csv': it does not exist")) { _ = try read(body) }
    }

    // MARK: Streams

    private func stream(_ lengths: [Int], byteCount: Int64?, isReplayable: Bool = true) -> RequestBody {
        .stream(byteCount: byteCount, contentType: "text/csv", isReplayable: isReplayable) {
            var rest = lengths[...]
            return { rest.popFirst().map { Data(count: $0) } }
        }
    }

    @Test func streamIsReadFromItsStartEachTime() async throws {
        for byteCount in [Int64?.none, 100_006] {
            let sent = try await Rig().wire(request(stream([1, 0, 100_000, 5], byteCount: byteCount)))
            #expect(sent.headers["Content-Type"] == "text/csv")
            #expect(sent.body.byteCount == byteCount)
            #expect(sent.body.isReplayable)
            for _ in 0..<2 { #expect(try read(sent.body) == 100_006) }
        }
        #expect(try await !Rig().wire(request(stream([], byteCount: nil, isReplayable: false))).body.isReplayable)
    }

    @Test(arguments: [[9], [11], [3, 3], [10, 1], [], [5, 5, 5]])
    func sourceOfAnotherLengthIsNeverReadCompletely(_ lengths: [Int]) async throws {
        let sent = try await Rig().wire(request(stream(lengths, byteCount: 10)))
        var sum = 0
        let error = #expect(throws: NetworkError.self) { sum = try read(sent.body) }
        #expect(error?.description.hasPrefix("the byteCount of 10 of the body is wrong") == true)
        #expect(sum == 0)
    }

    @Test(arguments: [-1, Int64.min])
    func negativeLengthIsAnErrorBeforeAnythingIsSent(_ byteCount: Int64) async {
        let rig = Rig()
        await expect(kind: .invalidRequest) { try await rig.agent.send(request(stream([1], byteCount: byteCount))) }
        #expect(rig.transport.requests.isEmpty)
    }

    private struct Overflowing: BodySource, Sendable {
        final class Reader: BodyReader {
            let count: Int
            init(_ count: Int) { self.count = count }
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { count }
        }
        let count: Int
        var byteCount: Int64?
        func makeReader() -> any BodyReader { Reader(count) }
    }

    @Test(arguments: [65_537, .max, -1, .min], [Int64?.none, .max])
    func readerThatClaimsMoreThanItsBufferIsAnError(_ count: Int, _ byteCount: Int64?) {
        expect(throwing: .bodyUnreadable("a reader of the request's body returned an impossible count")) {
            _ = try read(.source(Overflowing(count: count, byteCount: byteCount)))
        }
    }
}
