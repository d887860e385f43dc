public import Foundation

/// The send that an accessory, a filter, an adapter or an error belongs to.
public struct RequestContext: Sendable, Identifiable {
    /// The number of the send, unique in this process.
    public internal(set) var id: Int
    private var facts: Shared<Facts>
    /// Notifies interceptors that the body has begun, or `nil` if it is collected in memory.
    var beginning: BodyBeginning? { facts.value.beginning }
    /// The name of the request's type, such as `GetUser`.
    public var typeName: String { facts.value.typeName }
    /// The method of the request.
    public var method: HTTPMethod { facts.value.method }
    /// The current URL, or `nil` until it is formed.
    public internal(set) var url: URL?
    /// The path as the request declares it, which is shown in place of the URL's path.
    var declared: DeclaredPath?
    /// What the send is a part of, or `nil` if it stands alone.
    package var group: SendGroup? { facts.value.group }
    /// The identifier of the request's ``Service``.
    public var serviceID: String { facts.value.serviceID }
    /// The request's own tag, or an empty string if it has none.
    public var tag: String { facts.value.tag }
    /// The names of secrets of the agent's config, for code that writes URLs, header fields or bodies.
    public var secrets: Secrets { facts.value.secrets?.value ?? .usual }
    /// The number of the attempt, starting at 1; 0 before the first, and in events of progress and redirects.
    public internal(set) var attempt: Int
    /// Whether credentials of the config and the service may be sent to the URL.
    ///
    /// It is `true` if the URL's origin is one of theirs or the request's ``CredentialPolicy`` allows it. A URL filter
    /// or adapter that adds a credential, such as a token or an API key, adds it only in this case.
    public internal(set) var allowsCredentials: Bool
    /// The credential scope that this adapter or interceptor had when the request was prepared, or `nil` if it has none.
    ///
    /// One that adds the credential of this user, in place of the current one, never mixes two users.
    public internal(set) var credentialScope: String?
    /// The values that the request or an earlier stage passes to later stages.
    public var attributes: [String: any Sendable]

    /// The values that hardly change, behind one reference, because a context is copied often.
    private struct Facts: Sendable {
        let typeName: String
        var method: HTTPMethod
        let serviceID: String
        let tag: String
        let secrets: Shared<Secrets>?
        let group: SendGroup?
        var beginning: BodyBeginning?
    }

    /// Creates a context, for tests of filters and adapters.
    public init(
        id: Int = 0,
        typeName: String = "Request",
        method: HTTPMethod = .get,
        url: URL? = nil,
        serviceID: String = "default",
        tag: String = "",
        attempt: Int = 1,
        attributes: [String: any Sendable] = [:],
        allowsCredentials: Bool = true,
        secrets: Secrets? = nil
    ) {
        self.init(
            id: id,
            typeName: typeName,
            method: method,
            url: url,
            serviceID: serviceID,
            tag: tag,
            attempt: attempt,
            attributes: attributes,
            allowsCredentials: allowsCredentials,
            sharing: secrets.map { Shared($0) }
        )
    }

    init(
        id: Int,
        typeName: String,
        method: HTTPMethod,
        url: URL? = nil,
        serviceID: String,
        tag: String,
        attempt: Int = 0,
        attributes: [String: any Sendable],
        allowsCredentials: Bool = true,
        sharing secrets: Shared<Secrets>?,
        in group: SendGroup? = nil
    ) {
        self.id = id
        facts = Shared(
            Facts(typeName: typeName, method: method, serviceID: serviceID, tag: tag, secrets: secrets, group: group)
        )
        self.url = url
        self.attempt = attempt
        self.attributes = attributes
        self.allowsCredentials = allowsCredentials
    }

    /// Returns the same context for a request with another method, or whose body is not collected in memory.
    func with(method: HTTPMethod? = nil, beginning: BodyBeginning? = nil) -> RequestContext {
        var copy = self
        if let method { copy.facts.value.method = method }
        if let beginning { copy.facts.value.beginning = beginning }
        return copy
    }
}
