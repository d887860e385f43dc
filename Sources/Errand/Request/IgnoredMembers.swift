#if DEBUG
/// Finds the declarations of a request that look like members of ``Request``, and that Swift ignores: those that only a
/// subclass declares, and properties of another type.
///
/// Stored properties are found by reflection, other members in ``ProgramSymbols``; without symbols, they are not found.
enum IgnoredMembers {
    private static let known = Lock<[ObjectIdentifier: Diagnostic?]>([:])

    /// Returns the diagnostic for the type of a request, or of the request that it wraps, or `nil` if there is none.
    static func diagnostic(of request: any Request) -> Diagnostic? {
        if let wrapper = request as? any RequestWrapper { return diagnostic(of: base(of: wrapper)) }
        let type = ObjectIdentifier(type(of: request))
        if let diagnostic = known.withLock({ $0[type] }) { return diagnostic }
        let diagnostic = find(in: request)
        known.withLock { $0[type] = .some(diagnostic) }
        return diagnostic
    }

    private static func base(of wrapper: some RequestWrapper) -> any Request { wrapper.base }

    private static func find(in request: any Request) -> Diagnostic? {
        let mirror = Mirror(reflecting: request)
        // The mirror of its own may show anything.
        let stored = request is any CustomReflectable ? nil : Set(mirror.children.compactMap(\.label))
        let own = ProgramSymbols.members(of: mirror.subjectType)
        return inherited(mirror, own, stored) ?? mistyped(mirror, own, stored, associated(request))
    }

    // MARK: Subclasses

    /// Finds the members that only a subclass declares.
    private static func inherited(
        _ mirror: Mirror,
        _ own: ProgramSymbols.Members?,
        _ stored: Set<String>?
    ) -> Diagnostic? {
        let chain = Array(sequence(first: mirror) { $0.superclassMirror })
        // The conformance is that of the outermost class that has one.
        guard let place = chain.lastIndex(where: { $0.subjectType is any Request.Type }), place > 0 else { return nil }
        let inherited = chain[place...].map { ProgramSymbols.members(of: $0.subjectType).map(names) }
        var ignored: Set<String> = []
        for (index, mirror) in chain[..<place].enumerated() {
            // A stored property never overrides another one.
            if stored != nil { ignored.formUnion(mirror.children.compactMap(\.label).filter(members.contains)) }
            // Without the symbols of the superclasses, an override looks the same.
            let declared = index == 0 ? own : ProgramSymbols.members(of: mirror.subjectType)
            guard !inherited.contains(where: { $0 == nil }), let declared else { continue }
            ignored.formUnion(names(declared).subtracting(inherited.reduce(into: []) { $0.formUnion($1 ?? []) }))
        }
        guard !ignored.isEmpty else { return nil }
        return .ignoredMembers(
            ignored.sorted(),
            of: "\(mirror.subjectType)",
            conforming: "\(chain[place].subjectType)"
        )
    }

    /// The names of the requirements.
    private static let members: Set<String> = Set(
        Mirror(reflecting: RequestValues.defaults).children.compactMap(\.label)
            + ["formatter", "check", "didProduce", "shouldCache", "customURLRequest"]
    )

    /// Returns the names of those members that are requirements: of methods, those with the same argument labels.
    private static func names(_ declared: ProgramSymbols.Members) -> Set<String> {
        let found = declared.filter { name, kinds in
            guard members.contains(name) else { return false }
            guard let expected = defaults[name] else { return true }
            // A property may have a modifier of the same name.
            if expected.contains(where: { labels(of: $0) == nil }) { return kinds.contains { labels(of: $0) == nil } }
            return kinds.contains { kind in expected.contains { labels(of: $0) == labels(of: kind) } }
        }
        return Set(found.keys)
    }

    /// Returns the argument labels of a method, such as `_` and `of`, or `nil` for a property.
    private static func labels(of kind: String) -> [String]? {
        guard kind.first == "(" else { return nil }
        var (labels, label, depth, last): ([String], String?, Int, Character) = ([], "", 0, " ")
        for character in kind.dropFirst() {
            switch character {
            case "(", "[", "<": depth += 1
            case ")" where depth == 0: return labels
            case ")", "]": depth -= 1
            case ">" where last != "-": depth -= 1
            case "," where depth == 0: label = ""
            case ":" where depth == 0:
                if let text = label { labels.append(text) }
                label = nil
            case " ": break
            default: label?.append(character)
            }
            last = character
        }
        return nil
    }

    // MARK: Other types

    /// What the library itself declares for the requirements that have a default.
    private static let defaults = ProgramSymbols.members(ofProtocol: "Request") ?? [:]

    /// Finds the computed properties that have the name of a requirement and another type.
    ///
    /// Stored ones may be parameters, or what other members are made from.
    private static func mistyped(
        _ mirror: Mirror,
        _ own: ProgramSymbols.Members?,
        _ stored: Set<String>?,
        _ associated: [String: Associated]
    ) -> Diagnostic? {
        guard let own, let stored else { return nil }
        let spellings = own.keys.sorted().compactMap { name -> String? in
            guard !stored.contains(name), let types = own[name]?.compactMap(typeName), let type = types.first else {
                return nil
            }
            if let associated = associated[name] {
                return type == associated.type ? nil : "var \(name): \(associated.spelling)"
            }
            guard let expected = defaults[name]?.compactMap(typeName).first, type != expected
            else { return nil }
            let words = expected.replacing("Errand.", with: "").replacing("Swift.", with: "")
            return "var \(name): \(words)"
        }
        return spellings.isEmpty ? nil : .mistypedMembers(spellings, of: "\(mirror.subjectType)")
    }

    /// The type of a member whose type is an associated type of the request, and how to declare another one.
    private typealias Associated = (type: String, spelling: String)

    /// Returns those members for which Swift inferred the default: a declaration of another type has no effect.
    private static func associated<R: Request>(_ request: R) -> [String: Associated] {
        var members: [String: Associated] = [:]
        if R.Filter.self == InheritedFilter.self {
            members["filter"] = ProgramSymbols.name(of: R.Filter.self).map { ($0, "some ResponseFilter") }
        }
        if R.Formatter.self == DefaultFormatter<R.Model>.self {
            members["formatter"] = ProgramSymbols.name(of: R.Formatter.self)
                .map { ($0, "some ResponseFormatter<\(R.Model.self)>") }
        }
        return members
    }

    /// Returns the type of a property, or `nil` for a method.
    private static func typeName(of kind: String) -> String? {
        kind.hasPrefix(".getter : ") ? String(kind.dropFirst(".getter : ".count)) : nil
    }
}
#endif
