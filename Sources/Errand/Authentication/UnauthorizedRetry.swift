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
    /// credential is refreshed all the same, so that the caller can send it again.
    func run(
        _ prepared: PreparedRequest,
        attempt number: Int,
        _ record: AttemptRecord?,
        _ attempt: () async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        guard let login = prepared.login else { return try await attempt() }
        let turn = Turn(login: login, prepared: prepared, attempt: number, timeline: timeline)
        var waiting = try await turn.waitBeforeSending()
        let refused: RawResponse
        do {
            return try await attempt().adding(nil, waiting: waiting)
        } catch let refusal as CredentialRefusal {
            refused = refusal.response
            let need = RefreshReason.refused(refusal.version)
            waiting += try await turn.wait(for: need, because: refusal.error, in: refusal.response)
            guard record?.isRepeatable ?? true else { throw refusal.error }
            await turn.tell(.willRetry(after: .zero, because: refusal.error))
        }
        do {
            return try await attempt().adding(refused.timing.map(Metrics.Attempt.init), waiting: waiting)
        } catch {
            throw ((error as? CredentialRefusal)?.error ?? error).repeated()
        }
    }
}

/// The error of an attempt that failed because its credential was rejected.
///
/// Never leaves ``UnauthorizedRetry``.
private struct CredentialRefusal: Error {
    let version: Int
    let error: any Error
    let response: RawResponse
}

extension PreparedRequest {
    /// Returns the error to throw for a failed response, marked if the response rejects the session's credential.
    ///
    /// It cannot reject a credential that a redirect removed.
    func refusal(_ error: any Error, of response: RawResponse) -> any Error {
        guard let login, let version = response.credentialVersion,
            !response.redirects.contains(where: \.leavesOrigin), login.session.isRefusal(error, of: response)
        else { return error }
        return CredentialRefusal(version: version, error: error, response: response)
    }
}

extension AcceptedResponse {
    fileprivate func adding(_ attempt: Metrics.Attempt?, waiting: Duration) -> AcceptedResponse {
        var copy = self
        if let attempt { copy.metrics.attempts.insert(attempt, at: 0) }
        copy.metrics.authentication += waiting
        return copy
    }
}

extension Error {
    /// This error, marked if it is the library's as that of an attempt that was made twice.
    fileprivate func repeated() -> any Error {
        guard var error = self as? NetworkError else { return self }
        error.repetitionCount += 1
        return error
    }
}

/// One attempt with a session's credential.
private struct Turn {
    let login: PinnedCredential
    let accessories: AccessoryChain
    let context: RequestContext
    let url: URL
    let timeline: Timeline

    init(login: PinnedCredential, prepared: PreparedRequest, attempt: Int, timeline: Timeline) {
        var context = prepared.context
        context.attempt = attempt
        self.login = login
        self.context = context
        self.timeline = timeline
        accessories = prepared.accessories
        url = prepared.outgoing.url
    }

    /// Waits for a refresh if one is in progress or the credential expires soon.
    func waitBeforeSending() async throws -> Duration {
        guard login.session.appliesTo(url), let need = login.session.needBeforeSending() else { return .zero }
        return try await wait(for: need, because: nil, in: nil)
    }

    /// Waits until there is a better credential, or none can be obtained; returns the time spent waiting.
    func wait(for need: RefreshReason, because error: (any Error)?, in response: RawResponse?) async throws -> Duration
    {
        if !accessories.isEmpty, login.session.wouldWait(for: need) {
            await tell(.willRefreshCredential(because: error))
        }
        let began = timeline.now()
        do {
            try await login.session.wait(for: need, by: login.client)
        } catch let failure as NetworkError {
            throw response.map(failure.answered) ?? failure
        }
        return timeline.now() - began
    }

    func tell(_ event: AccessoryEvent) async {
        if !accessories.isEmpty { await accessories.tell(event, of: context) }
    }
}
