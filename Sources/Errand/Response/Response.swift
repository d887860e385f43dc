public import Foundation

/// A model and the response that it was created from.
public struct Response<Model> {
    /// The formatter's output.
    public let model: Model
    private let accepted: AcceptedResponse
    /// Whether a fresh response follows in the same sequence.
    let isFollowed: Bool

    /// Creates a response from a model and its source.
    init(model: Model, of accepted: consuming AcceptedResponse) {
        self.model = model
        isFollowed = accepted.caching?.isFollowed ?? false
        // The bytes to store are released before the response.
        if accepted.caching != nil { accepted.caching = nil }
        self.accepted = accepted
    }

    private init(model: Model, accepted: AcceptedResponse, isFollowed: Bool) {
        (self.model, self.accepted, self.isFollowed) = (model, accepted, isFollowed)
    }

    /// The response as received.
    public var raw: RawResponse { accepted.response }
    /// The part of the body that became the model.
    public var payload: Payload { accepted.payload }
    /// Whether the response came from the network or from the cache.
    public var source: ResponseSource { accepted.source }
    /// The durations of the stages.
    public var metrics: Metrics { accepted.metrics }

    /// The status code of the response.
    public var statusCode: Int { raw.statusCode }
    /// The header fields of the response.
    public var headers: HTTPHeaders { raw.headers }
    /// The complete body, including the envelope.
    public var body: Data { raw.body }
    /// The URL of the response, after redirects.
    public var url: URL { raw.url }

    /// The redirects that led to the response, in order.
    public var redirects: [Redirect] { raw.redirects }

    /// Decodes another part of the same payload; can be called any number of times.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - path: The path from the payload, or from the complete body if it begins with `~`.
    /// - Returns: The value.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        try payload.decode(type, at: path)
    }
}

extension Response {
    /// Returns the same response with a transformed model.
    ///
    /// - Parameter transform: A closure that is called once, immediately.
    /// - Returns: The response with the model that the closure returned.
    /// - Throws: The error of the closure.
    public func map<Other, Failure: Error>(
        _ transform: (Model) throws(Failure) -> Other
    ) throws(Failure) -> Response<Other> {
        Response<Other>(model: try transform(model), accepted: accepted, isFollowed: isFollowed)
    }
}

extension Response: Sendable where Model: Sendable {}

/// A model that is about to be delivered, and the response that it came from, if it came from a single one.
struct Delivered<Model> {
    let model: Model
    /// The response, or `nil` if the model did not come from a single one.
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

extension Delivered: Sendable where Model: Sendable {}
