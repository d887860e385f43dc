/// The names of types, each made once: making one costs as much as building a request.
enum TypeNames {
    private static let known = Lock<[ObjectIdentifier: String]>([:])

    static func name<T>(of type: T.Type) -> String {
        let id = ObjectIdentifier(type)
        if let name = known.withLock({ $0[id] }) { return name }
        let name = String(describing: type)
        known.withLock { $0[id] = name }
        return name
    }
}
