internal import Foundation

/// Compares each sent request with the identified one, so that no response is shared or stored under the identity of
/// another user.
///
/// The identified request is the one before adapters, with the credential scope of each adapter and interceptor. Each
/// change is attributed to the one that made it, which is its hook here. A hook that still has its scope accounts for its
/// own changes. One without a scope may change the header fields that refer to no user, such as the ID of a trace. If it
/// changes anything else, only the send itself receives the response: any other field may refer to a user, whatever its
/// name is. No credential and no ``CacheIdentity`` makes a difference, because it may not be the user's whom the hook adds.
final class IdentityCheck: Sendable {
    private struct State {
        /// The types of the hooks that changed a request, for which nothing accounts.
        var changed: [String] = []
        /// The types of those that created a response or an error, or whose scope has changed.
        var others: [String] = []
        /// The notes on the exchanges of the current attempt.
        var notes: [any ExchangeNote] = []
    }

    private let state = Lock(State())

    init() {}

    /// Whether the result of the send so far may belong to another user.
    var isChanged: Bool { state.withLock { !$0.changed.isEmpty || !$0.others.isEmpty } }

    /// The types of the hooks that changed a request so that it may belong to another user.
    var changedBy: [String] { state.withLock { $0.changed } }

    /// The types of the hooks because of which the result may belong to another user.
    var allHooks: [String] { state.withLock { state in state.changed + state.others } }

    /// Compares a request before and after a hook.
    func compare(_ after: OutgoingRequest, with before: OutgoingRequest, by hook: Int, of prepared: PreparedRequest) {
        if !accounts(hook, of: prepared), !after.showsSameUser(as: before, prepared) {
            add(hook, of: prepared, to: \.changed)
        }
    }

    /// Records that a hook failed: its error may be about its user.
    func didThrow(_ error: any Error, by hook: Int, of prepared: PreparedRequest) {
        if error is NetworkError || error is CancellationError || accounts(hook, of: prepared) { return }
        add(hook, of: prepared, to: \.others)
    }

    /// Begins an attempt, whose exchanges follow.
    func beginAttempt() { state.withLock { $0.notes = [] } }

    /// Records an exchange of the current attempt.
    func didExchange(_ note: any ExchangeNote) { state.withLock { $0.notes.append(note) } }

    /// Checks that the response that an interceptor returns is that of an exchange of the current attempt.
    ///
    /// A response that the interceptor created is that of its last exchange if it has a scope, and unknown otherwise.
    func attribute(_ response: inout RawResponse, to hook: Int, of prepared: PreparedRequest) {
        let notes = state.withLock { $0.notes }
        if let note = response.note, notes.contains(where: { $0 === note }) { return }
        response.note = notes.last
        if !accounts(hook, of: prepared) { add(hook, of: prepared, to: \.others) }
    }

    /// Checks that the scope of a request is the one that was identified for the hook that has changed the request.
    func check(_ scope: String?, by hook: Int, of prepared: PreparedRequest) {
        if scope != prepared.scopes[hook] { add(hook, of: prepared, to: \.others) }
    }

    /// Whether a hook has declared a scope; notes a scope that is no longer that of the identified request.
    private func accounts(_ hook: Int, of prepared: PreparedRequest) -> Bool {
        let scope = prepared.scopes[hook]
        if scope != prepared.hooks[hook].credentialScope(for: prepared.context) {
            add(hook, of: prepared, to: \.others)
        }
        return scope != nil
    }

    private func add(_ hook: Int, of prepared: PreparedRequest, to list: WritableKeyPath<State, [String]>) {
        let name = "\(type(of: prepared.hooks[hook]))"
        state.withLock { if !$0[keyPath: list].contains(name) { $0[keyPath: list].append(name) } }
    }
}

extension PreparedRequest {
    /// Whether a result may be shared with sends of the same identity.
    func mayShare(_ result: Result<AcceptedResponse, any Error>) -> Bool {
        switch result {
        case .success(let accepted):
            if let note = accepted.response.cacheNote {
                !note.isUnidentified && mayShare(note, dependingOn: CacheControl.varyNames(accepted.response.headers))
            } else {
                true
            }
        // A mismatch concerns the stored response of one send only.
        case .failure(let error): !(error is CacheValidation.Mismatch) && !isUnidentified
        }
    }

    /// Whether the result of the send so far may belong to another user than the one that was identified.
    var isUnidentified: Bool { identityCheck?.isChanged == true || pinnedCredential?.hasLoggedIn == true }

    private func mayShare(_ note: CacheNote, dependingOn names: [String]) -> Bool {
        names.contains("*") ? note.sent == outgoing.headers : !note.isChanged(names, since: self)
    }

    /// The adapters, then the interceptors.
    var hooks: [any CredentialScoping] { adapters + (interceptors as [any CredentialScoping]) }

    /// The credential scope of each hook when the request was identified, or `nil` if it has none.
    var scopes: [String?] { pinnedScopes ?? hooks.map { $0.credentialScope(for: context) } }

    /// Whether an interceptor without a scope is of one of these types.
    func hasInterceptor(of types: Set<String>) -> Bool {
        guard !types.isEmpty, !interceptors.isEmpty else { return false }
        return zip(interceptors, scopes.dropFirst(adapters.count)).contains {
            $1 == nil && types.contains("\(type(of: $0))")
        }
    }

    /// What is known of the user of the response, in words.
    var identityText: String {
        func named(_ names: [String]) -> String {
            "\(names.joined(separator: ", ")), which \(names.count == 1 ? "has" : "have") no credential scope"
        }
        let changedBy = identityCheck?.allHooks ?? []
        if !changedBy.isEmpty { return "unknown: changed by \(named(changedBy))" }
        if cacheUse != nil, hasUnknownUser { return "unknown: neither a session nor CacheIdentity.user names the user" }
        // A plan runs adapters, but no interceptors.
        let scopes = scopes.dropFirst(adapters.count)
        let open = zip(interceptors, scopes).filter { $1 == nil }.map { "\(type(of: $0.0))" }
        return open.isEmpty ? "known" : "known unless changed by \(named(open))"
    }
}

extension OutgoingRequest {
    /// Whether this request belongs to the same user as another, judged by method, URL, content and all header fields,
    /// except those that refer to no user.
    fileprivate func showsSameUser(as other: OutgoingRequest, _ prepared: PreparedRequest) -> Bool {
        guard method == other.method else { return false }
        let ignored = prepared.ignoredParameters
        if url != other.url {
            let (one, two) = (url, other.url)
            guard
                CacheIdentification.text(of: one, without: ignored)
                    == CacheIdentification.text(of: two, without: ignored)
            else { return false }
        }
        if headers != other.headers {
            guard prepared.secrets.fieldsOfUser(headers) == prepared.secrets.fieldsOfUser(other.headers) else {
                return false
            }
        }
        // A body that is read while it is sent cannot be compared.
        guard let content = body.data, let otherContent = other.body.data else { return false }
        guard content != otherContent else { return true }
        return CacheIdentification.counted(content, headers["Content-Type"], without: ignored)
            == CacheIdentification.counted(otherContent, other.headers["Content-Type"], without: ignored)
    }
}

extension Secrets {
    fileprivate func fieldsOfUser(_ headers: HTTPHeaders) -> [String] {
        headers.filter { isCredential(header: $0.name) || !SecretNames.namesNoUser($0.name) }
            .map { "\($0.name.lowercased()):\($0.value)" }.sortedUnspecialized(by: <)
    }
}
