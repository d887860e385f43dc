#if DEBUG
internal import Foundation

/// Finds two kinds of stored properties: properties that look like members of ``Request`` but that Swift ignores, because only
/// a subclass declares them or their type differs, and parameters that are members.
enum IgnoredMembers {
    private static let known = Lock<[ObjectIdentifier: [Diagnostic]]>([:])

    /// Returns the diagnostics for the type of a request, or of the request that it wraps.
    static func diagnostics(of request: any Request) -> [Diagnostic] {
        if let wrapper = request as? any RequestWrapper { return diagnostics(of: base(of: wrapper)) }
        let type = ObjectIdentifier(type(of: request))
        if let diagnostics = known.withLock({ $0[type] }) { return diagnostics }
        let diagnostics = find(in: request)
        known.withLock { $0[type] = diagnostics }
        return diagnostics
    }

    private static func base(of wrapper: some RequestWrapper) -> any Request { wrapper.base }

    private static func find(in request: some Request) -> [Diagnostic] {
        let mirror = Mirror(reflecting: request)
        // The mirror of its own may show anything.
        let stored = request is any CustomReflectable ? nil : storedProperties(mirror)
        guard let stored else { return [] }
        if let inherited = inherited(mirror) { return [inherited] }
        return mistyped(request, stored)
    }

    /// Returns the values of the properties by their names; for a subclass, only its own.
    private static func storedProperties(_ mirror: Mirror) -> [String: Any] {
        // The children of an enum are the values of its case.
        guard mirror.displayStyle != .enum else { return [:] }
        return mirror.children.reduce(into: [:]) { properties, child in child.label.map { properties[$0] = child.value }
        }
    }

    // MARK: Subclasses

    /// Finds the members that only a subclass declares; a stored property never overrides another one.
    private static func inherited(_ mirror: Mirror) -> Diagnostic? {
        let chain = Array(sequence(first: mirror) { $0.superclassMirror })
        // The outermost class with a conformance provides it.
        guard let place = chain.lastIndex(where: { $0.subjectType is any Request.Type }), place > 0 else { return nil }
        let ignored = Set(chain[..<place].flatMap { $0.children.compactMap(\.label) }).intersection(members)
        guard !ignored.isEmpty else { return nil }
        return .ignoredMembers(
            ignored.sorted(),
            of: "\(mirror.subjectType)",
            conforming: "\(chain[place].subjectType)"
        )
    }

    /// The names of the requirements.
    private static let members: Set<String> = Set(
        Array(types.keys) + ["filter", "formatter", "check", "didProduce", "shouldCache", "customURLRequest"]
    )

    // MARK: Other types

    /// Finds the properties that have the name of a requirement and another type, and the parameters that are members.
    private static func mistyped<R: Request>(_ request: R, _ stored: [String: Any]) -> [Diagnostic] {
        let associated = associated(R.self)
        let parameters = parameterNames(of: request)
        var (ignored, sent): (Set<String>, Set<String>) = ([], [])
        for (name, value) in stored where isMistyped(name, value, associated[name], isParameter: parameters != nil) {
            if parameters?.contains(name) == true {
                sent.insert(name)
            } else if parameters == nil || associated[name] != nil || isOptional(value, of: name) {
                // Other properties have keys that the author listed or left out, or are `nil`.
                ignored.insert(name)
            }
        }
        let name = "\(R.self)"
        var found: [Diagnostic] = []
        if ignored.remove("formatter") != nil { found.append(.formatterOfAnotherModel("\(R.Model.self)", of: name)) }
        if !ignored.isEmpty { found.append(.mistypedMembers(ignored.sorted().map(spelling), of: name)) }
        if !sent.isEmpty { found.append(.membersSentAsParameters(sent.sorted().map(spelling), of: name)) }
        // Among the members that are text, only this one is also a likely parameter; a mistaken path shows in the URL.
        if parameters?.contains("tag") == true, stored["tag"].map({ type(of: $0) == String.self }) == true {
            found.append(.parametersNotSent(["tag"], of: name))
        }
        return found
    }

    /// Returns the stored properties that are parameters because the compiler listed them, or `nil` if the request has other
    /// parameters.
    private static func parameterNames(of request: some Request) -> Set<String>? {
        guard let encodable = request as? any Request & Encodable,
            let parameters = try? encodable.parameters,  // The send throws the error.
            parameters.areOwnProperties
        else { return nil }
        return Parameters.synthesizedKeys(of: encodable)
    }

    /// The types of the requirements that are not associated types.
    private static let types: [String: Any.Type] = Mirror(reflecting: RequestValues.defaults).children
        .reduce(into: ["query": Parameters.self, "parameters": Parameters.self, "body": RequestBody.self]) {
            types,
            child in
            if let name = child.label, name != "filter" { types[name] = type(of: child.value) }
        }

    /// The requirements whose names services also use for values of their own, such as the `query` of a search.
    private static let namesOfValues: Set<String> = [
        "query", "parameters", "body", "method", "service", "priority", "acceptance", "tag", "attributes",
    ]

    /// Returns whether a stored property has another type than the requirement of its name, and is hardly a value of a
    /// service's own: a parameter, or what other members are made from.
    private static func isMistyped(
        _ name: String,
        _ value: Any,
        _ associated: Any.Type?,
        isParameter: Bool
    ) -> Bool {
        if let associated {
            let isHook = name == "filter" ? value is any ResponseFilter : value is any ResponseFormatter
            return isHook && type(of: value) != associated
        }
        guard let expected = types[name], type(of: value) != expected else { return false }
        guard namesOfValues.contains(name) else { return true }
        if name != "tag", isOptional(value, of: name) { return true }
        switch name {
        case "method": return (value as? String).map(methods.contains) ?? false
        case "body" where value is Data: return !isParameter
        case "body", "query", "parameters", "attributes":
            return !isParameter && Mirror(reflecting: value).displayStyle == .dictionary
        default: return false
        }
    }

    /// Returns whether a value is an Optional of the type of a requirement.
    private static func isOptional(_ value: Any, of name: String) -> Bool {
        func optional<Value>(_ type: Value.Type) -> Any.Type { Value?.self }
        guard let type = types[name] else { return false }
        return Swift.type(of: value) == optional(type)
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// Returns the declaration that overrides a requirement.
    private static func spelling(_ name: String) -> String {
        switch name {
        case "accessories": "var accessories: [any Accessory]"
        case "attributes": "var attributes: [String: any Sendable]"
        case "filter": "var filter: some ResponseFilter"
        default: "var \(name): \(types[name].map { "\($0)" } ?? "")"
        }
    }

    /// Returns the members for which Swift inferred the default: a declaration of another type has no effect.
    private static func associated<R: Request>(_ request: R.Type) -> [String: Any.Type] {
        var members: [String: Any.Type] = [:]
        if R.Filter.self == InheritedFilter.self { members["filter"] = R.Filter.self }
        if R.Formatter.self == DefaultFormatter<R.Model>.self { members["formatter"] = R.Formatter.self }
        return members
    }
}
#endif
