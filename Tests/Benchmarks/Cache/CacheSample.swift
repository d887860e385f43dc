import Errand
import Foundation

/// Entries of some size under numbered keys, like the responses of an API.
enum CacheSample {
    static func key(_ number: Int) -> CacheKey { CacheKey("https://api.example/items/\(number)") }

    static func url(_ number: Int) -> URL { URL(fileURLWithPath: "/items/\(number)") }

    static func entry(_ number: Int, size: Int) -> CacheEntry {
        var json = "{\"id\":\(number),\"text\":\""
        json += String(repeating: "x", count: max(0, size - json.utf8.count - 2)) + "\"}"
        let headers: HTTPHeaders = [
            "Cache-Control": "max-age=60", "Content-Length": "\(size)", "Content-Type": "application/json",
            "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "ETag": "\"3f80f-1b6-3e1cb03b\"", "Server": "bench/1.0",
        ]
        let response = RawResponse(headers: headers, body: Data(json.utf8), url: url(number))
        return CacheEntry(response, requested: Date())
    }

    /// Writes entries as a `DiskStore` names them, on two threads.
    static func write(_ count: Int, size: Int, to directory: URL) throws {
        let directory = directory.appending(path: "v2")
        for shard in 0..<256 {
            let name = (shard < 16 ? "0" : "") + String(shard, radix: 16)
            let folder = directory.appending(path: name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let failures = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 64) { part in
            for number in stride(from: part, to: count, by: 64) {
                let key = key(number)
                let name = key.description
                let path = directory.path + "/\(name.prefix(2))/\(name)"
                if !POSIXFile.create(entry(number, size: size).data(for: key), path) { failures.withLock { $0 += 1 } }
            }
        }
        guard failures.withLock({ $0 }) == 0 else { throw ChildProcess.Failed(description: "a file was not written") }
    }
}
