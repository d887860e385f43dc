internal import Foundation
internal import Synchronization

/// Compares each sent request with the identified one, so that no response is shared or stored under the identity of
/// another.
///
/// The identified request is the one before adapters, with the credential scope of each adapter. An adapter without a
/// scope, or an interceptor, may change header fields that don't depend on the user, such as a nonce. If one changes
/// the method, the URL, the content or a secret field, only the send itself receives the response. A credential or a
/// ``CacheIdentity/variant`` makes no difference, because it may not distinguish what the adapter adds.
final class IdentityCheck: Sendable {
    private let changedByAdapter = Atomic(false)
    private let changedByInterceptor = Atomic(false)

    init() {}

    /// Whether any request sent so far may belong to another user.
    var isChanged: Bool { isChangedByAdapter || changedByInterceptor.load(ordering: .relaxed) }

    private var isChangedByAdapter: Bool { changedByAdapter.load(ordering: .relaxed) }

    /// Compares a request before and after an adapter.
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

    /// Compares a request before and after the interceptors.
    ///
    /// - Returns: Whether the response must not be shared, because this request or an earlier one was changed. An
    ///   interceptor may merge several responses into one.
    func compare(_ sent: OutgoingRequest, with adapted: OutgoingRequest, of prepared: PreparedRequest) -> Bool {
        guard !isChanged else { return true }
        if prepared.interceptors.isEmpty || sent.showsSameUser(as: adapted, prepared) { return false }
        changedByInterceptor.store(true, ordering: .relaxed)
        return true
    }
}

extension PreparedRequest {
    /// Whether a result may be shared with sends of the same identity.
    func mayShare(_ result: Result<AcceptedResponse, any Error>) -> Bool {
        switch result {
        case .success(let answer):
            if let note = answer.response.cacheNote { !note.isUnidentified && !note.changesVary } else { true }
        // A mismatch concerns the stored response of one send only.
        case .failure(let error): !(error is CacheValidation.Mismatch) && identityCheck?.isChanged != true
        }
    }

    /// The credential scope of each adapter when the request was identified, or an empty string if it has none.
    var scopes: [String] { pinnedScopes ?? adapters.indices.map(scope) }

    func scope(ofAdapter index: Int) -> String { adapters[index].credentialScope(for: context) ?? "" }
}

extension OutgoingRequest {
    /// Whether this request belongs to the same user as another, judged by method, URL, content and secret fields.
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
        // A body that is read while it is sent cannot be compared.
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
