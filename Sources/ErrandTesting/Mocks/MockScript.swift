import Errand
import Foundation

/// The routes of a ``MockService``, and what was sent to it.
///
/// Only the library creates one.
public final class MockScript: Sendable {
    private struct State {
        /// Distinguishes the notes from those of other services, and from those before a reset.
        let id = UUID().uuidString
        var routes: [MockRoute] = []
        /// The types of requests that have a typed mock: others are not kept, nor what they refer to.
        var types: Set<ObjectIdentifier> = []
        var sent: [SentRequest] = []
        /// The number of requests that were dropped from the log.
        var dropped = 0
        /// The first requests that nobody expects.
        var unexpected: [String] = []
        var faults: FaultSchedule?
        /// What has failed when the service was stopped.
        var failure: String?
    }

    /// The field by which a server finds the value of a request.
    static let field = "Errand-Mock-Request"
    private static let maximumLogCount = 10_000

    private let state = Lock(State())
    private let report: @Sendable (String) -> Void

    /// - Parameter report: A closure that is called for each request that nobody expects.
    init(report: @escaping @Sendable (String) -> Void = { _ in }) { self.report = report }

    var isEmpty: Bool { state.withLock { $0.routes.isEmpty && $0.faults == nil } }

    /// Adds a route, which replaces those with the same key.
    func add(_ route: MockRoute) {
        state.withLock { state in
            if let key = route.key { state.routes.removeAll { $0.key == key } }
            state.routes.append(route)
            if case .type(let type) = route.key { state.types.insert(type) }
        }
    }

    /// Sets the faults that responses have.
    func set(_ faults: FaultSchedule?) { state.withLock { $0.faults = faults } }

    /// Removes everything.
    func reset() { state.withLock { $0 = State() } }

    /// Removes the routes, whose closures may keep the service alive, but not what has failed.
    func finish() {
        let failure = failure
        state.withLock { ($0.routes, $0.unexpected, $0.failure) = ([], [], failure) }
    }

    /// Returns the responder of the route that was added last, of those that match; counts the request.
    ///
    /// The response to HEAD has the header section of the response to GET (RFC 9110, section 9.3.2).
    func responder(for request: inout MockRequest) -> Responder? {
        let routes = state.withLock { $0.routes }
        guard !routes.isEmpty else { return nil }
        for method in request.method == .head ? [.head, .get] : [request.method] {
            // The closures of the user run without a lock.
            for route in routes.reversed() {
                guard let values = route.matches(request, method) else { continue }
                request.parameters = values
                return route.next()
            }
        }
        return nil
    }

    /// Notes a request without a route or a handler.
    ///
    /// - Returns: The sentence for the response or the error.
    func noteUnexpected(_ request: MockRequest) -> String {
        let name = request.sent.map { " (\($0.typeName))" } ?? ""
        let routes = state.withLock { state in
            if state.unexpected.count < 100 {
                state.unexpected.append("\(request.method) \(request.target)\(name)")
            }
            return state.routes.map(\.description)
        }
        let sentence =
            "no route is for \(request.method) \(request.path)\(name)"
            + (routes.isEmpty ? ": no routes were added" : "; there are \(routes.sorted().joined(separator: ", "))")
        report(sentence)
        return sentence
    }

    /// Returns the fault that is due, or `nil` for none.
    func nextFault() -> MockFault? { state.withLock { $0.faults?.next() } }

    /// Returns a response with the fault that is due.
    func withFault(_ response: MockResponse) -> MockResponse {
        guard response.fault == nil, let fault = nextFault() else { return response }
        return response.faulted(fault)
    }

    /// Logs a request by its value, if there is a typed mock for its type.
    ///
    /// - Returns: A text by which it is found again, or `nil` if it is not logged.
    func note(_ request: SentRequest) -> String? {
        let types = state.withLock { $0.types }
        guard types.contains(where: request.contains) else { return nil }
        return state.withLock { state in
            state.sent.append(request)
            if state.sent.count >= 2 * Self.maximumLogCount {
                state.sent.removeFirst(Self.maximumLogCount)
                state.dropped += Self.maximumLogCount
            }
            return "\(state.id)/\(state.dropped + state.sent.count - 1)"
        }
    }

    /// Returns the value of a request that a server has received, or `nil` if it is not known.
    func noted(for request: MockRequest) -> SentRequest? {
        guard state.withLock({ !$0.sent.isEmpty }) else { return nil }
        // One for each service that notes the request, which a client may join.
        let notes = request.headers.values(for: Self.field).flatMap { $0.split { $0 == "," || $0 == " " } }
        return state.withLock { state in
            guard let note = notes.first(where: { $0.hasPrefix(state.id) }),
                let number = Int(note.dropFirst(state.id.count + 1))
            else { return nil }
            let index = number.subtractingReportingOverflow(state.dropped).partialValue
            return state.sent.indices.contains(index) ? state.sent[index] : nil
        }
    }

    var sent: [SentRequest] { state.withLock { $0.sent } }

    /// What ``MockService/verify()`` reports, or `nil` if everything was as expected.
    var failure: String? {
        let (routes, unexpected, faults, failure) = state.withLock { ($0.routes, $0.unexpected, $0.faults, $0.failure) }
        if let failure { return failure }
        let missed = routes.compactMap(\.failure)
        guard !missed.isEmpty || !unexpected.isEmpty else { return nil }
        let lines = missed.map { "  - \($0)" } + unexpected.map { "  + \($0): no route is for it" }
        let seed = faults.map { "\n  \($0)" } ?? ""
        return "the requests were not as expected:\n\(lines.joined(separator: "\n"))\(seed)"
    }
}

/// Faults that responses have at random, the same for the same seed.
struct FaultSchedule: Sendable, CustomStringConvertible {
    let seed: UInt64
    let rate: Double
    let faults: [MockFault]
    private var random: SplitMix64

    init(seed: UInt64, rate: Double, faults: [MockFault]) {
        (self.seed, self.rate, self.faults, random) = (seed, rate, faults, SplitMix64(state: seed))
    }

    var description: String { "with faults(seed: \(seed), rate: \(rate))" }

    /// Returns the fault of the next response, or `nil` for none.
    mutating func next() -> MockFault? {
        // Two numbers for each, so that a changed rate does not change the faults.
        let (chance, choice) = (random.next(), random.next())
        guard !faults.isEmpty, Double(chance >> 11) * 0x1p-53 < rate else { return nil }
        return faults[Int(choice % UInt64(faults.count))]
    }
}

/// A generator of numbers that are the same for the same start.
struct SplitMix64: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
