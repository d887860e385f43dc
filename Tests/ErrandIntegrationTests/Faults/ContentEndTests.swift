#if os(Linux)
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Where a content ends: what follows encoded data, and lengths that are none.
@Suite(.limit(seconds: 60))
struct ContentEndTests {
    /// "hello world" in one stored block, as gzip and as zlib data.
    private static let gzip = Data([
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 11, 0, 0xF4, 0xFF, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x20, 0x77, 0x6F,
        0x72, 0x6C, 0x64, 0x85, 0x11, 0x4A, 0x0D, 11, 0, 0, 0,
    ])
    private static let zlib = Data([
        0x78, 1, 1, 11, 0, 0xF4, 0xFF, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x20, 0x77, 0x6F, 0x72, 0x6C, 0x64, 0x1A, 0x0B, 4,
        0x5D,
    ])
    private static let emptyMember = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 0, 0, 0xFF, 0xFF]) + Data(count: 8)

    /// The data, what follows it, and whether it is decoded.
    private static let contents: [(coding: String, end: Data, isDecoded: Bool)] = [
        ("gzip", Data(count: 1), true), ("gzip", Data(count: 10), true), ("gzip", Data(count: 300), true),
        ("x-gzip", Data(count: 300), true), ("deflate", Data(count: 1), true), ("deflate", Data(count: 300), true),
        ("gzip", emptyMember, true), ("gzip", emptyMember + Data(count: 9), true),
        ("gzip", Data(count: 9) + emptyMember, true),
        ("gzip", Data("x".utf8), false), ("gzip", Data(count: 9) + Data("x".utf8), false),
        ("deflate", Data("x".utf8), false), ("deflate", zlib, false), ("gzip", Data(count: 2 << 20), false),
    ]

    private enum Way: CaseIterable { case whole, ownChunk, download }

    @Test(arguments: contents.indices)
    func paddingAndEmptyMembersAfterTheDataAreNoContent(_ index: Int) async throws {
        let (coding, end, isDecoded) = Self.contents[index]
        let data = coding == "deflate" ? Self.zlib : Self.gzip
        let server = try MockServer()
        defer { server.stop() }
        let folder = try CacheFolder()
        let body = MockResponse.data(data + end, headers: ["Content-Encoding": coding])
        let agent = server.agent()
        for way in Way.allCases {
            server.on(.get, "/x", way == .ownChunk ? body.chunked(data.count) : body)
            let get = GeneralRequest("/x").expecting(String.self)
            let result = await Task {
                guard way == .download else { return try await agent.send(get) }
                let file = try await agent.download(get, to: folder.url.appending(path: "file"))
                return try String(contentsOf: file.url, encoding: .utf8)
            }.result
            if TransportUnderTest.isCurl && isDecoded {
                #expect(try result.get() == "hello world", "\(way)")
            } else if case .failure(let error as NetworkError) = result {
                // Over URLSession, libcurl decodes, and rejects what follows; some of it only in a chunk of its own.
                #expect(error.reason == .invalidContentCoding && error.description.contains("'\(coding)'"), "\(way)")
            } else {
                #expect(!TransportUnderTest.isCurl && (try? result.get()) == "hello world", "\(way)")
            }
        }
    }

    /// RFC 9110, section 8.6: a length has digits only.
    @Test(arguments: ["+5", "5, 5", "5, 6"])
    func aLengthThatIsNoneIsAnErrorOverLibcurl(length: String) async throws {
        let server = try RawServer {
            RawServer.Reply("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nhelloX")
        }
        defer { server.stop() }
        let agent = Agent(config: NetworkConfig(retryPolicy: .never))
        let request = GeneralRequest(server.url.absoluteString).expecting(String.self)
        let result = await Task { try await agent.send(request) }.result
        if length == "5, 5" || !TransportUnderTest.isCurl {
            #expect(try result.get() == "hello")
        } else {
            let error = #expect(throws: NetworkError.self) { try result.get() }
            #expect(error?.reason == .invalidContentLength)
        }
    }
}
#endif
