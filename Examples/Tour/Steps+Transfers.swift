import Errand
import ErrandTesting
import Foundation
import Synchronization

extension Steps {
    static let transfers = [
        Step("A download that is cut twice continues where it was, and ends with the right digest", needsServer: true) {
            tour in
            let content = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let cuts = Mutex([150_000, 120_000])
            tour.server.on(.get, "/film.mp4") { request in
                let first = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
                let fields: HTTPHeaders =
                    first == 0 ? ["ETag": "\"1\""] : ["ETag": "\"1\"", "Content-Range": "bytes \(first)-399999/400000"]
                let response = MockResponse.data(content[first...], status: first == 0 ? 200 : 206, headers: fields)
                guard let cut = cuts.withLock({ $0.popLast() }) else { return response }
                return response.faulted(.closeInBody(after: cut))
            }
            let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tour-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let request = GeneralRequest("/film.mp4").retryPolicy(.never)
            var cutShort: [String] = []
            while true {
                do {
                    let file = try await tour.agent.download(request, to: folder)
                    let isRight = try Data(contentsOf: file.url) == content
                    try hold(isRight && file.resumedByteCount == 270_000, "\(file)")
                    return "cut after \(cutShort.joined(separator: " and ")) bytes; \(file)"
                } catch let error as NetworkError where error.kind == .connectionLost && cutShort.count < 3 {
                    let part = try FileManager.default.contentsOfDirectory(
                        at: folder,
                        includingPropertiesForKeys: [.fileSizeKey]
                    )
                    .first { $0.pathExtension == "part" }
                    cutShort.append("\(try part?.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)")
                }
            }
        }
    ]
}
