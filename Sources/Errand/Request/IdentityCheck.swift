internal import Foundation
internal import Synchronization

/// Compares what is sent for a request with what was identified, so that no response is shared or stored under an
/// identity that is not its own.
///
/// What was identified is the request before adapters, with the credential scope of each. An adapter without a scope,
/// and an interceptor, may change fields that tell no user apart, such as a nonce; once one changes the method, the URL,
/// the content or a secret field, only the send itself is given the response. Neither a login nor a
/// ``CacheIdentity/variant`` is an excuse: what they tell apart need not be what the adapter adds.
final class IdentityCheck: Sendable {
    private let changedByAdapter = Atomic(false)
    private let changedByInterceptor = Atomic(false)

    init() {}

    /// Whether any request that was sent so far may show another user.
    var isChanged: Bool { isChangedByAdapter || changedByInterceptor.load(ordering: .relaxed) }

    private var isChangedByAdapter: Bool { changedByAdapter.load(ordering: .relaxed) }

    /// An adapter has changed a request.
    func compare(
        _ after: OutgoingRequest,
        with before: OutgoingRequest,
        adapter index: Int,
        of prepared: PreparedRequest
    ) {
        let scope = prepared.scopes[index]
        let isStillScope = scope == prepared.scope(ofAdapter: index)
        if isStillScope, !scope.isEmpty || after.showsSameUser(as: before, prepared) { return }
        changedByAdapter.store(true, ordering: .relaxed)
    }

    /// A request has passed the interceptors.
    ///
    /// - Returns: Whether its response is of use to nobody else, because this request or one before it was changed: an
    ///   interceptor may put one response into another.
    func compare(_ sent: OutgoingRequest, with adapted: OutgoingRequest, of prepared: PreparedRequest) -> Bool {
        guard !isChanged else { return true }
        if prepared.interceptors.isEmpty || sent.showsSameUser(as: adapted, prepared) { return false }
        changedByInterceptor.store(true, ordering: .relaxed)
        return true
    }
}

extension PreparedRequest {
    /// Whether a result may be given to others with the same identity.
    func mayShare(_ result: Result<Answer, any Error>) -> Bool {
        switch result {
        case .success(let answer):
            if let note = answer.response.cacheNote { !note.isUnidentified && !note.changesVary } else { true }
        case .failure: identityCheck?.isChanged != true
        }
    }

    /// Whose credentials each adapter adds, as identified; empty for one that does not say.
    var scopes: [String] { pinnedScopes ?? adapters.indices.map(scope) }

    func scope(ofAdapter index: Int) -> String { adapters[index].credentialScope(for: context) ?? "" }
}

extension OutgoingRequest {
    /// Whether this request cannot show another user than that one: by method, URL, content and secret fields.
    fileprivate func showsSameUser(as other: OutgoingRequest, _ prepared: PreparedRequest) -> Bool {
        guard method == other.method else { return false }
        let ignored = prepared.cacheIdentity.ignoredParameters
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
        // What is read while it is sent cannot be compared.
        guard let content = body.data, let otherContent = other.body.data else { return false }
        guard content != otherContent else { return true }
        return CacheIdentification.counted(content, headers["Content-Type"], without: ignored)
            == CacheIdentification.counted(otherContent, other.headers["Content-Type"], without: ignored)
    }
}

extension Secrets {
    fileprivate func fieldsOfUser(_ headers: HTTPHeaders) -> [String] {
        headers.filter { isCredential(header: $0.name) }.map { "\($0.name.lowercased()):\($0.value)" }
            .sortedUnspecialized(by: <)
    }
}
