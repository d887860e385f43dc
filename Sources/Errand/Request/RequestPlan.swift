internal import Foundation

/// A description of a send, without sending: the final request, and the resolved settings with their sources.
public struct RequestPlan: Sendable, CustomStringConvertible {
    /// A resolved setting.
    public struct Entry: Sendable, Hashable {
        /// The member of ``Request``, such as `limits.timeout`, or of ``NetworkConfig`` that it belongs to.
        public let name: String
        /// The value as text, without secrets.
        public let value: String
        /// The source of the value.
        public let source: SettingSource
    }

    /// The context of the send; its ``RequestContext/url`` is final except for adapters.
    public let context: RequestContext

    /// The request that would be sent, after adapters.
    public let request: OutgoingRequest

    /// The resolved settings, in the order of the members of ``Request``.
    public let entries: [Entry]

    /// The types of the accessories, in the order in which they are notified of a start.
    public let accessories: [String]

    /// Where the model would be created, and why.
    public let formatting: Metrics.Formatting

    /// How the send would use the cache.
    public let cache: CacheForecast

    let secrets: Secrets

    /// The setting of a name, such as `retryPolicy`, or `nil` if there is none.
    public subscript(name: String) -> Entry? { entries.first { $0.name == name } }

    /// The plan as lines of text, with the names of header fields and parameters but none of their values.
    ///
    /// Settings of the request, its service and the config come first, each with its source, then the defaults of the library.
    /// Empty settings are omitted.
    public var description: String {
        var lines = [
            "\(context.typeName): \(request.method) \(request.url.origin.authority)\(request.declared?.shown ?? "")"
        ]
        let shown = entries.filter { !["", "[]", "[:]"].contains($0.value) }
        let width = shown.map(\.name.count).max() ?? 0
        func line(_ entry: Entry) -> String {
            "  \(entry.name.padding(toLength: width, withPad: " ", startingAt: 0))  \(entry.value.oneLine)"
        }
        lines += shown.filter { $0.source != .library }.map { "\(line($0))  (\($0.source.rawValue))" }
        lines += ["  cache: \(cache)", "defaults of the library:"]
        lines += shown.filter { $0.source == .library }.map(line)
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
        let (values, service, resolved) = (
            prepared.settings.request, prepared.settings.request.service, prepared.settings
        )
        var entries: [Entry] = []
        func add(_ name: String, _ value: String, _ source: SettingSource) {
            entries.append(Entry(name: name, value: value, source: source))
        }
        func add(_ name: String, _ names: [String], _ source: SettingSource? = nil) {
            add(name, names.joined(separator: ", "), source ?? (names.isEmpty ? .library : .request))
        }
        func setting<Value>(_ name: String, _ setting: ResolvedSetting<Value>) {
            add(name, "\(setting.value)", setting.source)
        }
        func limit<Value>(_ name: String, _ setting: ResolvedSetting<Value?>) {
            add("limits.\(name)", setting.value.map { "\($0)" } ?? "no limit", setting.source)
        }
        // Every member is listed, even one that has no case below: by its text, and as the library's if that equals the
        // default's.
        let standard = Mirror(reflecting: RequestValues.defaults).children
        for (child, own) in zip(Mirror(reflecting: values).children, standard) {
            guard let name = child.label else { continue }
            switch name {
            case "path": add(name, DeclaredPath.shown(values.path), .request)
            case "service": add(name, service.id, service.id == Service.default.id ? .library : .request)
            case "method":
                add(name, "\(values.method)", values.method == .get ? .library : .request)
                add("query", try request.query.names)
                add("parameters", try request.parameters.names)
            case "headers":
                let isOwn = !values.headers.isEmpty || service.headers.isEmpty && config.headers.isEmpty
                let source = isOwn ? SettingSource.request : service.headers.isEmpty ? .config : .service
                add(name, final.headers.map(\.name), final.headers.isEmpty ? .library : source)
            case "authorization":
                let isOther = !prepared.credentials.areSent && resolved.authorization.source < .request
                let isWithheld = isOther && resolved.authorization.value != .anonymous
                // The library's default is not about a session.
                let own = resolved.authorization.source == .library ? "none" : "\(resolved.authorization.value)"
                add(name, isWithheld ? "withheld: another origin" : own, resolved.authorization.source)
            case "credentialPolicy":
                let credentials = prepared.credentials
                let source = credentials.policy == .ownOrigins ? SettingSource.library : .request
                add(name, "\(child.value)", source)
                add("credentials", credentials.description, source)
                if let session = prepared.pinnedCredential?.session {
                    let source = service.authentication == .inherited ? SettingSource.config : .service
                    let restriction = session.appliesTo(final.url) ? "" : ", which does not apply to this URL"
                    add("authentication", "\(type(of: session))\(restriction)", source)
                }
            case "idempotencyKey":
                let isAbsent = values.idempotencyKey == .absent
                add(name, isAbsent ? "absent" : "sent", isAbsent ? .library : .request)
            case "usesBaseParameters":
                add(name, "\(child.value)", values.usesBaseParameters ? .library : .request)
                let place = prepared.baseParameters
                let source = service.parameters.isEmpty ? SettingSource.config : .service
                add("baseParameters", place.rawValue, place == .absent ? .library : source)
            case "limits":
                limit("timeout", resolved.timeout)
                limit("deadline", resolved.deadline)
                limit("maximumBodySize", resolved.maximumBodySize)
                limit("maximumHeaderSize", resolved.maximumHeaderSize)
                limit("maximumExpansion", resolved.maximumExpansion)
                limit("minimumInterval", resolved.minimumInterval)
            case "retryPolicy":
                setting(name, resolved.retryPolicy)
                add("retryBudget", "\(config.retryBudget)", config.retryBudget == .standard ? .library : .config)
            case "redirectPolicy": setting(name, resolved.redirectPolicy)
            case "parameterEncoding":
                setting(name, resolved.parameterEncoding)
                let isOwn = try !request.body.isAutomatic || final.body.byteCount != 0
                add("body", Self.words(for: final.body), isOwn ? .request : .library)
            case "acceptance": setting(name, resolved.acceptance)
            case "usesCDN":
                add(name, "\(values.usesCDN)", values.usesCDN ? .request : .library)
                if !prepared.fallbacks.isEmpty {
                    let isOwn = service.cdnURL != nil || !service.cdnFallbacks.isEmpty
                    let urls = prepared.fallbacks.map {
                        $0.outgoing.url.origin.description + ($0.outgoing.declared?.shown ?? "")
                    }
                    add("cdnFallbacks", urls, isOwn ? .service : .config)
                }
            case "cachePolicy":
                setting(name, resolved.cachePolicy)
                if let diagnostic = prepared.cacheDiagnostic {
                    add("cache", "\(diagnostic)", resolved.cachePolicy.source)
                }
                let open = prepared.hooksWithoutScope.joined(separator: ", ")
                add("identity", open.isEmpty ? "known" : "unknown: \(open) declares no credential scope", .library)
            case "cacheStorage": setting(name, resolved.cacheStorage)
            case "duplicateKey":
                add(
                    name,
                    values.duplicateKey.isEmpty ? "" : Secrets.mask,
                    values.duplicateKey.isEmpty ? .library : .request
                )
                setting("throttle", resolved.throttle)
                let gates = prepared.sendGates.map { "\(type(of: $0))" }
                add("sendGates", gates, service.sendGates.isEmpty ? gates.isEmpty ? .library : .config : .service)
            case "filter":
                add(name, "\(type(of: prepared.filter))", resolved.filter.source)
                let formatter = "\(type(of: request.formatter))"
                let isDefault = formatter.hasPrefix("DefaultFormatter<")
                // Swift infers Void for a request that declares no Model.
                let text = type(of: request).Model.self == Void.self ? "\(formatter): the model is Void" : formatter
                add("formatter", text, isDefault ? .library : .request)
                add("decoder", "\(type(of: prepared.decoder))", service.decoder == nil ? .config : .service)
                let interceptors = prepared.interceptors.map { "\(type(of: $0))" }
                let isOwn = !service.interceptors.isEmpty
                add("interceptors", interceptors, interceptors.isEmpty ? .library : isOwn ? .service : .config)
            case "accessories":
                add(name, accessories, Self.source(values, service, config))
                let isBuilt = try request.customURLRequest() == nil
                let words = isBuilt ? "" : "used in place of the members above"
                add("customURLRequest", words, isBuilt ? .library : .request)
            case "formattingContext":
                add(name, formatting.rawValue, formatting == .background ? .library : .request)
            case "attributes": add(name, values.attributes.keys.sorted())
            default: add(name, "\(child.value)", "\(child.value)" == "\(own.value)" ? .library : .request)
            }
        }
        #if DEBUG
        let diagnostics = IgnoredMembers.diagnostics(of: request)
        if !diagnostics.isEmpty {
            add("ignoredMembers", diagnostics.map(\.description).joined(separator: "; "), .request)
        }
        #endif
        self.entries = entries
    }

    private static func words(for body: OutgoingBody) -> String {
        body.byteCount.map { $0 == 0 ? "empty" : "\($0) bytes" } ?? "streamed"
    }

    private static func source(_ request: RequestValues, _ service: Service, _ config: NetworkConfig) -> SettingSource {
        if !request.accessories.isEmpty { return .request }
        if !service.accessories.isEmpty { return .service }
        return config.accessories.isEmpty ? .library : .config
    }
}
