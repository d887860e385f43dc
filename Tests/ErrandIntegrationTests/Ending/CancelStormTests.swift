import ErrandTesting
import Foundation
import Testing

@testable import Errand

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
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: Self.connectionsPerHost)
        let agent = server.agent(transport: transport) { $0.retryPolicy = .inherited }
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
        var left = descriptors()
        while left > allowed, ContinuousClock.now < giveUp {
            try await Task.sleep(for: .milliseconds(5))
            left = descriptors()
        }
        // Not read again: other tests open files at the same time.
        #expect(left <= allowed)
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
        // The files for a slow reader's body; folders of other tests have longer names.
        return Set(names.filter { $0.hasPrefix("errand-") && $0.count == "errand-XXXXXX".count })
    }
}

/// Redirected sends, uploads of all kinds, duplicates and batches, each ended by its deadline or its caller at a random
/// moment.
///
/// URLSession ends the process if the completion of a redirect is called after the task was cancelled.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct RedirectStormTests {
    /// So many that the session's queue is behind, and a task is cancelled while its redirect waits there.
    private static let connectionsPerHost = 100

    private struct Tally {
        var values = 0
        var cancellations = 0
        var deadlines = 0
        var others: [String] = []
    }

    /// Replaces the body of each request that names its length by one that is read from a source.
    private struct SourceBodies: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
            guard let kind = request.headers["X-Source"] else { return }
            request.body = .source(PatternSource(count: 40_000, statesCount: kind == "counted"))
        }
    }

    @Test
    func redirectedAndUploadingSendsEndOnceWhenCancelledOrOverdue() async throws {
        let rounds = ProcessInfo.processInfo.environment["ERRAND_STORM_ROUNDS"].flatMap(Int.init) ?? 20
        let seed = UInt64.random(in: 0 ... .max)
        print("redirect storm: seed \(seed), \(rounds) rounds")
        var generator = SplitMix(state: seed)
        let server = try MockServer()
        defer { server.stop() }
        Self.respond(on: server)
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: Self.connectionsPerHost)
        let agent = server.agent(transport: transport) { $0.adapters = [SourceBodies()] }
        var tally = Tally()
        for _ in 0..<rounds { await storm(agent, &generator, &tally) }
        print("redirect storm: \(tally.values) values, \(tally.cancellations) cancelled, \(tally.deadlines) overdue")
        #expect(tally.values + tally.cancellations + tally.deadlines == rounds * 100)
        #expect(tally.others.isEmpty, "\(tally.others.prefix(3))")
        #expect(tally.values > 0)
        #expect(tally.cancellations > 0)
        #expect(tally.deadlines > 0)
        // Each task ends, also where the completion of its redirect was never called.
        if let transport = transport as? URLSessionTransport {
            let giveUp = ContinuousClock.now + .seconds(10)
            while transport.openExchangeCount > 0, ContinuousClock.now < giveUp { await Task.yield() }
            #expect(transport.openExchangeCount == 0)
        }
        let last = GeneralRequest("/moved/302", formatter: DataFormatter())
        #expect(try await agent.send(last).count == 20_000)
    }

    private static func respond(on server: MockServer) {
        server.keepsLog = false
        let body = String(repeating: "m", count: 3000)
        for status in [301, 302, 303, 307, 308] {
            for method in [HTTPMethod.get, .post, .put] {
                server.on(method, "/moved/\(status)", .redirect(to: "/end", status: status, body: body))
                let late = MockResponse.redirect(to: "/moved/\(status)", status: status).delayed(by: .milliseconds(2))
                server.on(method, "/late/\(status)", late)
            }
        }
        server.on(.get, "/end", .data(Data(repeating: 0x20, count: 20_000)))
        server.on(.post, "/end", .data(Data(repeating: 0x20, count: 100)))
        server.on(.put, "/end", .data(Data(repeating: 0x20, count: 100)))
    }

    private static func request(_ index: Int) -> GeneralRequest<DataFormatter> {
        let status = [301, 302, 303, 307, 308][index % 5]
        let path = index % 2 == 0 ? "/moved/\(status)" : "/late/\(status)"
        let request = GeneralRequest(path, formatter: DataFormatter())
        return switch index % 10 {
        case 0: request.method(.post).body(.data(Data(repeating: 1, count: 30_000)))
        case 1: request.method(.post).body(.json(["a": index]))
        case 2: request.method(.post).parameters(["a": index])
        case 3: request.method(.put).header("X-Source", "counted")
        case 4: request.method(.put).header("X-Source", "chunked")
        case 5: request.duplicatePolicy(.share)
        case 6: request.duplicatePolicy(.cancelPrevious)
        case 7: request.redirectPolicy(.refuse).acceptance(Acceptance(statusCodes: 200..<400))
        default: request
        }
    }

    private func storm(_ agent: Agent, _ generator: inout SplitMix, _ tally: inout Tally) async {
        let pauses = (0..<100).map { _ in Int.random(in: 0..<60_000, using: &generator) }
        await withTaskGroup(of: Result<Void, any Error>.self) { group in
            for (index, pause) in pauses.enumerated() {
                group.addTask {
                    let isLeftAlone = index % 25 == 24
                    let isOverdue = index % 3 == 0 && !isLeftAlone
                    let limits = isOverdue ? Limits(deadline: .microseconds(pause + 1)) : Limits()
                    let request = Self.request(index).limits(limits)
                    let send = Task {
                        if index % 11 == 0 {
                            _ = try await agent.send(BatchRequest(request, Self.request(index + 1).limits(limits)))
                        } else {
                            _ = try await agent.send(request)
                        }
                    }
                    if !isOverdue, !isLeftAlone {
                        // The random moment is the point of this test; no policy is proved by the pause.
                        try? await Task.sleep(for: .microseconds(pause))
                        send.cancel()
                    }
                    return await send.result
                }
            }
            for await result in group {
                switch result {
                case .success: tally.values += 1
                case .failure(is CancellationError): tally.cancellations += 1
                // A request of a batch, by a newer one with `.cancelPrevious`.
                case .failure(let error as NetworkError) where error.reason == .superseded: tally.cancellations += 1
                case .failure(let error as NetworkError) where error.kind == .timedOut: tally.deadlines += 1
                case .failure(let error): tally.others.append("\(error)")
                }
            }
        }
    }
}
