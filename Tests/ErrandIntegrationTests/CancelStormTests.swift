import Errand
import ErrandTesting
import Foundation
import Testing

/// 100 requests in flight, each cancelled at a random moment, round after round.
///
/// 20 rounds by default; `ERRAND_STORM_ROUNDS=200` runs as many as are promised.
@Suite(.serialized, .limit(seconds: 600))
struct CancelStormTests {
    private static let connectionsPerHost = 8

    private struct Tally {
        var values = 0
        var cancellations = 0
        var others: [String] = []
    }

    @Test
    func everyCancelledCallEndsOnceWithItsValueOrCancellationError() async throws {
        let rounds = ProcessInfo.processInfo.environment["ERRAND_STORM_ROUNDS"].flatMap(Int.init) ?? 20
        let seed = UInt64.random(in: 0 ... .max)
        print("cancel storm: seed \(seed), \(rounds) rounds")
        var generator = SplitMix(state: seed)
        let server = try MockServer()
        defer { server.stop() }
        server.keepsLog = false
        server.on(.get, "/fast", .json(#"{"id": 1}"#))
        server.on(.get, "/late", .json(#"{"id": 2}"#).delayed(by: .milliseconds(3)))
        server.on(.get, "/large", .data(Data(repeating: 0x20, count: 100_000)))
        server.on(.post, "/upload", .status(204))
        let agent = Agent(
            config: NetworkConfig(baseURL: server.baseURL),
            transport: URLSessionTransport(maximumConnectionsPerHost: Self.connectionsPerHost)
        )
        _ = try await agent.send(GeneralRequest("/fast"))
        let filesBefore = try temporaryFiles()
        let descriptorsBefore = descriptors()
        var tally = Tally()
        for _ in 0..<rounds { await storm(agent, &generator, &tally) }
        #expect(tally.values + tally.cancellations == rounds * 100)
        #expect(tally.others.isEmpty, "\(tally.others.prefix(3))")
        print("cancel storm: \(tally.values) values, \(tally.cancellations) cancelled")
        // Sockets of cancelled tasks close a few milliseconds after the call ended; both ends are in this process.
        let allowed = descriptorsBefore + 2 * Self.connectionsPerHost
        let giveUp = ContinuousClock.now + .seconds(60)
        while descriptors() > allowed, ContinuousClock.now < giveUp { try await Task.sleep(for: .milliseconds(5)) }
        #expect(descriptors() <= allowed)
        #expect(try temporaryFiles().subtracting(filesBefore).isEmpty)
        #expect(try await agent.send(GeneralRequest("/fast").expecting(Int.self, at: "id")) == 1)
    }

    private func storm(_ agent: Agent, _ generator: inout SplitMix, _ tally: inout Tally) async {
        let requests = (0..<100).map { index -> GeneralRequest<DataFormatter> in
            switch index % 4 {
            case 0: GeneralRequest("/fast", formatter: DataFormatter())
            case 1: GeneralRequest("/late", formatter: DataFormatter())
            case 2: GeneralRequest("/large", formatter: DataFormatter())
            default: GeneralRequest("/upload", formatter: DataFormatter()).method(.post).parameters(["a": index])
            }
        }
        let pauses = requests.map { _ in UInt32.random(in: 0..<60_000, using: &generator) }
        await withTaskGroup(of: Result<Data, any Error>.self) { group in
            for (request, pause) in zip(requests, pauses) {
                group.addTask {
                    let send = Task { try await agent.send(request) }
                    // The random moment is the point of this test; no policy is proved by the pause.
                    try? await Task.sleep(for: .microseconds(Int(pause)))
                    send.cancel()
                    return await send.result
                }
            }
            for await result in group {
                switch result {
                case .success: tally.values += 1
                case .failure(is CancellationError): tally.cancellations += 1
                case .failure(let error): tally.others.append("\(error)")
                }
            }
        }
    }

    private func descriptors() -> Int {
        // Only Linux lists them there; elsewhere the check has nothing to compare.
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    private func temporaryFiles() throws -> Set<String> {
        let folder = FileManager.default.temporaryDirectory
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        // What a slow reader's body is kept in; folders of other tests have longer names.
        return Set(names.filter { $0.hasPrefix("errand-") && $0.count == "errand-XXXXXX".count })
    }
}

/// A small generator whose numbers follow from its seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
