public import Errand
import Foundation

extension MockService {
    /// Responds to all requests of a type, modified or not, with the values that a closure returns.
    ///
    /// The value is encoded so that the decoder of the request reads it, and wrapped in the envelope that its filter unwraps.
    /// `Data`, and a `String` for a model of another type, are the body as they are.
    ///
    /// ```swift
    /// stub.on(GetUser.self) { request in User(id: request.id, name: "Ada") }
    /// ```
    ///
    /// A ``ServiceError`` that the closure throws is reported as the service would; a ``MockResponse`` that it throws is the
    /// response, such as `MockResponse.status(503)`. Other errors are treated as those of an asynchronous handler.
    ///
    /// A page of `pages(of:by:)` after the first fails: its parameter is not in the request. Use a closure with two arguments.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the model, or any value that encodes to the same JSON, such as a `JSONValue`.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on<R: Request & Sendable, Reply: Encodable & SendableMetatype>(
        _ type: R.Type,
        _ reply: @escaping @Sendable (R) async throws -> Reply
    ) -> MockRoute {
        route(type) { request, encoding in try encoding.response(try await reply(request)) }
    }

    /// Responds to all requests of a type with the values that a closure returns, which also reads what is sent.
    ///
    /// ```swift
    /// stub.on(ListOrders.self) { _, received in received.query == "page=3" ? [] : [Order(id: 1)] }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the model, from the request as a value and as it was received.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on<R: Request & Sendable, Reply: Encodable & SendableMetatype>(
        _ type: R.Type,
        _ reply: @escaping @Sendable (R, MockRequest) async throws -> Reply
    ) -> MockRoute {
        route(type, takesPages: true) { try $1.response(try await reply($0, $1.request)) }
    }

    /// Responds to all requests of a type, modified or not, with responses that a closure returns.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the response, which is sent as it is.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on<R: Request & Sendable>(
        _ type: R.Type,
        _ reply: @escaping @Sendable (R) async throws -> MockResponse
    ) -> MockRoute {
        route(type) { request, _ in try await reply(request) }
    }

    /// Responds to all requests of a type with responses that a closure returns, which also reads what is sent.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the response, from the request as a value and as it was received.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on<R: Request & Sendable>(
        _ type: R.Type,
        _ reply: @escaping @Sendable (R, MockRequest) async throws -> MockResponse
    ) -> MockRoute {
        route(type, takesPages: true) { try await reply($0, $1.request) }
    }

    /// Responds to all requests of a type that has no model, modified or not.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: A closure that is called with each, and may throw.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on<R: Request & Sendable>(
        _ type: R.Type,
        _ reply: @escaping @Sendable (R) async throws -> Void = { _ in }
    ) -> MockRoute where R.Model == Void {
        route(type) { request, encoding in
            try await reply(request)
            return try encoding.response(JSONValue.null)
        }
    }

    private func route<R: Request & Sendable>(
        _ type: R.Type,
        takesPages: Bool = false,
        _ respond: @escaping @Sendable (R, MockEncoding) async throws -> MockResponse
    ) -> MockRoute {
        let model = MockEncoding.Model(R.Model.self)
        return typedRoute(type, takesPages) { sent, received in
            guard let request = sent.value(as: R.self) else {
                throw MockEncodingError("\(R.self) was sent as another type")
            }
            return try await respond(request, MockEncoding(sent, model, to: received))
        }
    }

    /// Responds to all requests of a type, modified or not, with the values that a closure returns on the main actor, such as for
    /// a request that is isolated to it.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the model, or any value that encodes to the same JSON, such as a `JSONValue`.
    /// - Returns: The route, which counts its requests.
    @MainActor
    @discardableResult
    public func on<R: Request, Reply: Encodable>(
        _ type: R.Type,
        _ reply: @escaping @MainActor (R) async throws -> Reply
    ) -> MockRoute {
        mainRoute(type) { request, encoding in try encoding.response(try await reply(request)) }
    }

    /// Responds to all requests of a type with the values that a closure returns on the main actor, which also reads what is sent.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the model, from the request as a value and as it was received.
    /// - Returns: The route, which counts its requests.
    @MainActor
    @discardableResult
    public func on<R: Request, Reply: Encodable>(
        _ type: R.Type,
        _ reply: @escaping @MainActor (R, MockRequest) async throws -> Reply
    ) -> MockRoute {
        mainRoute(type, takesPages: true) { try $1.response(try await reply($0, $1.request)) }
    }

    /// Responds to all requests of a type, modified or not, with responses that a closure returns on the main actor.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the response, which is sent as it is.
    /// - Returns: The route, which counts its requests.
    @MainActor
    @discardableResult
    public func on<R: Request>(
        _ type: R.Type,
        _ reply: @escaping @MainActor (R) async throws -> MockResponse
    ) -> MockRoute {
        mainRoute(type) { request, _ in try await reply(request) }
    }

    /// Responds to all requests of a type with responses that a closure returns on the main actor, which also reads what is sent.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: Returns the response, from the request as a value and as it was received.
    /// - Returns: The route, which counts its requests.
    @MainActor
    @discardableResult
    public func on<R: Request>(
        _ type: R.Type,
        _ reply: @escaping @MainActor (R, MockRequest) async throws -> MockResponse
    ) -> MockRoute {
        mainRoute(type, takesPages: true) { try await reply($0, $1.request) }
    }

    /// Responds to all requests of a type that has no model, modified or not.
    ///
    /// - Parameters:
    ///   - type: The type of the requests.
    ///   - reply: A closure that is called on the main actor with each, and may throw.
    /// - Returns: The route, which counts its requests.
    @MainActor
    @discardableResult
    public func on<R: Request>(
        _ type: R.Type,
        _ reply: @escaping @MainActor (R) async throws -> Void = { _ in }
    ) -> MockRoute where R.Model == Void {
        mainRoute(type) { request, encoding in
            try await reply(request)
            return try encoding.response(JSONValue.null)
        }
    }

    @MainActor
    private func mainRoute<R: Request>(
        _ type: R.Type,
        takesPages: Bool = false,
        _ respond: @escaping @MainActor (R, MockEncoding) async throws -> MockResponse
    ) -> MockRoute {
        let model = MockEncoding.Model(R.Model.self)
        let run: @MainActor (SentRequest, MockRequest) async throws -> MockResponse = { sent, received in
            guard let request = sent.valueOnMain(as: R.self) else {
                throw MockEncodingError("\(R.self) was sent as another type")
            }
            return try await respond(request, MockEncoding(sent, model, to: received))
        }
        return typedRoute(type, takesPages) { try await run($0, $1) }
    }

    private func typedRoute<R: Request>(
        _ type: R.Type,
        _ takesPages: Bool,
        _ respond: @escaping @Sendable (SentRequest, MockRequest) async throws -> MockResponse
    ) -> MockRoute {
        let (id, name) = (ObjectIdentifier(type), SentRequest.name(of: type))
        let responder = Responder.asyncHandler { received in
            guard let sent = received.sent else { throw MockEncodingError("\(name) was sent without its value") }
            guard takesPages || !sent.isLaterPage else {
                throw MockEncodingError(
                    "the parameter of a page after the first is not in the value of \(name): mock it with a closure of two "
                        + "arguments, { request, received in … }, and read what was received"
                )
            }
            do {
                return try await respond(sent, received)
            } catch let error as ServiceError {
                return try MockEncoding(sent, MockEncoding.Model(Void.self), to: received).response(error)
            }
        }
        let route = MockRoute(name, .type(id), [responder]) { request, _ in
            request.sent?.contains(id) == true ? [:] : nil
        }
        script.add(route)
        return route
    }
}

extension ServiceError {
    /// Creates an error for a typed mock to throw, which the agent receives as the service would send it.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - message: The message, or `nil` for none.
    ///   - payload: JSON in the place of the data, or `nil` for none.
    ///   - status: The status of the response.
    public init(code: ServiceCode, message: String? = nil, payload: JSONValue? = nil, status: Int = 200) {
        let url = URL(filePath: "/")
        self.init(
            code: code,
            message: message,
            payload: payload.map { Payload($0.data) },
            response: RawResponse(statusCode: status, url: url)
        )
    }
}
