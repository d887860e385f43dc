import Errand

/// A route of a ``MockService``, which counts its requests.
///
/// ```swift
/// let route = server.on(.get, "/users/:id", .status(503), .json(#"{"id": 7}"#)).times(2)
/// ```
public final class MockRoute: Sendable, CustomStringConvertible {
    /// What a later route without a condition must have in common with this one to replace it.
    enum Key: Sendable, Hashable {
        case type(ObjectIdentifier)
        case pattern(RoutePattern)
    }

    private struct State {
        var count = 0
        var expected = 1...Int.max
    }

    /// What it is for, such as `GET /users/:id` or `GetUser`.
    public let description: String
    /// `nil` for a route with a condition.
    let key: Key?
    let matches: @Sendable (MockRequest, HTTPMethod) -> [String: String]?
    private let responders: [Responder]
    private let state = Lock(State())

    /// Creates a route with at least one responder; the last one is used again for every further request.
    init(
        _ description: String,
        _ key: Key?,
        _ responders: [Responder],
        matching matches: @escaping @Sendable (MockRequest, HTTPMethod) -> [String: String]?
    ) {
        (self.description, self.key, self.responders, self.matches) = (description, key, responders, matches)
    }

    /// The number of its requests.
    public var count: Int { state.withLock { $0.count } }

    /// Sets how many requests ``MockService/verify()`` expects, in place of at least one.
    @discardableResult
    public func times(_ count: Int) -> MockRoute { times(count...count) }

    /// Sets how many requests ``MockService/verify()`` expects, in place of at least one; `0...` expects none in particular.
    @discardableResult
    public func times(_ range: PartialRangeFrom<Int>) -> MockRoute { times(range.lowerBound...Int.max) }

    /// Sets how many requests ``MockService/verify()`` expects, in place of at least one.
    @discardableResult
    public func times(_ range: ClosedRange<Int>) -> MockRoute {
        state.withLock { $0.expected = range }
        return self
    }

    /// Counts a request, and returns the responder to it.
    func next() -> Responder {
        let index = state.withLock { state in
            defer { state.count += 1 }
            return state.count
        }
        return responders[min(index, responders.count - 1)]
    }

    /// What ``MockService/verify()`` reports, or `nil` if it was sent as often as expected.
    var failure: String? {
        let (count, expected) = state.withLock { ($0.count, $0.expected) }
        guard !expected.contains(count) else { return nil }
        let (least, most) = (expected.lowerBound, expected.upperBound)
        let range = least == most ? "" : most == Int.max ? "at least " : "\(least) to "
        return
            "\(description): expected \(range)\(Self.times(most == Int.max ? least : most)), sent \(Self.times(count))"
    }

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }
}

/// The source of the response to a request.
enum Responder: Sendable {
    /// A response, and its bytes if they could be prepared.
    case response(MockResponse, wire: [UInt8]?)
    /// A closure that may block, but not a task.
    case handler(@Sendable (MockRequest) -> MockResponse)
    case asyncHandler(@Sendable (MockRequest) async throws -> MockResponse)
    /// A closure of a ``StubTransport`` only.
    case transport(StubTransport.Handler)

    static func responses(_ responses: [MockResponse]) -> [Responder] {
        responses.map { .response($0, wire: ResponseWriter.wire($0)) }
    }
}
