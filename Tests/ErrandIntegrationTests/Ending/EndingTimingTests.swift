import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

/// A deadline or a cancellation ends a send wherever it waits, in every attempt, over the real transport, exactly once.
///
/// What the send waits for would take ten seconds; it ends within 250 milliseconds. A minimum interval is no row: a send never
/// waits for it.
@Suite(.timing, .serialized)
struct EndingTimingTests {
    enum Place: String, CaseIterable, Sendable {
        case gate, queue, adapter, interceptor, sendInterceptor, refresh, backOff, redirect, headerSection, body
        case cacheRead, cacheWrite
    }

    enum Way: String, CaseIterable, Sendable {
        case deadline, task, handle, scope, cancelAll
    }

    struct Row: Sendable, CustomStringConvertible {
        let place: Place
        let attempt: Int
        let way: Way
        var description: String { "\(place.rawValue) in attempt \(attempt), ended by \(way.rawValue)" }
    }

    private static let allowance = Duration.milliseconds(250)

    private static func rows(_ places: [Place]) -> [Row] {
        places.flatMap { place in
            (place.isOncePerSend ? [1] : [1, 2]).flatMap { attempt in
                Way.allCases.map { Row(place: place, attempt: attempt, way: $0) }
            }
        }
    }

    @Test func everyWaitEndsInTime() async throws {
        let rows = Self.rows(Place.allCases)
        // Several at once, for each mostly waits.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, row) in rows.enumerated() {
                if index >= 12 { try await group.next() }
                group.addTask { try await Self.check(row) }
            }
            try await group.waitForAll()
        }
    }

    private static func check(_ row: Row) async throws {
        let bench = try EndingBench(row)
        defer { bench.server.stop() }
        let result = try await bench.run()
        #expect(result.late < allowance, "\(row): \(result.late) late")
        #expect(result.completions == 1, "\(row): \(result.completions) completions")
        #expect(result.isExpected, "\(row): \(result.outcome)")
        #expect(bench.log.endings == ["willStart", "willStop", "didStop"], "\(row)")
    }
}

extension EndingTimingTests.Place {
    /// Whether a send passes it once, whatever the number of attempts.
    var isOncePerSend: Bool {
        switch self {
        case .gate, .sendInterceptor, .cacheRead, .cacheWrite: true
        default: false
        }
    }
}
