import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// `ERRAND_DOWNLOAD_CUTS` rounds, by default 32; a quarter of them by each kind of fault.
private let rounds = ProcessInfo.processInfo.environment["ERRAND_DOWNLOAD_CUTS"].flatMap(Int.init) ?? 32

/// More than they take: a stalled attempt lasts for its timeout, and one round in four has up to three.
private let limit = Duration.seconds(300 + 3 * max(0, rounds - 32))

/// Guarantee G14: a download that is cut at any place, by anything, ends with the right bytes.
@Suite(.serialized, OwnWorkTrait(limit: limit)) struct DownloadCutTests {
    private let host: DownloadServer
    private let byteCount = 300_000

    init() throws { host = try DownloadServer(byteCount: 300_000, seed: 77) }

    @Test func cutsByTheNetworkAreContinuedWhereTheyWere() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("download cuts: seed \(seed)")
        var random = SplitMix(state: seed)
        let agent = host.agent { $0.limits.timeout = .seconds(30) }
        // Only stalled ones wait for it.
        let impatient = host.agent { $0.limits.timeout = .seconds(3) }
        for round in 0..<rounds * 3 / 4 {
            let kind = round % 3
            // Up to three cuts, so that what was continued is continued again.
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let before = partSize
                let place = Int.random(in: 1..<byteCount - before, using: &random)
                let cut = [DownloadServer.Cut.closed(place), .reset(place), .stalled(place)][kind]
                host.set { $0.cuts = [cut] }
                await #expect(throws: NetworkError.self) {
                    let agent = kind == 2 ? impatient : agent
                    return try await agent.download(GeneralRequest("/big.bin"), to: host.file("a"))
                }
                // Only a reset may lose what had arrived and was not read yet.
                if kind != 1 { #expect(partSize == before + place, "round \(round)") }
                #expect(partSize <= before + place && partSize >= before)
                try checkRequest(from: before)
                if partSize >= byteCount - 1 { break }
            }
            let before = partSize
            let file = try await agent.download(GeneralRequest("/big.bin"), to: host.file("a"))
            try checkRequest(from: before)
            #expect(file.resumedByteCount == Int64(before))
            #expect(host.data("a") == host.content, "round \(round)")
            #expect(host.names == ["a"])
        }
    }

    @Test(.ownThread) func aProcessThatIsKilledIsContinuedByAnother() async throws {
        let program = try #require(OtherProcess.program("Fetch"), "`swift build` builds it")
        let seed = UInt64.random(in: .min ... .max)
        print("download kills: seed \(seed)")
        var random = SplitMix(state: seed)
        let url = host.server.baseURL.appending(path: "big.bin").absoluteString
        let arguments = ["-q", "--retries", "0", "-o", host.file("a").path, url]
        var (sent, kept) = (0, 0)
        for round in 0..<rounds / 4 {
            host.set { $0.isSlow = true }
            let wanted = Int.random(in: 1..<byteCount * 9 / 10, using: &random)
            let (process, _) = try OtherProcess.start(program, arguments)
            while partSize < wanted, process.isRunning { try await Task.sleep(for: .milliseconds(1)) }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let left = partSize
            host.set { $0.isSlow = false }
            let (next, _) = try OtherProcess.start(program, arguments)
            next.waitUntilExit()
            #expect(next.terminationStatus == 0)
            // Nothing that was in the file was requested again.
            try checkRequest(from: left)
            #expect(host.data("a") == host.content, "round \(round)")
            #expect(host.names == ["a"])
            (sent, kept) = (sent + wanted, kept + left)
        }
        print("\(rounds / 4) kills, \(kept) bytes kept of \(sent)")
    }

    private var partSize: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: host.file("a.part").path)
        return attributes?[.size] as? Int ?? 0
    }

    private func checkRequest(from offset: Int) throws {
        #expect(try #require(host.ranges.last) == (offset == 0 ? nil : "bytes=\(offset)-"))
    }
}
