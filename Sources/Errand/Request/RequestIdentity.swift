internal import Foundation

/// What makes two sends the same: computed before adapters sign, so that a nonce cannot defeat caching and
/// de-duplication, and with the scope of the credentials in it, so that no answer crosses users.
struct RequestIdentity: Sendable, Hashable {
    /// A SHA-256 in hexadecimal.
    let digest: String

    init(_ prepared: PreparedRequest) {
        var hash = SHA256()
        func add(_ text: String) {
            hash.update("\(text.utf8.count):".utf8)
            hash.update(text.utf8)
        }
        // The type itself: the name of a generic one goes without its arguments.
        add("\(prepared.typeID)")
        add(prepared.outgoing.method.rawValue)
        add(prepared.outgoing.url.absoluteString)
        add(prepared.outgoing.headers["Authorization"] ?? "")
        add(prepared.login?.scope ?? "")
        for adapter in prepared.adapters { add(adapter.credentialScope(for: prepared.context) ?? "") }
        hash.update(prepared.outgoing.body.data ?? Data())
        digest = hash.hexadecimal()
    }
}
