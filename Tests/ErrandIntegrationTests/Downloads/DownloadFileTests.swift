import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Files and folders that cannot be used, and servers that try to write elsewhere.
@Suite(.limit(seconds: 60)) struct DownloadFileTests {
    private let host: DownloadServer
    private let get = GeneralRequest("/big.bin")

    init() throws { host = try DownloadServer(byteCount: 100_000) }

    private func reason(of target: URL, _ request: GeneralRequest<JSONValueFormatter>? = nil) async -> String {
        do {
            return "\(try await host.agent().download(request ?? get, to: target))"
        } catch {
            return "\(error)"
        }
    }

    static let hostileNames = [
        "../../escape", "/etc/passwd", "..", ".", "", "\\\\server\\share\\x", "C:\\Windows\\x.exe", "a/../../b",
        ".bashrc",
        "%2e%2e%2fescape", "x\u{202E}gpj.exe", "con", "nul.txt", "a\u{0}b", String(repeating: "n", count: 4_000),
        "....//x", "~/.ssh/id", "x:stream", " . ", "\u{FEFF}.profile", "/\u{200D}..\u{200D}/\u{200D}escape",
    ]

    @Test(arguments: hostileNames)
    func aServerNamesAFileInTheFolderAndNothingElse(_ name: String) async throws {
        let inner = host.file("inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        try Data("before".utf8).write(to: host.file("escape"))
        let escaped = name.unicodeScalars.map { scalar -> String in
            let isPlain = scalar.isASCII && scalar.properties.isAlphabetic
            return isPlain
                ? String(scalar) : String(scalar).utf8.map { "%" + String(Int($0) + 256, radix: 16).suffix(2) }.joined()
        }.joined()
        host.set { $0.headers["Content-Disposition"] = "attachment; filename*=UTF-8''\(escaped)" }
        let file = try await host.agent().download(get, to: inner)
        #expect(host.names == ["escape", "inner"] && host.data("escape") == Data("before".utf8))
        let names = try FileManager.default.contentsOfDirectory(atPath: inner.path)
        #expect(names == [file.url.lastPathComponent])
        #expect(names.allSatisfy { !$0.hasPrefix(".") && $0.utf8.count <= 200 && !$0.contains("\\") })
    }

    @Test func aSymbolicLinkAtTheTargetIsReplacedAndNotFollowed() async throws {
        let outside = FileManager.default.temporaryDirectory.appending(path: "errand-outside-\(UUID())")
        try Data("outside".utf8).write(to: outside)
        defer { try? FileManager.default.removeItem(at: outside) }
        try FileManager.default.createSymbolicLink(at: host.file("a"), withDestinationURL: outside)
        try await host.agent().download(get, to: host.file("a"))
        #expect(try Data(contentsOf: outside) == Data("outside".utf8))
        let type = try FileManager.default.attributesOfItem(atPath: host.file("a").path)[.type] as? FileAttributeType
        #expect(type == .typeRegular && host.data("a") == host.content)
    }

    @Test func aSymbolicLinkInPlaceOfThePartIsRefused() async throws {
        let outside = FileManager.default.temporaryDirectory.appending(path: "errand-outside-\(UUID())")
        try Data("outside".utf8).write(to: outside)
        defer { try? FileManager.default.removeItem(at: outside) }
        try FileManager.default.createSymbolicLink(at: host.file("a.part"), withDestinationURL: outside)
        let reason = await reason(of: host.file("a"))
        #expect(reason.contains("the file cannot be used: 'a.part' in '"), "\(reason)")
        #expect(try Data(contentsOf: outside) == Data("outside".utf8))
    }

    @Test func anotherNameOfAFileInPlaceOfThePartIsRemoved() async throws {
        try Data("mine".utf8).write(to: host.file("mine"))
        try FileManager.default.linkItem(at: host.file("mine"), to: host.file("a.part"))
        try await host.agent().download(get, to: host.file("a"))
        #expect(host.data("mine") == Data("mine".utf8) && host.data("a") == host.content)
        #expect(host.names == ["a", "mine"])
    }

    @Test(arguments: [true, false])
    func aCrashBetweenTheNamesOfAFileIsNoObstacle(hasValidator: Bool) async throws {
        if !hasValidator { host.set { $0.validator = [:] } }
        let options = DownloadOptions(keepsExistingFiles: true)
        // The state after a crash: the file has its final name in the folder, and still the name of the unfinished one.
        host.set { $0.cuts = [.stalled(10_000)] }
        let task = Task { [host, get] in try await host.agent().download(get, to: host.folder, options: options) }
        while !host.names.contains(where: { $0.hasSuffix(".part") }) { try await Task.sleep(for: .milliseconds(5)) }
        let part = try #require(host.names.first { $0.hasSuffix(".part") })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        host.set { $0.cuts = [] }
        try host.content.write(to: host.file("big.bin"))
        try? FileManager.default.removeItem(at: host.file(part))
        try FileManager.default.linkItem(at: host.file("big.bin"), to: host.file(part))
        let file = try await host.agent().download(get, to: host.folder, options: options)
        #expect(file.url.lastPathComponent == "big.bin.1" && file.resumedByteCount == 0)
        #expect(host.names == ["big.bin", "big.bin.1"])
        #expect(host.data("big.bin") == host.content && host.data("big.bin.1") == host.content)
    }

    @Test func anInterruptedPostLeavesNothing() async throws {
        host.set { $0.cuts = [.closed(10_000)] }
        _ = await reason(of: host.file("a"), get.method(.post))
        #expect(host.names.isEmpty)
    }

    @Test func aPlanOfADownloadTouchesNothing() async throws {
        let plan = try await host.agent().plan(for: get.downloading(to: host.file("a")))
        #expect("\(plan)".contains("/big.bin") && host.names.isEmpty && host.ranges.isEmpty)
    }

    @Test func aTargetThatCannotBeUsedFailsBeforeAnythingIsSent() async throws {
        let file = host.file("file")
        try Data("x".utf8).write(to: file)
        let cases = [
            (host.file("missing/a"), "'a.part' in 'missing': there is no such folder; create it first"),
            (
                host.folder.appending(path: "missing", directoryHint: .isDirectory),
                "'missing': there is no such folder; create it first"
            ),
            (file.appending(path: "a"), "'a.part' in 'file': that is a file, and not a folder"),
            (
                host.folder.appending(path: "file", directoryHint: .isDirectory),
                "'file': it is a file, and not a folder"
            ),
            (try #require(URL(string: "https://example.com/a")), "the target is not a file URL"),
        ]
        for (target, wanted) in cases {
            let reason = await reason(of: target)
            #expect(reason.contains(wanted), "\(reason)")
        }
        #expect(host.names == ["file"] && host.ranges.isEmpty)
    }

    @Test func aPipeInPlaceOfThePartIsRefused() async throws {
        mkfifo(host.file("a.part").path, 0o600)
        let reason = await reason(of: host.file("a"))
        #expect(reason.contains("it is not a regular file"), "\(reason)")
    }

    /// The file at a path, and not the target of a link there.
    private func type(of name: String) throws -> FileAttributeType? {
        try FileManager.default.attributesOfItem(atPath: host.file(name).path)[.type] as? FileAttributeType
    }

    @Test func aPipeOrADeviceAtTheTargetIsRefusedBeforeAnythingIsSent() async throws {
        mkfifo(host.file("pipe").path, 0o600)
        try FileManager.default.createSymbolicLink(at: host.file("link"), withDestinationURL: host.file("pipe"))
        symlink("/proc/self/fd/1", host.file("out").path)
        var kinds = ["pipe": "a pipe", "link": "a link to a pipe", "out": "a link to a descriptor"]
        // Only root can create a device.
        if mknod(host.file("null").path, S_IFCHR | 0o600, dev_t(1 << 8 | 3)) == 0 { kinds["null"] = "a device" }
        for (name, kind) in kinds {
            let before = try type(of: name)
            let reason = await reason(of: host.file(name))
            #expect(reason.contains("it is \(kind), and no file may replace it"), "\(reason)")
            #expect(try type(of: name) == before)
        }
        #expect(host.names == kinds.keys.sorted() && host.ranges.isEmpty)
    }

    @Test func aPipeThatAServerNamesIsRefusedBeforeTheContent() async throws {
        mkfifo(host.file("pipe").path, 0o600)
        host.set {
            $0.headers["Content-Disposition"] = "attachment; filename=pipe"
            $0.cuts = [.stalled(90_000)]
        }
        let reason = await reason(of: host.folder)
        #expect(reason.contains("it is a pipe"), "\(reason)")
        #expect(host.names == ["pipe"])
    }

    @Test func aPipeThatAppearsAtTheTargetIsNotReplaced() async throws {
        let host = host
        host.server.on(.get, "/late") { request in
            mkfifo(host.file("a").path, 0o600)
            return host.state.withLock { $0.response(to: request) }
        }
        let reason = await reason(of: host.file("a"), GeneralRequest("/late"))
        #expect(reason.contains("it is a pipe"), "\(reason)")
        #expect(host.names == ["a"])
    }

    @Test func aFolderThatAppearsAtTheTargetIsNotReplaced() async throws {
        let host = host
        host.server.on(.get, "/late") { request in
            try? FileManager.default.createDirectory(at: host.file("a"), withIntermediateDirectories: true)
            return host.state.withLock { $0.response(to: request) }
        }
        let reason = await reason(of: host.file("a"), GeneralRequest("/late"))
        #expect(reason.contains("there is a folder of that name; remove it"), "\(reason)")
        #expect(host.names == ["a"])
    }

    @Test func aFolderInPlaceOfTheNamedFileFailsBeforeTheContent() async throws {
        try FileManager.default.createDirectory(at: host.file("clash"), withIntermediateDirectories: true)
        // The content never ends.
        host.set {
            $0.headers["Content-Disposition"] = "attachment; filename=clash"
            $0.cuts = [.stalled(90_000)]
        }
        let reason = await reason(of: host.folder)
        #expect(
            reason.contains("'clash' in '\(host.folder.lastPathComponent)': there is a folder of that name"),
            "\(reason)"
        )
        #expect(host.names == ["clash"])
    }

    /// The system would end the path there.
    @Test(arguments: ["kept%00x/c.bin", "kept%00x", "kept%00/", "%00/kept"])
    func aTargetWithNULInItsPathIsRefused(path: String) async throws {
        try Data("kept".utf8).write(to: host.file("kept"))
        let url = try #require(URL(string: "file://\(host.folder.path)/\(path)"))
        #expect(await reason(of: url).contains("NUL"))
        #expect(host.names == ["kept"] && host.data("kept") == Data("kept".utf8))
    }

    @Test func aPartOfAnotherProgramIsKeptUntilThereIsContent() async throws {
        let other = Data("of another program".utf8)
        try other.write(to: host.file("a.part"))
        host.server.on(.get, "/missing", .status(404))
        #expect(await reason(of: host.file("a"), GeneralRequest("/missing")).contains("404"))
        #expect(host.data("a.part") == other && host.names == ["a.part"])
        try await host.agent().download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func filesOfTheSameNameAreAllKeptIfWanted() async throws {
        try Data("mine".utf8).write(to: host.file("x.txt"))
        let options = DownloadOptions(keepsExistingFiles: true)
        let requests = (0..<8).map { number in
            host.server.on(.get, "/\(number)/x.txt", .text("\(number)"))
            return GeneralRequest("/\(number)/x.txt").downloading(to: host.folder, options)
        }
        var contents: [String: String] = ["x.txt": "mine"]
        for await one in host.agent().resultStream(of: requests, maximumConcurrent: 8) {
            contents[try one.result.get().url.lastPathComponent] = "\(one.index)"
        }
        #expect(host.names == ["x.txt"] + (1...8).map { "x.txt.\($0)" })
        for (name, content) in contents { #expect(host.data(name) == Data(content.utf8)) }
        // A file that is itself the target is replaced.
        let file = try await host.agent().download(GeneralRequest("/1/x.txt"), to: host.file("x.txt"), options: options)
        #expect(file.url.lastPathComponent == "x.txt" && host.data("x.txt") == Data("1".utf8))
    }

    @Test func aFileIsNumberedIfAFolderHasItsName() async throws {
        try FileManager.default.createDirectory(at: host.file("big.bin"), withIntermediateDirectories: true)
        let options = DownloadOptions(keepsExistingFiles: true)
        let file = try await host.agent().download(get, to: host.folder, options: options)
        #expect(file.url.lastPathComponent == "big.bin.1" && host.data("big.bin.1") == host.content)
        #expect(host.names == ["big.bin", "big.bin.1"])
    }

    @Test func anUnfinishedDownloadContinuesBesideAFileOfItsName() async throws {
        try Data("mine".utf8).write(to: host.file("big.bin"))
        host.set { $0.cuts = [.closed(10_000)] }
        let options = DownloadOptions(keepsExistingFiles: true)
        await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.folder, options: options)
        }
        let file = try await host.agent().download(get, to: host.folder, options: options)
        #expect(file.url.lastPathComponent == "big.bin.1" && file.resumedByteCount > 0)
        #expect(host.names == ["big.bin", "big.bin.1"] && host.data("big.bin.1") == host.content)
        #expect(host.data("big.bin") == Data("mine".utf8))
    }

    /// Waits for the first byte of an unfinished file, which is created before it is locked, and written after that.
    private func waitUntilLocked(_ name: String) async {
        let path = host.file(name).path
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0 }
        while size() == 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func aFolderThatDoesNotExistIsSuggestedAsTheCauseOfADuplicate() async throws {
        host.set { $0.cuts = [.stalled(20_000)] }
        let (agent, target) = (host.agent(), host.file("episodes"))
        let first = Task { try await agent.download(GeneralRequest("/1"), to: target) }
        await waitUntilLocked("episodes.part")
        let second = await reason(of: target, GeneralRequest("/2"))
        #expect(second.hasSuffix("; if 'episodes' is meant to be a folder, create it first"), "\(second)")
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test func anErrorOfTheSizeStatesWhereItComesFrom() async throws {
        for (byteCount, headers, wanted) in [
            (5, [:], "5 bytes were expected, and the server declares 100000"),
            (5, ["Transfer-Encoding": "chunked"], "5 bytes were expected, and the server sends at least "),
            (200_000, ["Transfer-Encoding": "chunked"], "200000 bytes were expected, and 100000 were downloaded"),
        ] as [(Int64, HTTPHeaders, String)] {
            let response = MockResponse.data(host.content)
            let isChunked = !headers.isEmpty
            host.server.on(.get, "/sized", isChunked ? response.chunked(10_000) : response)
            let error = await #expect(throws: NetworkError.self) {
                let options = DownloadOptions(byteCount: byteCount)
                return try await host.agent().download(GeneralRequest("/sized"), to: host.file("a"), options: options)
            }
            #expect(error?.description.contains(wanted) == true, "\(error.debugDescription)")
        }
    }

    @Test func twoDownloadsToOneFileDoNotMix() async throws {
        host.server.on(.get, "/slow", .data(host.content).dripping(2_500, every: .milliseconds(250)))
        let agent = host.agent()
        async let first = agent.download(GeneralRequest("/slow"), to: host.file("a"))
        await waitUntilLocked("a.part")
        let second = await reason(of: host.file("a"))
        #expect(second.contains("another download to 'a' is running"), "\(second)")
        #expect(try await first.byteCount == 100_000)
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func theFileIsFreeAsSoonAsADownloadHasEnded() async throws {
        for round in 0..<50 {
            host.set { $0.cuts = round.isMultiple(of: 2) ? [.closed(10_000)] : [] }
            let reason = await reason(of: host.file("a"))
            #expect(!reason.contains("another download"), "\(reason)")
        }
    }

    @Test func aCancelledDownloadKeepsItsPartAndFreesTheFile() async throws {
        host.set { $0.cuts = [.stalled(20_000)] }
        let (agent, file, get) = (host.agent(), host.file("a"), get)
        let task = Task { try await agent.download(get, to: file) }
        while (host.data("a.part") ?? Data()).count < 20_000, !Task.isCancelled { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // The last write of the state may still be under way, or not have begun.
        while host.names != ["a.part", "a.part.json"], !Task.isCancelled { await Task.yield() }
        let part = host.data("a.part") ?? Data()
        #expect(part.count >= 20_000 && part == host.content.prefix(part.count))
        #expect(await reason(of: host.file("a")).contains("100000 bytes"))
    }

    @Test func anEmptyResponseIsAnEmptyFile() async throws {
        host.server.on(.get, "/empty", .data(Data()))
        let file = try await host.agent().download(GeneralRequest("/empty"), to: host.file("a"))
        #expect(file.byteCount == 0 && host.data("a") == Data() && host.names == ["a"])
    }

    @Test(arguments: [DownloadOptions(sha256: "abc"), DownloadOptions(byteCount: -1)])
    func anOptionThatNoFileCanHaveIsRefused(_ options: DownloadOptions) async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: options)
        }
        #expect(error?.kind == .invalidRequest && host.ranges.isEmpty)
    }

    @Test(.ownThread) func aFullDiskIsAnErrorThatNamesIt() async throws {
        guard FileManager.default.isWritableFile(atPath: "/dev/full") else { return }
        let small = host.file("small")
        try FileManager.default.createDirectory(at: small, withIntermediateDirectories: true)
        guard Mount.small(small.path) else { return }
        defer { Mount.unmount(small.path) }
        host.set { $0.content = DownloadServer.content(3 << 20, 7) }
        let reason = await reason(of: small.appending(path: "a"))
        #expect(reason.contains("'a.part' in 'small': no space is left there; free some"), "\(reason)")
        let left = try FileManager.default.contentsOfDirectory(atPath: small.path).sorted()
        #expect(left.first == "a.part")
    }

    @Test func aMissingPermissionIsAnErrorThatNamesIt() async throws {
        guard geteuid() != 0 else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: host.folder.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: host.folder.path) }
        #expect(await reason(of: host.file("a")).contains("do not allow it"))
    }
}
