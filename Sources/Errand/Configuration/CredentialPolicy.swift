/// Which origins receive the credentials of the config and the service.
///
/// Credentials are ``InheritedSettings/authorization``, header fields that ``Secrets/headers`` names, all base parameters, and
/// what URL filters and adapters add. The header fields, the query, the parameters and the authorization of the request itself
/// are sent wherever the request is sent.
///
/// When a redirect leaves the origin, the request's authorization and header fields that ``Secrets/headers`` names are removed. A
/// 307 or 308 sends the body again, with the parameters in it (RFC 9110, section 15.4); to prevent that, such as for a password,
/// give the request a ``RedirectPolicy`` with a veto.
///
/// An ``AuthenticationSession`` is not affected: its ``Authenticator/appliesTo(_:)`` decides for each URL.
///
/// In a request, write `var credentialPolicy: CredentialPolicy { .requestOrigin }`.
public enum CredentialPolicy: String, Sendable, Hashable, CustomStringConvertible {
    /// The origins of the service's base URL and CDN, or else the config's, and those in
    /// ``InheritedSettings/credentialOrigins`` of both. This is the default.
    ///
    /// Without a base URL and such a list, it is the origin of the request's own URL.
    case ownOrigins
    /// The origin of the request's URL as well, whatever it is. A redirect to another origin removes credentials.
    case requestOrigin
    /// Every origin, including the targets of redirects. Cookies and an ``AuthenticationSession``'s credential are still
    /// removed.
    case anyOrigin

    /// A description of the policy.
    public var description: String {
        switch self {
        case .ownOrigins: "own origins"
        case .requestOrigin: "the request's origin"
        case .anyOrigin: "any origin"
        }
    }
}
