import ErrandTesting
import Foundation

@testable import Errand

/// A temporary folder, which is removed with it.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "errand-cache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// The path of the file of a key.
    func path(of key: CacheKey) -> URL {
        let name = key.description
        return url.appending(path: "v2/\(name.prefix(2))/\(name)")
    }

    deinit { try? FileManager.default.removeItem(at: url) }  // what is left over is only a temporary folder

    /// The paths of all files below, from here.
    var files: [String] {
        let paths = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: url.appending(path: path).path, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    /// The number and size of these files, temporary ones included.
    var totals: (count: Int, size: Int) {
        files.reduce(into: (count: 0, size: 0)) { totals, path in
            var facts = stat()
            guard lstat(url.appending(path: path).path, &facts) == 0 else { return }
            totals.count += 1
            totals.size += Int(facts.st_size)
        }
    }
}

/// A wall clock that tests move.
final class WallClock: Sendable {
    private let time = Lock(Date(timeIntervalSince1970: 1_800_000_000))
    var now: Date { time.withLock { $0 } }
    func advance(by seconds: Double) { time.withLock { $0 = $0.addingTimeInterval(seconds) } }
}

extension CacheEntry {
    /// An entry whose body identifies it.
    static func sample(_ text: String, headers: HTTPHeaders = ["Content-Type": "application/json"]) -> CacheEntry {
        let url = URL(string: "https://api.example/x") ?? URL(filePath: "/")
        let response = RawResponse(statusCode: 200, headers: headers, body: Data(text.utf8), url: url)
        return CacheEntry(response, requested: Date(timeIntervalSince1970: 1_800_000_000))
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A rig with a cache.
struct CachedRig: Sendable {
    let clock = WallClock()
    let cache: ResponseCache
    let rig: Rig

    var agent: Agent { rig.agent }
    var transport: StubTransport { rig.transport }
    var count: Int { rig.transport.requestCount }

    init(
        _ policy: CachePolicy = .cacheElseNetwork(maxAge: .seconds(60)),
        disk: (any CacheStore)? = nil,
        memory: MemoryStore? = MemoryStore(),
        appVersion: String = "",
        patience: Int = ResponseCache.standardPatience,
        config change: (inout NetworkConfig) -> Void = { _ in },
        responding handler: @escaping StubTransport.Handler
    ) {
        let clock = clock
        cache = ResponseCache(memory: memory, disk: disk, appVersion: appVersion, patience: patience) { clock.now }
        var config = NetworkConfig.test
        config.cache = cache
        config.cachePolicy = policy
        change(&config)
        rig = Rig(config: config, responding: handler)
    }
}

/// Numbers the responses, and fails while it is offline.
final class ResponseCounter: Sendable {
    private let state = Lock((count: 0, failure: NetworkError?.none))
    var failure: NetworkError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }
    func next() throws -> Int {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            state.count += 1
            return state.count
        }
    }
}
