internal import Foundation
internal import Synchronization

/// The user of a request, as far as it is known before hooks run.
///
/// A session or ``CacheIdentity/user`` names the user, whose tokens may change. Without a name, it is the owner of the declared
/// credentials. The scopes of adapters and interceptors account for what they add; a hook without a scope leaves the user
/// unknown.
struct RequestUser: Sendable {
    /// Whether all adapters and interceptors declare a scope, so that a response may be stored and shared.
    let isKnown: Bool
    /// Whether a session or the request names the user, whatever the tokens are.
    let isNamed: Bool
    /// Whether no user is named, and no hook declares a user's credential.
    var isAnyone: Bool { !isNamed && login.isEmpty && scopes.allSatisfy(\.isEmpty) }
    /// The scope of the session; empty if there is none, or nobody is logged in.
    let login: String
    /// The header fields of the request that distinguish users: the declared credentials, and fields whose name refers to a
    /// user.
    let fields: [HTTPHeaders.Field]
    /// The secret with which the digest of declared credentials is keyed, because a short one could be guessed.
    var secret = ""
    /// The session's service, the user that the request names, and the transport.
    private let names: [String]
    /// The scopes of adapters and interceptors, in their order.
    private let scopes: [String]

    init(_ prepared: PreparedRequest) {
        let (declared, session) = (prepared.cacheIdentity.user, prepared.pinnedCredential?.session)
        let login = prepared.pinnedCredential?.scope ?? ""
        // A session may be an app's; its own token is added later, and so never counts.
        let isNamed = !declared.isEmpty
        (self.login, self.isNamed) = (login, isNamed)
        let service = prepared.settings.request.service
        // Sessions of two services may have equal scopes.
        let serviceID = session != nil && service.authentication.session != nil ? service.id : ""
        names = [serviceID, declared, prepared.transportIdentity]
        let known = prepared.scopes
        isKnown = !known.contains(nil)
        // The library's own interceptors of each exchange add nothing but cookies and `Authorization`.
        scopes = zip(prepared.hooks, known).map { isNamed && $0 is any ExchangeInterceptor ? "" : $1 ?? "" }
        let (secrets, counted) = (prepared.secrets, prepared.cacheIdentity.headers)
        fields = prepared.outgoing.headers.filter { field in
            if isNamed, Self.tokens.contains(field.name) {
                return counted.contains { $0.isSameFieldName(as: field.name) }
            }
            return secrets.isCredential(header: field.name) || SecretNames.mayNameUser(field.name)
        }.sortedUnspecialized { ($0.name.lowercased(), $0.value) < ($1.name.lowercased(), $1.value) }
    }

    /// The fields that do not count if the user is named.
    private static let tokens = FieldNames(["Authorization", "Cookie"])

    /// Adds the user to a digest.
    func add(to digest: inout FieldDigest) {
        for list in [[login], names, scopes] {
            digest.add(list.count)
            for text in list { digest.add(text) }
        }
        digest.add(fields.count)
        guard !fields.isEmpty else { return }
        digest.add(secret)
        for field in fields {
            digest.add(field.name.lowercased())
            digest.add(String(field.lastingValue))
        }
    }
}

extension PreparedRequest {
    /// A digest of the user, or `nil` if the user is not known before hooks run: if an adapter or interceptor declares no
    /// scope.
    ///
    /// A gate may still log a user in, so it is read when the digest is needed. Secret pairs of the query count, except the
    /// parameters of a signature.
    var userDigest: String? {
        let user = RequestUser(self)
        guard user.isKnown else { return nil }
        var digest = FieldDigest()
        user.add(to: &digest)
        let pairs = (outgoing.url.query() ?? "").split(separator: "&")
        let signature = URLSignature(of: pairs)
        for text in [outgoing.url.user(), outgoing.url.password()] { digest.add(text ?? "") }
        for pair in pairs where secrets.isCredential(pair: pair) && !signature.changes(pair) {
            digest.add(String(pair))
        }
        return digest.hexadecimal()
    }

    /// The adapters, then the interceptors.
    var hooks: [any CredentialScoping] { self.adapters + (self.interceptors as [any CredentialScoping]) }

    /// The types of the hooks without a scope, which prevent storing and sharing a response.
    var hooksWithoutScope: [String] { zip(hooks, self.scopes).filter { $1 == nil }.map { "\(type(of: $0.0))" } }

    /// Whether an exchange of the send had another user than the one known before hooks ran.
    var isOfOtherUser: Bool {
        self.userCheck?.hasFailed.load(ordering: .relaxed) == true || self.pinnedCredential?.hasLoggedIn == true
    }

    /// Compares the current scopes of adapters and interceptors with the earlier ones.
    func checkUser() {
        guard let userCheck = self.userCheck, !hooks.isEmpty else { return }
        let isSame = zip(hooks, self.scopes).allSatisfy { hook, scope in
            // The library's own hooks are compared at each exchange.
            hook is any ExchangeInterceptor || hook.credentialScope(for: context) == scope
        }
        if !isSame { userCheck.fail() }
    }

    /// Compares the scope of an exchange that one of the library's interceptors has changed with the earlier one.
    func checkUser(_ scope: String?, of hook: ExchangeHook) {
        guard let userCheck = self.userCheck, scope != self.scopes[hook.hook], !RequestUser(self).isNamed else {
            return
        }
        userCheck.fail()
    }

    /// Whether a result may be given to sends of the same identity.
    func mayShare(_ result: Result<AcceptedResponse, any Error>) -> Bool {
        switch result {
        case .success(let accepted):
            guard !isOfOtherUser else { return false }
            guard let note = accepted.response.cacheNote else { return true }
            let names = CacheControl.varyNames(accepted.response.headers)
            return names.contains("*") ? note.sent == outgoing.headers : !note.isChanged(names, since: self)
        case .failure(let error):
            // A hook may have thrown it after a change of the user.
            checkUser()
            // A mismatch concerns the stored response of one send only.
            return !(error is CacheValidation.Mismatch) && !isOfOtherUser
        }
    }
}

/// Whether an exchange of a send was not the known user's.
final class UserCheck: Sendable {
    let hasFailed = Atomic(false)

    func fail() { hasFailed.store(true, ordering: .relaxed) }
}

extension HTTPHeaders.Field {
    /// The access key of a credential of AWS, whose signature changes with each request, or the complete value.
    fileprivate var lastingValue: Substring {
        value.hasPrefix("AWS4-") ? value.prefix { $0 != "/" } : value[...]
    }
}
