internal import Foundation

/// The stage around an attempt, inside the retries, that refreshes a rejected credential and repeats the attempt once.
///
/// A second unauthorized response is returned to the caller.
struct UnauthorizedRetry: Sendable {
    let timeline: Timeline

    /// Runs an attempt of stages 6 to 8, and once more with a new credential if the response was unauthorized.
    ///
    /// Adapters run again for the repetition, so that signatures and nonces are fresh. An attempt that cannot be repeated,
    /// because its body can be read once or an earlier request took effect, fails with its unauthorized response; the
    /// credential is refreshed nevertheless, so that the caller can send it again.
    func run(
        _ prepared: PreparedRequest,
        attempt number: Int,
        _ record: AttemptRecord?,
        _ attempt: () async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        guard let credential = prepared.pinnedCredential else { return try await attempt() }
        return try await run(prepared, with: credential, attempt: number, record, attempt)
    }

    @inline(never)
    private func run(
        _ prepared: PreparedRequest,
        with credential: PinnedCredential,
        attempt number: Int,
        _ record: AttemptRecord?,
        _ attempt: () async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        let authenticated = AuthenticatedAttempt(
            credential: credential,
            prepared: prepared,
            attempt: number,
            timeline: timeline
        )
        record?.noteWaiting(try await authenticated.waitBeforeSending())
        do {
            return try await attempt()
        } catch let unauthorized as UnauthorizedError {
            let reason = RefreshReason.rejected(unauthorized.version, by: unauthorized.response)
            record?.noteWaiting(try await authenticated.wait(for: reason, after: unauthorized))
            guard record?.isRepeatable ?? true else {
                throw unauthorized.error.with(
                    retryObstacle:
                        "the credential was refreshed, but the body can be read only once, or it had an effect"
                )
            }
            record?.noteRepetition(of: unauthorized.response.timing.map { Metrics.Attempt($0, of: prepared.built) })
            await authenticated.notify(.willRetry(after: .zero, because: unauthorized.error))
        }
        do {
            return try await attempt()
        } catch {
            throw (error as? UnauthorizedError)?.error ?? error
        }
    }
}

/// The error of an attempt that failed because its credential was rejected.
///
/// Never leaves ``UnauthorizedRetry``.
private struct UnauthorizedError: Error {
    let version: Int
    let error: any Error
    let response: RawResponse
}

extension PreparedRequest {
    /// Returns the error to throw for a failed response, marked if the response rejects the session's credential.
    ///
    /// It cannot reject a credential that a redirect removed.
    func markingUnauthorized(_ error: any Error, of response: RawResponse) -> any Error {
        guard let credential = self.pinnedCredential, let version = response.notes.value.credentialVersion,
            !response.redirects.contains(where: \.leavesOrigin),
            // An interceptor may have moved the request to a host that did not receive the credential.
            credential.session.appliesTo(response.redirects.first?.from ?? response.url),
            credential.session.isUnauthorized(error, of: response)
        else { return error }
        return UnauthorizedError(version: version, error: error, response: response)
    }
}

/// One attempt with a session's credential.
private struct AuthenticatedAttempt {
    let credential: PinnedCredential
    let prepared: PreparedRequest
    let attempt: Int
    let timeline: Timeline
    private var session: any CredentialHolder { credential.session }

    /// Waits for a refresh if one is in progress or the credential expires soon.
    func waitBeforeSending() async throws -> Duration {
        guard session.appliesTo(prepared.outgoing.url), let reason = session.refreshReasonBeforeSending() else {
            return .zero
        }
        return try await wait(for: reason, after: nil)
    }

    /// Waits until there is a better credential, or none can be obtained; returns the time spent waiting.
    func wait(for reason: RefreshReason, after failure: UnauthorizedError?) async throws -> Duration {
        if session.wouldWait(for: reason) {
            await notify(.willRefreshCredential(because: failure?.error))
        }
        let began = timeline.now()
        do {
            try await session.wait(for: reason, by: credential.client)
        } catch var error as NetworkError {
            guard let failure else { throw error }
            // Without a refresh, the cause is the rejection itself.
            if case .excessiveRefresh = error.reason { error.details.value.underlying = failure.error }
            throw error.with(response: failure.response)
        }
        return timeline.now() - began
    }

    func notify(_ event: AccessoryEvent) async {
        guard !prepared.accessories.isEmpty else { return }
        var context = prepared.context
        context.attempt = attempt
        await prepared.accessories.notify(event, of: context)
    }
}
