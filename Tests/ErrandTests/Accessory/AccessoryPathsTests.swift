import Errand
import ErrandTesting
import Foundation
import Testing

/// Every path of a send delivers exactly one willStart, willStop and didStop, in this order.
@Suite struct AccessoryPathsTests {
    struct Recorder: Accessory {
        var name = ""
        let events: Record<String>
        func request(_ context: RequestContext, did event: AccessoryEvent) { events.add(name + event.word) }
    }

    /// A path through the pipeline, and how it ends.
    enum Path: String, CaseIterable, Sendable {
        case success, check, unformableURL, badHeader, urlFilter, adapter, transport, ownTransportError, status
        case contentType, tooLarge, badJSON, envelope, service, userFilter, formatter, model, didProduce
        case cancelledBefore, cancelledWhile, cancelledByAgent, cancelledInFilter

        var outcome: String {
            switch self {
            case .success: "success"
            case .cancelledBefore, .cancelledWhile, .cancelledByAgent, .cancelledInFilter: "cancelled"
            default: "failure"
            }
        }
    }

    struct Walker: Request, Sendable {
        typealias Model = String
        let walked: Path
        var path: String { walked == .unformableURL ? "http://h:x/" : "/x" }
        var headers: HTTPHeaders { walked == .badHeader ? ["X Y": "1"] : [:] }
        var acceptance: Acceptance { Acceptance(contentTypes: walked == .contentType ? ["image/png"] : []) }
        var limits: Limits { Limits(maximumBodySize: walked == .tooLarge ? 1 : nil) }
        var formatter: ClosureFormatter<String> {
            ClosureFormatter { [walked] payload in
                switch walked {
                case .formatter: throw Boom()
                case .model: try payload.decode(String.self, at: "missing")
                default: try payload.decode(String.self, at: "s")
                }
            }
        }
        func check() throws { if walked == .check { throw Boom() } }
        func didProduce(_ model: String, from response: RawResponse) throws {
            if walked == .didProduce { throw Boom() }
        }
    }

    private struct Failing: URLFilter {
        func filter(_ url: URL, for context: RequestContext) throws -> URL { throw Boom() }
    }

    static func rig(_ path: Path, _ events: Record<String>) -> Rig {
        let config = NetworkConfig.test {
            $0.accessories = [Recorder(events: events)]
            $0.filter = EnvelopeFilter(code: "code", data: "data")
            switch path {
            case .urlFilter: $0.urlFilters = [Failing()]
            case .adapter: $0.adapters = [ClosureAdapter { _, _ in throw Boom() }]
            case .userFilter: $0.filter = ClosureFilter { _, _ in throw Boom() }
            case .cancelledInFilter: $0.filter = ClosureFilter { _, _ in throw CancellationError() }
            default: break
            }
        }
        return Rig(config: config) { _ in
            switch path {
            case .transport: throw NetworkError(.connectionRefused)
            case .ownTransportError: throw Boom()
            case .status: return .html("<h1>502</h1>", status: 502)
            case .badJSON: return .json("{")
            case .envelope: return .json("{}")
            case .service: return .json(#"{"code":7}"#)
            case .cancelledWhile, .cancelledByAgent:
                try await Task.sleep(for: .seconds(3600))
                return .status(500)
            default: return .json(#"{"code":0,"data":{"s":"model"}}"#)
            }
        }
    }

    @Test(arguments: Path.allCases)
    func theEventsAreBalanced(path: Path) async throws {
        let events = Record<String>()
        let rig = Self.rig(path, events)
        let task = Task {
            if path == .cancelledBefore { withUnsafeCurrentTask { $0?.cancel() } }
            return try await rig.agent.send(Walker(walked: path))
        }
        if path == .cancelledWhile || path == .cancelledByAgent {
            await rig.transport.waitForRequests()
            if path == .cancelledWhile { task.cancel() } else { rig.agent.cancelAll() }
        }
        let result = await task.result
        #expect(events.all == ["willStart", "willStop \(path.outcome)", "didStop \(path.outcome)"])
        switch (path.outcome, result) {
        case ("success", .success(let model)): #expect(model == "model")
        case ("cancelled", .failure(let error)): #expect(error is CancellationError)
        case ("failure", .failure(let error)): #expect(!(error is CancellationError))
        default: throw Unexpected("\(path) ended with \(result)")
        }
        let mustNotSend: [Path] = [.check, .unformableURL, .badHeader, .urlFilter, .adapter, .cancelledBefore]
        #expect(rig.transport.requestCount == (mustNotSend.contains(path) ? 0 : 1))
    }

    @Test(arguments: Path.allCases.filter { $0 != .cancelledBefore })
    func callbacksComeBetweenWillStopAndDidStop(path: Path) async throws {
        let events = Record<String>()
        let rig = Self.rig(path, events)
        let handle = rig.agent.start(Walker(walked: path), on: .global()) { result in
            events.add((try? result.get()) == nil ? "completion with error" : "completion")
        }
        if path == .cancelledWhile || path == .cancelledByAgent {
            await rig.transport.waitForRequests()
            if path == .cancelledWhile { handle.cancel() } else { rig.agent.cancelAll() }
        }
        await wait { handle.isFinished }
        let completion = path == .success ? "completion" : "completion with error"
        #expect(events.all == ["willStart", "willStop \(path.outcome)", completion, "didStop \(path.outcome)"])
    }
}

extension AccessoryEvent {
    /// The event in a word or two.
    var word: String {
        switch self {
        case .willStart: "willStart"
        case .didProgress: "didProgress"
        case .willRetry: "willRetry"
        case .didExhaustRetryBudget: "didExhaustRetryBudget"
        case .willRefreshCredential: "willRefreshCredential"
        case .didRedirect: "didRedirect"
        case .didDiagnose: "didDiagnose"
        case .didWait: "didWait"
        case .didRevalidate(let outcome): "didRevalidate \(outcome.word)"
        case .willStop(let outcome): "willStop \(outcome.word)"
        case .didStop(let outcome): "didStop \(outcome.word)"
        }
    }
}

extension SendOutcome {
    var word: String {
        switch self {
        case .success: "success"
        case .failure: "failure"
        case .cancelled: "cancelled"
        }
    }
}
