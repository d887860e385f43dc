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

    /// The declarations that have no effect, or probably not the intended one; some are found in debug builds only.
    public let diagnostics: [Diagnostic]

    /// The resolved limits and rules, for ``Agent``'s audit.
    package let limits: Limits
    package let retryPolicy: RetryPolicy
    package let secrets: Secrets

    /// The setting of a name, such as `retryPolicy`, or `nil` if there is none.
    public subscript(name: String) -> Entry? { entries.first { $0.name == name } }

    /// The plan as lines of text, with the names of header fields and parameters but none of their values.
    ///
    /// Settings of the request, its service and the config come first, each with its source, then the defaults of the library.
    /// Empty settings are omitted.
    public var description: String {
        var lines = [
            "\(context.typeName): \(request.method) \(request.url.origin.authority)\(request.notes.declared?.shown ?? "")"
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
        let (values, service, settings) = (
            prepared.settings.request, prepared.settings.request.service, prepared.settings
        )
        limits = Limits(timeout: settings.timeout.value, deadline: settings.deadline.value)
        retryPolicy = settings.retryPolicy.value
        var diagnostics = [prepared.cacheDiagnostic, prepared.scopeDiagnostic].compactMap(\.self)
        #if DEBUG
        diagnostics += IgnoredMembers.diagnostics(of: request)
        #endif
        self.diagnostics = diagnostics
        var entries: [Entry] = []
        func add(_ name: String, _ value: String, _ source: SettingSource) {
            entries.append(Entry(name: name, value: value, source: source))
        }
        func add(_ name: String, _ names: [String], _ source: SettingSource? = nil) {
            add(name, names.joined(separator: ", "), names.isEmpty ? .library : source ?? .request)
        }
        func setting<Value>(_ name: String, _ setting: ResolvedSetting<Value>) {
            add(name, "\(setting.value)", setting.source)
        }
        func limit<Value>(_ name: String, _ setting: ResolvedSetting<Value?>) {
            add("limits.\(name)", setting.value.map { "\($0)" } ?? "no limit", setting.source)
        }
        func level(_ isOfRequest: Bool, _ isOfService: Bool = false, _ isOfConfig: Bool = false) -> SettingSource {
            isOfRequest ? .request : isOfService ? .service : isOfConfig ? .config : .library
        }
        add("path", DeclaredPath.shown(values.path), .request)
        add("service", service.id, level(service.id != Service.default.id))
        add("query", try request.query.names)
        add("parameters", try request.parameters.names)
        add("body", Self.words(for: final.body), level(try !request.body.isAutomatic || final.body.byteCount != 0))
        let basePlace = prepared.built.baseParameters
        let isBaseOfService = basePlace != .absent && !service.parameters.isEmpty
        add("baseParameters", basePlace.rawValue, level(false, isBaseOfService, basePlace != .absent))
        let isOwnHeader = !values.headers.isEmpty || service.headers.isEmpty && config.headers.isEmpty
        add("headers", final.headers.map(\.name), level(isOwnHeader, !service.headers.isEmpty, true))
        let authorization = settings.authorization
        let isOther = !prepared.credentials.areSent && authorization.source < .request
        let isWithheld = isOther && authorization.value != .anonymous
        // The library's default is not about a session.
        let own = authorization.source == .library ? "none" : "\(authorization.value)"
        add("authorization", isWithheld ? "withheld: another origin" : own, authorization.source)
        add("credentials", prepared.credentials.description, level(prepared.credentials.policy != .ownOrigins))
        if let session = prepared.pinnedCredential?.session {
            let restriction = session.appliesTo(final.url) ? "" : ", which does not apply to this URL"
            let source = level(false, service.authentication != .inherited, true)
            add("authentication", "\(type(of: session))\(restriction)", source)
        }
        let isAbsent = values.idempotencyKey == .absent
        add("idempotencyKey", isAbsent ? "absent" : "sent", level(!isAbsent))
        limit("timeout", settings.timeout)
        limit("deadline", settings.deadline)
        limit("maximumBodySize", settings.maximumBodySize)
        limit("maximumHeaderSize", settings.maximumHeaderSize)
        limit("maximumExpansion", settings.maximumExpansion)
        limit("minimumInterval", settings.minimumInterval)
        setting("retryPolicy", settings.retryPolicy)
        add("retryBudget", "\(config.retryBudget)", level(false, false, config.retryBudget != .standard))
        setting("redirectPolicy", settings.redirectPolicy)
        setting("parameterEncoding", settings.parameterEncoding)
        setting("acceptance", settings.acceptance)
        if !prepared.fallbacks.isEmpty {
            let urls = prepared.fallbacks.map {
                $0.outgoing.url.origin.description + ($0.outgoing.notes.declared?.shown ?? "")
            }
            add("cdnFallbacks", urls, level(false, service.cdnURL != nil || !service.cdnFallbacks.isEmpty, true))
        }
        setting("cachePolicy", settings.cachePolicy)
        if let diagnostic = prepared.cacheDiagnostic { add("cache", "\(diagnostic)", settings.cachePolicy.source) }
        let open = prepared.hooksWithoutScope.joined(separator: ", ")
        add("identity", open.isEmpty ? "known" : "unknown: \(open) declares no credential scope", .library)
        setting("cacheStorage", settings.cacheStorage)
        let hasKey = !values.duplicateKey.isEmpty
        add("duplicateKey", hasKey ? Secrets.mask : "", level(hasKey))
        setting("throttle", settings.throttle)
        let gates = prepared.sendGates.map { "\(type(of: $0))" }
        add("sendGates", gates, level(false, !service.sendGates.isEmpty, true))
        add("filter", "\(type(of: prepared.filter))", settings.filter.source)
        let formatter = "\(type(of: request.formatter))"
        // Swift infers Void for a request that declares no Model.
        let text = type(of: request).Model.self == Void.self ? "\(formatter): the model is Void" : formatter
        add("formatter", text, level(!formatter.hasPrefix("DefaultFormatter<")))
        add("decoder", "\(type(of: prepared.decoder))", level(false, service.decoder != nil, true))
        let interceptors = prepared.interceptors.map { "\(type(of: $0))" }
        add("interceptors", interceptors, level(false, !service.interceptors.isEmpty, true))
        add("accessories", accessories, level(!values.accessories.isEmpty, !service.accessories.isEmpty, true))
        let isBuilt = try request.customURLRequest() == nil
        add("customURLRequest", isBuilt ? "" : "used in place of the members above", level(!isBuilt))
        add("formattingContext", formatting.rawValue, level(formatting != .background))
        add("attributes", values.attributes.keys.sorted())
        // Every other member is listed by its text, and as the library's if that equals the default's.
        let listed = Set(entries.map(\.name) + ["limits"])
        let standard = Mirror(reflecting: RequestValues.defaults).children
        for (child, own) in zip(Mirror(reflecting: values).children, standard) {
            guard let name = child.label, !listed.contains(name) else { continue }
            add(name, "\(child.value)", level("\(child.value)" != "\(own.value)"))
        }
        let ignored = diagnostics.filter { $0 != prepared.cacheDiagnostic && $0 != prepared.scopeDiagnostic }
        if !ignored.isEmpty { add("ignoredMembers", ignored.map(\.description).joined(separator: "; "), .request) }
        self.entries = entries
    }

    private static func words(for body: OutgoingBody) -> String {
        body.byteCount.map { $0 == 0 ? "empty" : "\($0) bytes" } ?? "streamed"
    }
}
