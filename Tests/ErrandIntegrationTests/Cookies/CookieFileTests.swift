import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Jars whose cookies outlive the process.
@Suite(.limit(seconds: 60))
struct CookieFileTests {
    private let folder: CacheFolder
    private let clock = CacheClock()
    private var file: URL { folder.url.appending(path: "private/cookies") }

    init() throws { folder = try CacheFolder() }

    private func jar() -> CookieJar { CookieJar(file: file) { [clock] in clock.now } }

    private static let url = URL(string: "https://www.shop.example/x/y") ?? URL(filePath: "/")

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test func cookiesWithADateSurviveTheProcess() throws {
        let first = jar()
        first.set("a=\"ü, 1\"; Max-Age=60; Domain=shop.example; Path=/", from: Self.url)
        first.set("b=2; Max-Age=120; Secure; HttpOnly", from: Self.url)
        first.set("session=3", from: Self.url)
        let kept = first.cookies.filter { $0.expires != nil }
        first.flush()
        #expect(first.lastFailure == nil)
        let second = jar()
        #expect(second.lastFailure == nil && second.cookies == kept && kept.count == 2)
        clock.advance(by: 60)
        #expect(jar().cookies.map(\.name) == ["b"])
        second.removeAll { $0.name == "b" }
        second.flush()
        #expect(jar().cookies.isEmpty)
    }

    @Test func fileIsPrivateAndReplacedAtomically() throws {
        let jar = jar()
        jar.set("a=1; Max-Age=60", from: Self.url)
        jar.flush()
        #expect(try mode() == 0o600)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.deletingLastPathComponent().path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        // One that others can read becomes private with the next change.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        jar.set("b=1; Max-Age=60", from: Self.url)
        jar.flush()
        #expect(try mode() == 0o600 && folder.paths.map(\.lastPathComponent) == ["cookies"])
    }

    @Test(arguments: [
        "", "{", "null", "[]", #"{"version": 2, "name": "x", "cookies": []}"#, #"{"version": 1, "cookies": []}"#,
        #"{"version": 1, "name": "x", "cookies": [{}]}"#, "\u{0}\u{1}\u{2}",
        #"{"version": 1, "name": "x", "cookies": [\#(entry(value: "a\\r\\nX: 1"))]}"#,
        #"{"version": 1, "name": "x", "cookies": [\#(entry(value: "a; b=1"))]}"#,
        #"{"version": 1, "name": "x", "cookies": [\#(entry(expires: "1e999"))]}"#,
        #"{"version": 1, "name": "x", "cookies": [\#(entry(path: "x"))]}"#,
        #"{"version": 1, "name": "x", "cookies": [\#(entry(domain: "com", isHostOnly: false))]}"#,
        #"{"version": 1, "name": "x", "cookies": [\#(entry(domain: ".com", isHostOnly: false))]}"#,
    ])
    func damagedFileIsReportedAndReplaced(text: String) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        let jar = jar()
        let failure = try #require(jar.lastFailure as? CookieJar.DamagedFile)
        #expect(jar.cookies.isEmpty && failure.path == file.path && "\(failure)".contains(file.path))
        #expect((failure as any Error).localizedDescription == failure.description)
        jar.set("a=1; Max-Age=60", from: Self.url)
        jar.flush()
        #expect(self.jar().cookies.map(\.name) == ["a"])
    }

    private static func entry(
        value: String = "1",
        domain: String = "a.example",
        path: String = "/",
        expires: String = "1900000000",
        isHostOnly: Bool = true
    ) -> String {
        #"""
        {"name": "a", "value": "\#(value)", "domain": "\#(domain)", "path": "\#(path)", "expires": \#(expires), \#
        "hostOnly": \#(isHostOnly), "secure": false, "httpOnly": false}
        """#
    }

    @Test(arguments: ["1e308", "1900000000", "1800000060"]) func datesOfAFileAreLimitedAsInResponses(
        date: String
    ) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(#"{"version": 1, "name": "x", "cookies": [\#(Self.entry(expires: date))]}"#.utf8).write(to: file)
        let jar = jar()
        let expires = try #require(jar.cookies.first?.expires)
        let latest = min(1_800_000_000 + 400 * 86_400, try #require(Double(date)))
        #expect(jar.lastFailure == nil && expires == Date(timeIntervalSince1970: latest))
    }

    @Test func fileIsNotRewrittenForADateAMomentLater() throws {
        let jar = jar()
        func inode() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
        }
        jar.set("a=1; Max-Age=600", from: Self.url)
        jar.waitForWrites()
        let first = try inode()
        for _ in 0..<5 {
            clock.advance(by: 10)
            jar.set("a=1; Max-Age=600", from: Self.url)
            jar.waitForWrites()
        }
        #expect(try inode() == first)
        #expect(jar.cookies.first?.expires == clock.now.addingTimeInterval(600))
        #expect(self.jar().cookies.first?.expires == clock.now.addingTimeInterval(550))
        // The date is written before the process ends, or once it is a minute behind.
        jar.flush()
        #expect(self.jar().cookies.first?.expires == clock.now.addingTimeInterval(600))
        let second = try inode()
        clock.advance(by: 10)
        jar.set("a=1; Max-Age=600", from: Self.url)
        jar.waitForWrites()
        #expect(try inode() != second && second != first)
        #expect(self.jar().cookies.first?.expires == clock.now.addingTimeInterval(600))
    }

    @Test func cookieThatGaveWayIsNotBackAfterARestart() throws {
        let first = jar()
        first.set("old=1; Max-Age=600", from: Self.url)
        first.flush()
        for number in 0..<50 { first.set("session\(number)=1", from: Self.url) }
        first.flush()
        #expect(!first.cookies.contains { $0.name == "old" })
        #expect(jar().cookies.isEmpty)
    }

    @Test func everyTruncatedFileIsDamaged() throws {
        let first = jar()
        first.set("a=1; Max-Age=60", from: Self.url)
        first.flush()
        let whole = try Data(contentsOf: file)
        for count in 0..<whole.count {
            try whole.prefix(count).write(to: file)
            let jar = jar()
            #expect(jar.cookies.isEmpty && jar.lastFailure is CookieJar.DamagedFile, "\(count) bytes")
        }
        for place in 0..<whole.count {
            for byte in [0x00, 0x22, 0xFF] as [UInt8] {
                var changed = whole
                changed[place] = byte
                try changed.write(to: file)
                #expect(jar().cookies.count <= 1)
            }
        }
    }

    @Test func folderInPlaceOfTheFileIsReported() throws {
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        let jar = jar()
        #expect(jar.lastFailure is CookieJar.DamagedFile)
        jar.set("a=1; Max-Age=60", from: Self.url)
        jar.flush()
        // It cannot be replaced; the cookie is kept in memory, and no temporary file is left.
        #expect(jar.lastFailure is POSIXError && jar.cookies.count == 1 && folder.paths.isEmpty)
    }

    @Test func pipeOrDeviceInPlaceOfTheFileIsNeitherReadNorReplaced() throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        func type() throws -> FileAttributeType? {
            try FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType
        }
        mkfifo(file.path, 0o600)
        for kind in ["a pipe", "a device"] {
            let before = try type()
            let jar = jar()
            let failure = try #require(jar.lastFailure as? NetworkError)
            #expect(failure.kind == .unusableFile && "\(failure)".contains("it is \(kind)"), "\(failure)")
            jar.set("a=1; Max-Age=60", from: Self.url)
            jar.flush()
            #expect(try type() == before && jar.cookies.count == 1)
            // Only root can create a device.
            try FileManager.default.removeItem(at: file)
            guard mknod(file.path, S_IFCHR | 0o600, dev_t(1 << 8 | 3)) == 0 else { return }
        }
    }

    @Test func whatCouldNotBeWrittenIsWrittenByTheNextFlush() throws {
        let (place, away) = (folder.url.appending(path: "private"), folder.url.appending(path: "away"))
        let jar = jar()
        jar.set("session=ada; Max-Age=60", from: Self.url)
        jar.flush()
        // A file takes the place of the folder, as a full disk would.
        try FileManager.default.moveItem(at: place, to: away)
        try Data().write(to: place)
        jar.removeAll()
        jar.flush()
        #expect(jar.lastFailure != nil)
        // It fails again, once.
        jar.flush()
        try FileManager.default.removeItem(at: place)
        try FileManager.default.moveItem(at: away, to: place)
        #expect(self.jar().cookies.map(\.name) == ["session"])
        jar.flush()
        #expect(self.jar().cookies.isEmpty)
    }

    @Test func changesAtOnceAreAllWritten() async throws {
        let jar = jar()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { jar.set("a\(number)=1; Max-Age=60", from: Self.url) } }
        }
        jar.flush()
        #expect(Set(self.jar().cookies.map(\.name)) == Set((0..<50).map { "a\($0)" }))
        #expect(folder.paths.count == 1)
    }

    @Test func storedResponsesOfAJarSurviveWithIt() async throws {
        let server = try MockServer { _ in .json("1", headers: ["Set-Cookie": "sid=1; Path=/; Max-Age=60"]) }
        defer { server.stop() }
        let cache = ResponseCache(disk: nil)
        func get() async throws -> Bool {
            let jar = jar()
            let agent = server.agent(cache, .cacheElseNetwork(maxAge: .seconds(600))) { $0.interceptors = [jar] }
            let response = try await agent.response(for: GeneralRequest("/").expecting(Int.self))
            jar.flush()
            return response.source.isFromCache
        }
        // The first response is stored for a jar without cookies, the second one for the cookie.
        #expect(try await [get(), get(), get()] == [false, false, true])
    }
}
