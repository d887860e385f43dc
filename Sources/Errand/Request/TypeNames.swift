/// What is known of a type of requests, found out once: to ask for a conformance costs as much as to make a name.
struct RequestType: Sendable {
    let name: String
    /// Whether its formatter is the library's, and cannot block.
    let hasLibraryFormatter: Bool
    /// Whether it consists of requests, and is not sent itself.
    let isComposed: Bool

    private static let known = Lock<[ObjectIdentifier: RequestType]>([:])

    static func of<R: Request>(_ type: R.Type) -> RequestType {
        let id = ObjectIdentifier(type)
        if let facts = known.withLock({ $0[id] }) { return facts }
        let facts = RequestType(
            name: TypeNames.name(of: type),
            hasLibraryFormatter: R.Formatter.self is any OwnFormatter.Type,
            isComposed: type is any ComposedRequest.Type
        )
        known.withLock { $0[id] = facts }
        return facts
    }
}

/// The names of types, each made once: making one costs as much as building a request.
enum TypeNames {
    private static let known = Lock<[ObjectIdentifier: String]>([:])

    /// The name by which people call a type.
    ///
    /// A generic type of the library goes without its arguments, as in `GeneralRequest`; one of the user's keeps them, as
    /// in `GetPage<User>`. A request that wraps another goes by that one's name.
    static func name<T>(of type: T.Type) -> String {
        let id = ObjectIdentifier(type)
        if let name = known.withLock({ $0[id] }) { return name }
        var name = spelling(of: type)
        if let wrapper = type as? any RequestWrapper.Type { name = self.name(ofBase: wrapper) ?? name }
        known.withLock { $0[id] = name }
        return name
    }

    /// `nil` for a request that wraps nothing but its own values.
    private static func name<W: RequestWrapper>(ofBase type: W.Type) -> String? {
        W.Base.self == RequestValues.self ? nil : name(of: W.Base.self)
    }

    private static func spelling<T>(of type: T.Type) -> String {
        let spelling = String(describing: type)
        return String(reflecting: type).hasPrefix(ownPrefix) ? String(spelling.prefix { $0 != "<" }) : spelling
    }

    /// The name of the library's module and a point.
    private static let ownPrefix = String(String(reflecting: TypeNames.self).prefix { $0 != "." }) + "."
}
