public import Foundation

/// A model with the answer that it came from.
public struct Response<Model> {
    /// What the formatter made.
    public let model: Model
    private let parts: ResponseParts

    /// Creates a response from the answer that the model was made of.
    init(model: Model, of answer: Answer) {
        self.model = model
        parts = ResponseParts(answer)
    }

    private init(model: Model, parts: ResponseParts) {
        self.model = model
        self.parts = parts
    }

    /// The answer as received.
    public var raw: RawResponse { parts.answer.response }
    /// The part of the body that became the model.
    public var payload: Payload { parts.answer.payload }
    /// Whether the answer came from the network or from the cache.
    public var source: Source { parts.answer.source }
    /// How long each stage took.
    public var metrics: Metrics { parts.answer.metrics }
    /// Whether a fresh answer follows in the same sequence.
    var isFollowed: Bool { parts.isFollowed }

    /// The status of the answer.
    public var statusCode: Int { raw.statusCode }
    /// The fields of the answer's head.
    public var headers: HTTPHeaders { raw.headers }
    /// The whole body, envelope included.
    public var body: Data { raw.body }
    /// Where the answer came from, after redirects.
    public var url: URL { raw.url }

    /// The redirects that led to the answer, in order.
    public var redirects: [Redirect] { raw.redirects }

    /// Decodes another part of the same payload, any number of times.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - path: The way from the payload; from the whole body when it begins with `~`.
    /// - Returns: The value.
    /// - Throws: ``NetworkError``, or what the type's own `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        try payload.decode(type, at: path)
    }
}

extension Response {
    /// Makes the same response with another model.
    ///
    /// - Parameter transform: Called once, here and now.
    /// - Returns: The response with the model that the closure made of this one's.
    /// - Throws: What the closure throws.
    public func map<Other, Failure: Error>(
        _ transform: (Model) throws(Failure) -> Other
    ) throws(Failure) -> Response<Other> {
        Response<Other>(model: try transform(model), parts: parts)
    }
}

extension Response: Sendable where Model: Sendable {}

/// What a response has whatever its model, in one place: a copy of a response copies a reference.
private final class ResponseParts: Sendable {
    let answer: Answer
    let isFollowed: Bool

    init(_ answer: consuming Answer) {
        isFollowed = answer.caching?.isFollowed ?? false
        // What is to be stored isn't kept for as long as the response.
        answer.caching = nil
        self.answer = answer
    }
}

/// A model, with the response that it came from where it is of one.
struct Made<Model> {
    let model: Model
    /// `nil` for what was not one answer.
    let response: Response<Model>?

    init(_ model: Model) {
        self.model = model
        response = nil
    }

    init(_ response: Response<Model>) {
        model = response.model
        self.response = response
    }
}

extension Made: Sendable where Model: Sendable {}

/// Where an answer came from.
public enum Source: Sendable {
    /// The answer arrived in this send.
    case network
    /// A stored answer of this age.
    case cache(age: Duration)
    /// A stored answer that the server confirmed.
    case revalidated
    /// A stored answer older than wanted, because the network failed with this error.
    case stale(age: Duration, error: any Error)

    /// Whether the bytes were stored before this send.
    public var isFromCache: Bool { if case .network = self { false } else { true } }
}
