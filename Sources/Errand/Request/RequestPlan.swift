internal import Foundation

/// What a send would do, told without sending: the final request, and each effective value with who said it.
public struct RequestPlan: Sendable, CustomStringConvertible {
    /// An effective value.
    public struct Entry: Sendable, Hashable {
        /// The member of ``Request`` that it belongs to, such as `limits.timeout`, or of ``NetworkConfig``.
        public let name: String
        /// The value, in words; never a secret.
        public let value: String
        /// Who said it.
        public let origin: Origin
    }

    /// Which send it would be; its ``RequestContext/url`` is final but for adapters.
    public let context: RequestContext

    /// What would be sent, adapters included.
    public let request: OutgoingRequest

    /// The effective values, in the order of the members of ``Request``.
    public let entries: [Entry]

    /// The types of the accessories, in the order in which they are told of a start.
    public let accessories: [String]

    /// Where the model would be made, and why there.
    public let formatting: Metrics.Formatting

    /// What the cache would do.
    public let cache: CacheForecast

    let secrets: Secrets

    /// The entry of a name, such as `retryPolicy`, or `nil` when there is none.
    public subscript(name: String) -> Entry? { entries.first { $0.name == name } }

    /// The plan as lines of text, with names of headers and parameters and none of their values.
    public var description: String {
        var lines = ["\(context.typeName): \(request.method) \(request.url.host() ?? "")\(request.url.path())"]
        let width = entries.map(\.name.count).max() ?? 0
        for entry in entries {
            let name = entry.name.padding(toLength: width, withPad: " ", startingAt: 0)
            lines.append("  \(name)  \(entry.value.oneLine)  (\(entry.origin.rawValue))")
        }
        lines.append("  headers: \(request.headers.map(\.name).joined(separator: ", "))")
        lines.append("  accessories: \(accessories.isEmpty ? "none" : accessories.joined(separator: ", "))")
        lines.append("  cache: \(cache)")
        lines.append("  formatted: \(formatting.rawValue)")
        return lines.joined(separator: "\n")
    }
}

extension RequestPlan {
    init(
        _ request: some Request,
        prepared: PreparedRequest,
        final: OutgoingRequest,
        config: NetworkConfig,
        formatting: Metrics.Formatting,
        cache: CacheForecast
    ) throws {
        self.cache = cache
        context = prepared.context
        self.request = final
        self.formatting = formatting
        accessories = prepared.accessories.names
        secrets = prepared.secrets
        let service = request.service
        var entries: [Entry] = []
        func add(_ name: String, _ value: String, _ origin: Origin) {
            entries.append(Entry(name: name, value: value, origin: origin))
        }
        func own<Value: Equatable>(_ name: String, _ value: Value, default standard: Value) {
            add(name, "\(value)", value == standard ? .library : .request)
        }
        func choice<Value>(_ name: String, _ choice: Choice<Value?>) {
            add(name, choice.value.map { "\($0)" } ?? "no limit", choice.origin)
        }
        add("path", URLText.withoutSecrets(request.path), .request)
        add("service", service.id, service.id == Service.default.id ? .library : .request)
        own("usesCDN", request.usesCDN, default: false)
        own("method", request.method, default: .get)
        let (query, parameters) = (try request.query, try request.parameters)
        add("query", query.names.joined(separator: ", "), query.isEmpty ? .library : .request)
        add("parameters", parameters.names.joined(separator: ", "), parameters.isEmpty ? .library : .request)
        own("parameterEncoding", request.parameterEncoding, default: .automatic)
        add("body", Self.words(for: final.body), try request.body.isAutomatic ? .library : .request)
        own("headers", request.headers, default: [:])
        let (authorization, credentials) = (prepared.choices.authorization, prepared.credentials)
        let isWithheld = !credentials.areSent && authorization.origin < .request && authorization.value != .anonymous
        add("authorization", isWithheld ? "withheld: another origin" : "\(authorization.value)", authorization.origin)
        own("credentialPolicy", request.credentialPolicy, default: .ownOrigins)
        add("credentials", credentials.description, credentials.policy == .ownOrigins ? .library : .request)
        if let login = prepared.login {
            add(
                "authentication",
                "\(type(of: login.session))",
                service.authentication == .inherited ? .config : .service
            )
        }
        own("idempotencyKey", request.idempotencyKey == .absent ? "absent" : "sent", default: "absent")
        own("usesBaseHeaders", request.usesBaseHeaders, default: true)
        own("usesBaseParameters", request.usesBaseParameters, default: true)
        add(
            "baseParameters",
            prepared.baseParameters.rawValue,
            prepared.baseParameters == .absent ? .library : service.parameters.isEmpty ? .config : .service
        )
        choice("limits.timeout", prepared.choices.timeout)
        choice("limits.deadline", prepared.choices.deadline)
        choice("limits.maximumBodySize", prepared.choices.maximumBodySize)
        choice("limits.maximumHeadSize", prepared.choices.maximumHeadSize)
        choice("limits.maximumExpansion", prepared.choices.maximumExpansion)
        choice("limits.minimumInterval", prepared.choices.minimumInterval)
        own("priority", request.priority, default: .normal)
        own("allowsCellularAccess", request.allowsCellularAccess, default: true)
        add("retryPolicy", "\(prepared.choices.retryPolicy.value)", prepared.choices.retryPolicy.origin)
        add("retryBudget", "\(config.retryBudget)", config.retryBudget == .standard ? .library : .config)
        add("redirectPolicy", "\(prepared.choices.redirectPolicy.value)", prepared.choices.redirectPolicy.origin)
        add("cachePolicy", "\(prepared.choices.cachePolicy.value)", prepared.choices.cachePolicy.origin)
        own("cacheIdentity", request.cacheIdentity, default: CacheIdentity())
        own("duplicatePolicy", request.duplicatePolicy, default: .allow)
        own("duplicateKey", request.duplicateKey, default: "")
        add("throttle", "\(prepared.choices.throttle.value)", prepared.choices.throttle.origin)
        add(
            "sendGates",
            prepared.sendGates.map { "\(type(of: $0))" }.joined(separator: ", "),
            service.sendGates.isEmpty ? prepared.sendGates.isEmpty ? .library : .config : .service
        )
        own("acceptance", request.acceptance, default: Acceptance())
        add("filter", "\(type(of: prepared.filter))", prepared.choices.filter.origin)
        let formatter = "\(type(of: request.formatter))"
        add("formatter", formatter, formatter.hasPrefix("DefaultFormatter<") ? .library : .request)
        own("formattingContext", request.formattingContext, default: .background)
        add("accessories", accessories.joined(separator: ", "), Self.origin(request, service, config))
        add(
            "customURLRequest",
            try request.customURLRequest() == nil ? "built" : "custom",
            try request.customURLRequest() == nil ? .library : .request
        )
        own("tag", request.tag, default: "")
        add(
            "attributes",
            request.attributes.keys.sorted().joined(separator: ", "),
            request.attributes.isEmpty ? .library : .request
        )
        self.entries = entries
    }

    private static func words(for body: OutgoingBody) -> String {
        body.byteCount.map { $0 == 0 ? "empty" : "\($0) bytes" } ?? "streamed"
    }

    private static func origin(_ request: some Request, _ service: Service, _ config: NetworkConfig) -> Origin {
        if !request.accessories.isEmpty { return .request }
        if !service.accessories.isEmpty { return .service }
        return config.accessories.isEmpty ? .library : .config
    }
}
