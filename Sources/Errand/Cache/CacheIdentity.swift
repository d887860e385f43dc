internal import Foundation

/// Additional components of the cache key of a request.
///
/// The method, the URL, `Accept` and `Accept-Language`, the version of the app, and the user are always part of the key.
///
/// In a request, write `var cacheIdentity: CacheIdentity { CacheIdentity(version: 2, user: userID) }`.
public struct CacheIdentity: Sendable, Hashable {
    /// The version of the model; responses stored with another version are not found.
    public var version: Int
    /// A text that distinguishes requests with equal URLs, such as a locale.
    ///
    /// It doesn't identify a user; ``user`` does.
    public var variant: String
    /// The user that the request belongs to, such as a user ID; empty if the request doesn't declare one.
    ///
    /// With it, the `Authorization` and `Cookie` fields are not part of the key, so that a new token keeps the user's
    /// responses. Without it, and without a session, users are told apart by their credentials. It does not cover what
    /// adapters and interceptors add; those declare a ``CredentialScoping/credentialScope(for:)``. Only its digest is kept.
    public var user: String = ""
    /// The names of parameters that are not part of the key, such as a time stamp: in the query, a form, or a JSON
    /// object.
    ///
    /// An array or a nested object is ignored by its own name. In a query or a form, `tags` ignores `tags[]` and `tags[x]`,
    /// and `tags.x` if the request's ``Request/parameterEncoding`` nests with dots.
    public var ignoredParameters: Set<String>
    /// The names of further header fields of the request that are part of the key; their case is ignored.
    public var headers: Set<String> = []
    /// Whether responses to methods other than GET and HEAD are stored too, such as to a search by POST.
    ///
    /// The body is part of the key then.
    public var allowsAnyMethod = false

    /// The identity of requests that declare none.
    static let usual = CacheIdentity()

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - version: The version of the model.
    ///   - variant: A text that distinguishes requests with equal URLs; empty if there is none.
    ///   - user: The user that the request belongs to; empty if it doesn't declare one.
    ///   - ignoredParameters: The names of parameters that are not part of the key.
    ///   - headers: The names of further header fields of the request that are part of the key.
    ///   - allowsAnyMethod: Whether responses to methods other than GET and HEAD are stored too.
    public init(
        version: Int = 0,
        variant: String = "",
        user: String = "",
        ignoredParameters: Set<String> = [],
        headers: Set<String> = [],
        allowsAnyMethod: Bool = false
    ) {
        self.version = version
        self.variant = variant
        self.user = user
        self.ignoredParameters = ignoredParameters
        self.headers = headers
        self.allowsAnyMethod = allowsAnyMethod
    }
}

/// The parameters that are not part of a key.
struct IgnoredParameters: Sendable, Hashable {
    let names: Set<String>
    /// The style of the names of nested objects' members.
    let nesting: ParameterEncoding.Nesting

    var isEmpty: Bool { names.isEmpty }

    /// Whether a parameter of a query or a form is ignored, by its name or by the name of its array or object.
    func contains(_ name: String) -> Bool {
        if names.contains(name) { return true }
        let outermost = name.unicodeScalars.prefix { $0 != "[" && ($0 != "." || nesting == .brackets) }
        return names.contains(String(outermost))
    }
}
