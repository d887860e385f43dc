import Errand
import Foundation
import Testing

/// Downloads of one connection that end at any moment, also while the transfer is paused.
@Suite(.limit(seconds: 120)) struct InterruptedDownloadTests {
    private let host: DownloadServer

    init() throws { host = try DownloadServer(byteCount: 2 << 20) }

    @Test func whatIsLeftIsTheBeginningOfTheContent() async throws {
        let agent = host.agent()
        for round in 0..<300 {
            let target = host.file("a")
            let task = Task { try await agent.download(GeneralRequest("/big.bin"), to: target) }
            try await Task.sleep(for: .microseconds(500 + round % 100 * 120))
            if round.isMultiple(of: 2) { task.cancel() } else { agent.cancelAll() }
            _ = await task.result
            for name in ["a", "a.part"] {
                guard let left = host.data(name) else { continue }
                // Compared here: a failure would be described with all bytes.
                let isBeginning = left == host.content.prefix(left.count)
                #expect(isBeginning, "\(left.count) bytes in round \(round)")
            }
            for name in ["a", "a.part", "a.part.json"] { try? FileManager.default.removeItem(at: host.file(name)) }
        }
    }
}
