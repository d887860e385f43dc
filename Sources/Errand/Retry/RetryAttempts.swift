internal import Foundation

/// The current attempt of a request, and the failed ones.
struct RetryAttempts {
    /// The request at the URL of the current attempt.
    private(set) var prepared: PreparedRequest
    /// The requests at the next URLs of the CDN.
    private(set) var fallbacks: ArraySlice<BuiltRequest>
    private(set) var number = 1
    private(set) var began: Duration
    private(set) var record: AttemptRecord?
    private(set) var failed: [Metrics.Attempt] = []
    private(set) var waiting = Duration.zero
    private(set) var repetitionCount = 0

    /// The context of the current attempt.
    var context: RequestContext {
        var context = prepared.context
        context.attempt = number
        return context
    }

    init(of prepared: PreparedRequest, at now: Duration) {
        self.prepared = prepared
        fallbacks = prepared.fallbacks[...]
        began = now
        record = Self.firstRecord(of: prepared, number: 1)
    }

    /// Adds the earlier attempts and waits to the response's metrics.
    mutating func complete(_ accepted: inout AcceptedResponse) {
        addRepetition()
        if !failed.isEmpty { accepted.times.attempts.insert(contentsOf: failed, at: 0) }
        if waiting > .zero { accepted.times.authentication += waiting }
    }

    /// Records the refresh of the attempt that has just ended.
    mutating func addRepetition() {
        guard let repetition = record?.repetition else { return }
        repetitionCount += repetition.count
        waiting += repetition.waiting
        if let attempt = repetition.attempt { failed.append(attempt) }
    }

    mutating func addFailure(_ timing: ExchangeTiming?, at now: Duration) {
        let attempt =
            timing.map { Metrics.Attempt($0, of: prepared.built) }
            ?? Metrics.Attempt(total: now - began, origin: prepared.origin.description, url: prepared.outgoing.url)
        failed.append(attempt)
    }

    mutating func begin(_ record: AttemptRecord?, at now: Duration) {
        self.record = record
        (number, began) = (number + 1, now)
    }

    mutating func beginAtNextURL(at now: Duration) {
        guard let next = fallbacks.popFirst() else { return }
        prepared = PreparedRequest(prepared, at: next)
        begin(Self.firstRecord(of: prepared, number: number + 1), at: now)
    }

    /// Returns the record of an attempt that is not a retry, or `nil` if it needs none.
    private static func firstRecord(of prepared: PreparedRequest, number: Int) -> AttemptRecord? {
        let isNeeded = prepared.mayChangeOnItsWay || prepared.accessories.exchangeBodyLimit != nil
        return isNeeded ? AttemptRecord(number: number, isPaid: false) : nil
    }
}
