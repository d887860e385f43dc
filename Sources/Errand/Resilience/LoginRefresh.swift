internal import Foundation

/// Around an attempt, inside the retries: puts the login's credential on.
///
/// When it is refused, it is renewed and the attempt repeated once. A second refusal is the caller's.
struct LoginRefresh: Sendable {
    /// Runs stages 6 to 8; the credential goes on between the adapters and the wire.
    ///
    /// - Parameters:
    ///   - prepared: The request, with the login that it shows, if any.
    ///   - attempt: The number of the attempt; a repetition has the same.
    ///   - agent: Who a refresh is run by.
    ///   - adapt: Makes the final request, anew for a repetition, so that signatures and nonces are fresh.
    ///   - transmit: Puts it on the wire.
    ///   - judge: Accepts and unwraps the answer, or throws.
    /// - Returns: What `judge` made of the last answer, with both attempts in its metrics.
    /// - Throws: What the stages throw, what a refresh failed with, or ``NetworkError/Reason/loginChanged``.
    func run(
        _ prepared: PreparedRequest,
        attempt: Int,
        by agent: Agent,
        adapt: () async throws -> OutgoingRequest,
        transmit: (OutgoingRequest) async throws -> RawResponse,
        judge: (RawResponse) throws -> Answer
    ) async throws -> Answer {
        guard let login = prepared.login else { return try judge(await transmit(adapt())) }
        let turn = Turn(login: login, prepared: prepared, attempt: attempt, agent: agent)
        var waiting = try await turn.waitBeforeSending()
        var outgoing = try await adapt()
        let version = try await login.place(on: &outgoing, for: turn.context)
        let received = try await transmit(outgoing)
        do {
            var answer = try judge(received)
            answer.metrics.login = waiting
            return answer
        } catch {
            guard let version, login.isRefusal(error, of: received) else { throw error }
            waiting += try await turn.wait(for: .refused(version), because: error, in: received)
            await turn.tell(.willRetry(after: .zero, because: error))
        }
        outgoing = try await adapt()
        _ = try await login.place(on: &outgoing, for: turn.context)
        do {
            var answer = try judge(await transmit(outgoing))
            answer.metrics.attempts = [received.timing].compactMap(\.self) + answer.metrics.attempts
            answer.metrics.login = waiting
            return answer
        } catch var error as NetworkError {
            error.repetitionCount += 1
            throw error
        }
    }
}

/// One attempt under a login.
private struct Turn {
    let login: PinnedLogin
    let accessories: AccessoryChain
    let context: RequestContext
    let url: URL
    let agent: Agent

    init(login: PinnedLogin, prepared: PreparedRequest, attempt: Int, agent: Agent) {
        var context = prepared.context
        context.attempt = attempt
        self.login = login
        self.context = context
        self.agent = agent
        accessories = prepared.accessories
        url = prepared.outgoing.url
    }

    /// Lets a credential that ends soon be renewed first, and waits for a refresh that is under way.
    func waitBeforeSending() async throws -> Duration {
        guard login.session.appliesTo(url), let need = login.session.needBeforeSending() else { return .zero }
        return try await wait(for: need, because: nil, in: nil)
    }

    /// Waits until there is a better credential, or none to be had; returns how long that took.
    func wait(for need: LoginNeed, because error: (any Error)?, in response: RawResponse?) async throws -> Duration {
        if !accessories.isEmpty, login.session.wouldWait(for: need) { await tell(.willRefreshLogin(because: error)) }
        let began = agent.timeline.now()
        do {
            try await login.session.wait(for: need, by: agent)
        } catch let failure as NetworkError {
            throw response.map(failure.answered) ?? failure
        }
        return agent.timeline.now() - began
    }

    func tell(_ event: AccessoryEvent) async {
        if !accessories.isEmpty { await accessories.tell(event, of: context) }
    }
}

extension PinnedLogin {
    /// Whether an answer refuses the credential, which it cannot when a redirect left the credential behind.
    fileprivate func isRefusal(_ error: any Error, of response: RawResponse) -> Bool {
        !response.redirects.contains(where: \.leavesOrigin) && session.isRefusal(error, of: response)
    }
}
