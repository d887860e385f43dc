import Errand
import ErrandTesting
import Foundation

/// Yields the number in its path; `/wait` never ends by itself, `/status` is rejected.
struct GetNumber: Request, Sendable {
    typealias Model = Int
    var number = 1
    var kind = "ok"
    var own = Limits()
    var tag = ""
    var path: String { "/\(kind)/\(number)" }
    var limits: Limits { own }
    var formatter: ClosureFormatter<Int> { ClosureFormatter { try $0.decode(Int.self) } }

    static func waiting(_ number: Int = 1) -> GetNumber { GetNumber(number: number, kind: "wait") }
    static func failing(_ number: Int = 1) -> GetNumber { GetNumber(number: number, kind: "status") }
}

/// The same number as text.
struct GetText: Request, Sendable {
    typealias Model = String
    var number = 1
    var path: String { "/ok/\(number)" }
}

/// Throws an error of its own before anything is sent.
struct Refusing: Request, Sendable {
    typealias Model = Int
    var path: String { "/ok/1" }
    func check() throws { throw Boom() }
}

extension Rig {
    static func numbers(
        config: NetworkConfig = .test,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> Rig {
        Rig(config: config, clock: clock) { request in
            let parts = request.url.path().split(separator: "/")
            switch parts.first {
            case "wait":
                try await Task.sleep(for: .seconds(3600))
                return .status(500)
            case "status": return .status(503)
            default: return .json(String(parts.last ?? "null"))
            }
        }
    }
}

/// Records the events of batches and chains.
struct CompositionRecorder: CompositionAccessory {
    let events = Record<String>()
    let contexts = Record<CompositionContext>()

    func composition(_ context: CompositionContext, did event: CompositionEvent) {
        contexts.add(context)
        switch event {
        case .willStart: events.add("willStart")
        case .didFinish(let child): events.add("didFinish \(child.index) \(child.typeName)")
        case .willStop(let outcome): events.add("willStop \(outcome.word)")
        case .didStop(let outcome): events.add("didStop \(outcome.word)")
        }
    }
}

extension CompositionOutcome {
    var word: String {
        switch self {
        case .success: "success"
        case .failure: "failure"
        case .cancelled: "cancelled"
        }
    }
}
