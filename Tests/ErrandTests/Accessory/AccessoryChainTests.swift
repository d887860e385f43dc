import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct AccessoryChainTests {
    private typealias Recorder = AccessoryPathsTests.Recorder

    @Test func startEventsComeInOrderAndStopEventsInReverse() async throws {
        let events = Record<String>()
        let config = NetworkConfig.test {
            $0.accessories = [Recorder(name: "1 ", events: events), Recorder(name: "2 ", events: events)]
        }
        var service = Service(id: "s")
        service.accessories = [Recorder(name: "3 ", events: events)]
        let request = GeneralRequest("/x").service(service).accessory(Recorder(name: "4 ", events: events))
        _ = try await Rig(config: config).agent.send(request)
        let order = ["1", "2", "3", "4"]
        #expect(
            events.all == order.map { "\($0) willStart" } + order.reversed().map { "\($0) willStop success" }
                + order.reversed().map { "\($0) didStop success" }
        )
    }

    @Test func outcomeHasStatusSourceMetricsAndError() async throws {
        let log = EventLog()
        let config = NetworkConfig.test { $0.accessories = [log] }
        let rig = Rig(config: config, response: .json("{}", status: 201))
        let metrics = try await rig.agent.response(for: GeneralRequest("/x")).metrics
        _ = await failure { try await Rig(config: config, response: .status(404)).agent.send(GeneralRequest("/x")) }
        let outcomes = log.outcomes
        guard case .success(201, .network, metrics) = outcomes[0] else { throw Unexpected(outcomes[0]) }
        guard case .failure(let error as NetworkError) = outcomes[1] else { throw Unexpected(outcomes[1]) }
        #expect(error.reason == .status(404))
        #expect(metrics.attempts.count == 1)
        #expect(metrics.total > .zero)
    }

    /// One that blocks delays the end of its own send.
    @Test(.limit(seconds: 60)) func nothingFollowsTheLastEvent() async throws {
        let (isThere, door) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        let blocking = ClosureAccessory { _, event in
            guard case .didProgress = event else { return }
            isThere.continuation.yield()
            // It occupies a thread of the pool, but not forever.
            _ = door.wait(timeout: .now() + 10)
        }
        let (events, body) = (Record<String>(), PushedBody())
        let rig = Rig(config: .test { $0.accessories = [blocking, Recorder(events: events)] }) { _ in body.response() }
        let task = Task { try await rig.agent.send(GeneralRequest("/x").expecting(Data.self)) }
        for _ in 0..<4 { body.send(Data(count: 128 << 10)) }
        for await _ in isThere.stream { break }
        task.cancel()
        for _ in 0..<8 { door.signal() }
        await #expect(throws: CancellationError.self) { try await task.value }
        body.end()
        for _ in 0..<50 { await Task.yield() }
        #expect(events.all.last?.hasPrefix("didStop") == true, "\(events.all)")
    }

    /// Records whether it is called on the main queue, which the main actor runs on.
    struct Probe: Accessory {
        static let key = DispatchSpecificKey<Bool>()
        static var isOnMain: Bool { DispatchQueue.getSpecific(key: key) ?? false }
        let seen = Record<Bool>()
        func request(_ context: RequestContext, did event: AccessoryEvent) { seen.add(Self.isOnMain) }
    }

    final class Unsendable {}
    struct OnCaller: Request {
        typealias Model = JSONValue
        let unsendable = Unsendable()
        let walked: AccessoryPathsTests.Path
        let probe: Probe
        var path: String { "/x" }
        var accessories: [any Accessory] { [probe] }
        func check() throws {
            MainActor.assertIsolated()
            if walked == .check { throw Boom() }
        }
    }

    @MainActor @Test(arguments: [AccessoryPathsTests.Path.success, .check, .status])
    func itIsNeverCalledOnTheMainActor(path: AccessoryPathsTests.Path) async throws {
        DispatchQueue.main.setSpecific(key: Probe.key, value: true)
        #expect(Probe.isOnMain)
        let probe = Probe()
        let rig = Rig(response: .json("{}", status: path == .status ? 500 : 200))
        _ = await failure { try await rig.agent.send(OnCaller(walked: path, probe: probe)) }
        #expect(probe.seen.all == [false, false, false])
        rig.agent.start(OnCaller(walked: path, probe: probe)) { _ in MainActor.assertIsolated() }
        await wait { probe.seen.all.count >= 6 }
        #expect(probe.seen.all.allSatisfy { !$0 })
    }

    /// It calls back into the agent from each event: under a lock this would never return.
    @Test func itMayCallTheAgent() async throws {
        let holder = Lock<Agent?>(nil)
        let reentrant = ClosureAccessory { context, _ in
            let agent = holder.withLock { $0 }
            agent?.cancelAll { other in
                agent?.cancelAll { _ in false }
                return other.id != context.id
            }
            agent?.config.headers = ["X-From": "accessory"]
        }
        let rig = Rig(config: .test { $0.accessories = [reentrant] })
        holder.withLock { $0 = rig.agent }
        _ = try await rig.agent.send(GeneralRequest("/x"))
        #expect(rig.agent.config.headers["X-From"] == "accessory")
        holder.withLock { $0 = nil }
    }

    @Test func aSendCanBeCancelledFromItsVeryStart() async throws {
        let holder = Lock<Agent?>(nil)
        let accessory = ClosureAccessory { context, event in
            if case .willStart = event { holder.withLock { $0 }?.cancelAll { $0.id == context.id } }
        }
        let rig = Rig(config: .test { $0.accessories = [accessory] })
        holder.withLock { $0 = rig.agent }
        await #expect(throws: CancellationError.self) { try await rig.agent.send(GeneralRequest("/x")) }
        #expect(rig.transport.requests.isEmpty)
        holder.withLock { $0 = nil }
    }

    @Test func progressIsAFraction() {
        #expect(TransferProgress(direction: .upload, completed: 1, total: 4).fractionCompleted == 0.25)
        #expect(TransferProgress(direction: .upload, completed: 9, total: 4).fractionCompleted == 1)
        #expect(TransferProgress(direction: .upload, completed: -1, total: 4).fractionCompleted == 0)
        #expect(TransferProgress(direction: .upload, completed: .max, total: .max).fractionCompleted == 1)
        #expect(TransferProgress(direction: .download, completed: 9).fractionCompleted == 0)
        #expect(TransferProgress(direction: .download, completed: 0, total: 0).fractionCompleted == 1)
    }
}
