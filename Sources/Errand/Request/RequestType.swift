/// The facts about a type of requests, computed once, because a conformance check takes as long as creating a name.
///
/// A class, because every send looks them up.
final class RequestType: Sendable {
    /// The type, or the type of the request that it changes: requests that differ by modifiers are of one type.
    let id: ObjectIdentifier
    let name: String
    /// Whether its model is `Void` by default, which Swift infers for a request that declares no `Model`.
    let mayLackModel: Bool
    /// Whether it consists of requests and is not sent itself.
    let isComposed: Bool
    /// Whether its body is not kept in memory.
    let isReceiving: Bool

    private static let known = Lock<[ObjectIdentifier: RequestType]>([:])

    private init<R: Request>(_ type: R.Type) {
        id = (type as? any AnyModifiedRequest.Type)?.unmodified ?? ObjectIdentifier(type)
        name = TypeNames.name(of: type)
        mayLackModel = R.Formatter.self == DefaultFormatter<Void>.self
        isComposed = type is any ComposedRequest.Type
        isReceiving = type is any ReceivingRequest.Type
    }

    /// Returns the facts about the request that is sent: the request of a step of a chain, or the request itself.
    static func sent<R: Request>(by request: R) -> RequestType {
        let type = of(R.self)
        return type.isComposed ? (request as? any ComposedRequest)?.sentType ?? type : type
    }

    static func of<R: Request>(_ type: R.Type) -> RequestType {
        let id = ObjectIdentifier(type)
        if let facts = known.withLock({ $0[id] }) { return facts }
        let facts = RequestType(type)
        known.withLock { $0[id] = facts }
        return facts
    }
}

/// The names of types.
enum TypeNames {
    /// Returns the short name of a type.
    ///
    /// A generic type of the library is named without its arguments, as in `GeneralRequest`; one of the user's keeps
    /// them, as in `GetPage<User>`. A request that wraps another has the name of that one.
    static func name<T>(of type: T.Type) -> String {
        (type as? any RequestWrapper.Type).flatMap { name(ofBase: $0) } ?? spelling(of: type)
    }

    /// Returns the name of the wrapped type, or `nil` for a request without a type of its own.
    private static func name<W: RequestWrapper>(ofBase type: W.Type) -> String? {
        W.Base.self == DeclaredRequest.self ? nil : name(of: W.Base.self)
    }

    private static func spelling<T>(of type: T.Type) -> String {
        let spelling = String(describing: type)
        return String(reflecting: type).hasPrefix(ownPrefix) ? String(spelling.prefix { $0 != "<" }) : spelling
    }

    /// The name of the library's module, followed by a period.
    private static let ownPrefix = String(String(reflecting: TypeNames.self).prefix { $0 != "." }) + "."
}

/// A request that consists of requests, such as a batch, and is never sent itself.
protocol ComposedRequest: Request {
    /// The type of the one request that it sends, or `nil` if there may be several, or none.
    var sentType: RequestType? { get }
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension ComposedRequest {
    public var path: String { "" }
    /// Never called, because there is no single response.
    public var formatter: DefaultFormatter<Model> { DefaultFormatter() }
    /// Throws, because there is no single response.
    public func check() throws {
        throw Self.notOneRequest
    }

    var sentType: RequestType? { nil }

    static var notOneRequest: NetworkError {
        NetworkError(.notOneRequest(String(TypeNames.name(of: Self.self).prefix { $0 != "<" })))
    }
}

/// A request whose body is not kept in memory.
protocol ReceivingRequest: Request {
    /// Makes the receiver of one send, which has no effect until it is used.
    func makeReceiver() throws -> any BodyReceiver
}
