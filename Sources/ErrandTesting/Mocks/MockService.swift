public import Errand
public import Foundation

/// A service whose responses a test declares: a ``StubTransport``, without sockets, or a ``MockServer``.
///
/// Of the routes that match a request, the one that was added last is used. A typed mock replaces an earlier one for the same
/// type, and a route without a condition an earlier one for the same method and path.
///
/// ```swift
/// let stub = StubTransport()
/// stub.on(GetUser.self) { request in User(id: request.id, name: "Ada") }
/// stub.on(.get, "/orders/:id") { request in .json(#"{"id": \#(request.parameters["id"]!)}"#) }
/// stub.on(.post, "/orders", .status(503), .status(201)).times(2)
/// ```
public protocol MockService: AnyObject, Sendable {
    /// The routes, and what was sent; use the functions of this protocol.
    var script: MockScript { get }
}

extension MockService {
    /// Adds responses to a method and a path, one for each request; the last one is repeated.
    ///
    /// - Parameters:
    ///   - method: The method, which is case-sensitive.
    ///   - path: The percent-encoded path. `:name` in place of a component matches any, and a `*` at the end any rest. The
    ///     query is compared only if the path has one; one that begins with a scheme is the absolute URL of a request to a
    ///     stub. The first slash may be omitted.
    ///   - condition: Whether a request with this method and path matches, by its header fields, its query or its body.
    ///   - response: The first response.
    ///   - others: The responses to further requests.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on(
        _ method: HTTPMethod,
        _ path: String,
        where condition: (@Sendable (MockRequest) -> Bool)? = nil,
        _ response: MockResponse,
        _ others: MockResponse...
    ) -> MockRoute {
        route(method, path, condition, Responder.responses([response] + others))
    }

    /// Adds a closure that responds to a method and a path.
    ///
    /// - Parameters:
    ///   - method: The method, which is case-sensitive.
    ///   - path: The path, as for responses.
    ///   - condition: Whether a request with this method and path matches.
    ///   - handler: Returns the response. It runs on the thread of the connection, or in the task of a stub, never under a
    ///     lock.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on(
        _ method: HTTPMethod,
        _ path: String,
        where condition: (@Sendable (MockRequest) -> Bool)? = nil,
        _ handler: @escaping @Sendable (MockRequest) -> MockResponse
    ) -> MockRoute {
        route(method, path, condition, [.handler(handler)])
    }

    /// Adds an asynchronous closure that responds to a method and a path.
    ///
    /// A ``MockResponse`` that it throws is the response. A `NetworkError` that it throws is the failure of the send over a
    /// stub; a server resets the connection, and is silent for a timeout. Any other error is the failure over a stub, and a 500
    /// of a server.
    ///
    /// - Parameters:
    ///   - method: The method, which is case-sensitive.
    ///   - path: The path, as for responses.
    ///   - condition: Whether a request with this method and path matches.
    ///   - handler: Returns the response. It is cancelled if the client closes the connection.
    /// - Returns: The route, which counts its requests.
    @discardableResult
    public func on(
        _ method: HTTPMethod,
        _ path: String,
        where condition: (@Sendable (MockRequest) -> Bool)? = nil,
        _ handler: @escaping @Sendable (MockRequest) async throws -> MockResponse
    ) -> MockRoute {
        route(method, path, condition, [.asyncHandler(handler)])
    }

    /// Adds a response whose body the test sends, piece by piece.
    ///
    /// - Parameters:
    ///   - path: The path, as for responses.
    ///   - method: The method.
    ///   - contentType: The type of the body; server-sent events by default.
    /// - Returns: The stream, which every request for it reads.
    public func stream(
        _ path: String,
        method: HTTPMethod = .get,
        contentType: String = "text/event-stream"
    ) -> MockStream {
        let stream = MockStream()
        on(method, path, MockResponse(stream, contentType: contentType))
        return stream
    }

    /// Adds faults to some of the responses, at random.
    ///
    /// The same seed adds the same faults to the same sequence of requests. A random one is written to the standard error, and
    /// a ``verify()`` that fails names it.
    ///
    /// - Parameters:
    ///   - seed: The seed, or `nil` for a random one.
    ///   - rate: The share of responses that have one, from 0 to 1; 0 adds no more.
    ///   - faults: The faults, of which each is as likely. A stub has only those of ``MockFault/ofStubs``.
    public func faults(seed: UInt64? = nil, rate: Double, of faults: [MockFault] = MockFault.ofStubs) {
        let schedule = FaultSchedule(seed: seed ?? .random(in: 0...UInt64.max), rate: rate, faults: faults)
        script.set(rate > 0 ? schedule : nil)
        if rate > 0, seed == nil { FileHandle.standardError.write(Data("\(Self.self) \(schedule)\n".utf8)) }
    }

    /// Returns the requests of a type that were sent since there is a typed mock for it, in order, each time they were sent; at
    /// most 20,000 of all types are kept.
    ///
    /// Each page of `pages(of:by:)` is the first request, because only what is sent has its parameter.
    /// A ``MockServer`` knows them if the agent has its ``MockServer/transport(over:)``.
    public func sent<R: Sendable>(_ type: R.Type) -> [R] { script.sent.compactMap { $0.value(as: type) } }

    /// Throws if a route was not requested as often as expected, at least once unless ``MockRoute/times(_:)-(Int)`` says
    /// otherwise, or if there was a request without a route or a handler.
    ///
    /// - Throws: ``MockVerificationError``, which names each.
    public func verify() throws(MockVerificationError) {
        if let failure = script.failure { throw MockVerificationError(description: failure) }
    }

    func route(
        _ method: HTTPMethod,
        _ path: String,
        _ condition: (@Sendable (MockRequest) -> Bool)?,
        _ responders: [Responder]
    ) -> MockRoute {
        let pattern = RoutePattern(method, path)
        let route = MockRoute(pattern.description, condition == nil ? .pattern(pattern) : nil, responders) {
            request,
            method in
            guard let values = pattern.match(request, as: method) else { return nil }
            guard let condition else { return values }
            var request = request
            request.parameters = values
            return condition(request) ? values : nil
        }
        script.add(route)
        return route
    }
}

/// The error of ``MockService/verify()``.
public struct MockVerificationError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The routes that were not requested as expected, and the requests that no route is for, each on a line.
    public let description: String
    /// The same as ``description``.
    public var errorDescription: String? { description }
}
