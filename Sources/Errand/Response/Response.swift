public import Foundation

/// A model with the answer that it came from.
public struct Response<Model> {
    /// What the formatter made.
    public let model: Model
    /// The answer as received.
    public let raw: RawResponse
    /// The part of the body that became the model.
    public let payload: Payload
    /// Whether the answer came from the network or from the cache.
    public let source: Source
    /// How long each stage took.
    public let metrics: Metrics
    /// Whether a fresh answer follows in the same sequence.
    let isFollowed: Bool

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
        Response<Other>(
            model: try transform(model),
            raw: raw,
            payload: payload,
            source: source,
            metrics: metrics,
            isFollowed: isFollowed
        )
    }
}

extension Response: Sendable where Model: Sendable {}

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
