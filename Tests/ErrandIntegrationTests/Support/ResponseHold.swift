import Foundation

@testable import Errand

/// Holds responses of a server back until so many sends of an agent wait for fetches.
///
/// Sends share a fetch if they come before its response: with a delay that would only be likely.
final class ResponseHold: Sendable {
    private let awaited = Lock<(agent: Agent, count: Int)?>(nil)

    /// Holds each response back from now on, until so many sends wait for the first time.
    func holdUntilWaiting(_ count: Int, at agent: Agent) { awaited.withLock { $0 = (agent, count) } }

    /// Blocks the thread of a connection for as long, but at most for a minute.
    func pass() {
        let giveUp = ContinuousClock.now + .seconds(60)
        while isHeld, ContinuousClock.now < giveUp { Thread.sleep(forTimeInterval: 0.001) }
    }

    private var isHeld: Bool {
        awaited.withLock { awaited in
            guard let (agent, count) = awaited else { return false }
            guard agent.pipeline.admission.fetches.waiterCount >= count else { return true }
            awaited = nil
            return false
        }
    }
}
