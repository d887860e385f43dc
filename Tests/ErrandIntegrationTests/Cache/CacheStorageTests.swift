import Errand
import ErrandTesting
import Foundation
import Testing

/// Which cache a request or a service uses.
@Suite struct CacheStorageTests {
    private static let policy = CachePolicy.cacheElseNetwork(maxAge: .seconds(60))

    private static func request(_ path: String = "/x") -> GeneralRequest<DefaultFormatter<String>> {
        GeneralRequest(path).cachePolicy(policy).expecting(String.self)
    }

    private static func entryCount(in folder: CacheFolder) -> Int {
        folder.paths.count - folder.temporaryCount
    }

    @Test func memoryOnlyResponsesAreNeverWritten() async throws {
        let server = try MockServer { _ in .text("secret", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]) }
        defer { server.stop() }
        let folder = try CacheFolder()
        let cache = ResponseCache(directory: folder.url)
        let agent = server.agent { $0.cache = cache }
        let request = Self.request().cacheStorage(.memoryOnly)
        #expect(try await agent.response(for: request).source.isFromCache == false)
        #expect(try await agent.response(for: request).source.isFromCache)
        #expect(server.requestCount == 1)
        // A response that the server validates is stored again.
        _ = try await agent.response(for: request.cachePolicy(.http))
        let service = Service(id: "s", cacheStorage: .memoryOnly)
        _ = try await agent.response(for: Self.request("/y").service(service))
        await cache.flush()
        #expect(Self.entryCount(in: folder) == 0)
        _ = try await agent.response(
            for: Self.request("/y").service(service).cacheStorage(.standard).cachePolicy(.reload)
        )
        await cache.flush()
        #expect(Self.entryCount(in: folder) == 1)
    }

    @Test func aNamedCacheIsSeparateFromTheConfigs() async throws {
        let server = try MockServer { _ in .text("image") }
        defer { server.stop() }
        let (standard, images) = (ResponseCache(disk: nil), ResponseCache(disk: nil))
        let agent = server.agent {
            $0.cache = standard
            $0.namedCaches = ["images": images]
        }
        let service = Service(id: "images", cacheStorage: .named("images"))
        let image = Self.request().service(service)
        _ = try await agent.send(image)
        #expect(await [images.count, standard.count] == [1, 0])
        #expect(try await agent.response(for: image).source.isFromCache)
        #expect(try await agent.response(for: Self.request()).source.isFromCache == false)
        #expect(try await agent.plan(for: image)["cacheStorage"]?.value == "the cache 'images'")
        try agent.removeStored(for: image)
        #expect(await [images.count, standard.count] == [0, 1])
        try agent.store(RawResponse(statusCode: 200, body: Data("own".utf8), url: server.baseURL), for: image)
        #expect(try await agent.send(image) == "own")
    }

    @Test func anUnsafeRequestInvalidatesTheURLInAllCaches() async throws {
        let server = try MockServer { _ in .text("1") }
        defer { server.stop() }
        let agent = server.agent {
            $0.cache = ResponseCache(disk: nil)
            $0.namedCaches = ["a": ResponseCache(disk: nil), "b": ResponseCache(disk: nil)]
        }
        let requests = [
            Self.request(), Self.request().cacheStorage(.named("a")), Self.request().cacheStorage(.named("b")),
        ]
        for request in requests { _ = try await agent.send(request) }
        _ = try await agent.send(GeneralRequest("/x").method(.put).expecting(Void.self))
        for request in requests { #expect(try await agent.response(for: request).source.isFromCache == false) }
        #expect(server.requestCount == 7)
    }
}
