import Errand
import Foundation

/// Entries of some size under numbered keys, as an API would answer.
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
}
