internal import Foundation

/// The permits of one attempt: the one that it waits for at its beginning, with which its first request is sent, and one for each
/// further request, such as after a redirect, that it waits for without holding another.
final class ThrottlePermit: StoppableExchange {
    /// The permit that the current task is part of.
    @TaskLocal static var current: ThrottlePermit?

    private struct State {
        /// The host of each permit that is held.
        var held: [Origin] = []
        /// Whether a request was sent with the first permit.
        var isUsed = false
        /// Whether its send has to end.
        var isStopped = false
        /// Whether its attempt has ended; tasks that were started in the attempt and outlive it still see the permit.
        var isFinished = false
    }

    private let permits: ThrottlePermits
    private let outer: ThrottlePermit?
    private let prepared: PreparedRequest
    private let attempt: Int
    private let waits: Bool
    /// The user whose quotas it waits for, or `nil` if it waits for none.
    private let user: String?
    private let state = Lock(State())

    init(permits: ThrottlePermits, of prepared: PreparedRequest, attempt: Int, waits: Bool) {
        (self.permits, self.prepared, self.attempt, self.waits) = (permits, prepared, attempt, waits)
        user = prepared.settings.throttle.value.waitsForReset ? prepared.userDigest : nil
        outer = Self.current?.unfinished
    }

    /// Whether it is one of an agent's permits, or inside one, whose attempt is still in progress.
    func belongs(to permits: ThrottlePermits) -> Bool {
        if self.permits === permits, !state.withLock({ $0.isFinished }) { return true }
        return outer?.belongs(to: permits) == true
    }

    /// This permit, or the next one around it whose attempt is in progress, so that chains do not grow with time.
    private var unfinished: ThrottlePermit? { state.withLock { $0.isFinished } ? outer?.unfinished : self }

    /// Waits for a permit.
    func take(at host: Origin) async throws {
        let throttle = prepared.settings.throttle.value
        var waited = Duration.zero
        if waits {
            if let user { waited = try await permits.waitForReset(of: ThrottlePermits.Quota(host: host, user: user)) }
            waited += try await permits.take(host, prepared.priority, throttle)
        } else {
            permits.takeAtOnce(host, throttle)
        }
        let isStopped = state.withLock { state in
            state.held.append(host)
            return state.isStopped
        }
        if isStopped { release(host) }
        guard waited > .zero else { return }
        prepared.queued?.withLock { $0 += waited }
        guard !prepared.accessories.isEmpty else { return }
        var context = prepared.context
        context.attempt = attempt
        await prepared.accessories.notify(.didWait(waited), of: context)
    }

    /// Ends the attempt; a request that is still being sent keeps its permit.
    func finish() {
        let unused = state.withLock { state in
            state.isFinished = true
            return state.isUsed ? nil : state.held.first
        }
        if let unused { release(unused) }
    }

    /// Releases the permits because the send has to end.
    ///
    /// Requests of code that still runs do not wait, because others may wait for them.
    func stop() {
        let held = state.withLock { state in
            state.isStopped = true
            return state.held
        }
        for host in held { release(host) }
    }

    /// Releases a permit unless that has been done.
    private func release(_ host: Origin) {
        let isHeld = state.withLock { state in
            guard let place = state.held.firstIndex(of: host) else { return false }
            state.held.remove(at: place)
            return true
        }
        if isHeld { permits.release(host) }
    }

    /// Returns the permit of the attempt that the current task is part of, or `nil` if nothing is throttled.
    static func current(of prepared: PreparedRequest) -> ThrottlePermit? {
        prepared.settings.throttle.value.isLimited ? current : nil
    }

    /// Sends a request of the attempt: the first with the permit of the attempt, each further one, and one to another host, with
    /// one that it waits for.
    @inline(never)
    func sending(
        _ request: OutgoingRequest,
        _ exchange: () async throws -> RawResponse
    ) async throws -> RawResponse {
        let host = request.url.origin
        let first = state.withLock { state -> Origin? in
            defer { state.isUsed = true }
            return state.isUsed || state.isFinished ? nil : state.held.first
        }
        if first != host {
            if let first { release(first) }
            try await take(at: host)
        }
        defer { release(host) }
        let response = try await exchange()
        // Before the permit is free for the next request.
        apply(response)
        return response
    }

    /// Applies the delay that a response requests to its host, or the reset of a used quota to its user.
    private func apply(_ response: RawResponse) {
        let (host, status) = (response.url.origin, response.statusCode)
        if let user, 200..<300 ~= status, let pause = RetryAfter.timeToReset(response.headers, now: permits.date) {
            permits.pause(ThrottlePermits.Quota(host: host, user: user), for: pause)
        }
        guard status == 503 || RetryAfter.isLimit(response), !isUnauthorized(response) else { return }
        let pause = RetryAfter.pause(statusCode: status, headers: response.headers, now: permits.date)
        if let pause, pause > .zero { permits.pause(host, for: pause) }
    }

    /// Whether the session of the send counts a 403 as unauthorized, so that the request is repeated with another credential.
    private func isUnauthorized(_ response: RawResponse) -> Bool {
        guard response.statusCode == 403, let session = prepared.pinnedCredential?.session else { return false }
        return session.isUnauthorized(NetworkError(.status(403), response: response), of: response)
    }
}
