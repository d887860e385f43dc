internal import Foundation

/// A type that unwraps the payload of a response, or throws the error that the service reported.
///
/// A filter is also called for a rejected response if a body arrived; `response.failure` is then the reason. An error
/// of the filter replaces that failure; a payload does so only if ``recovers(from:in:)`` returns `true`.
public protocol ResponseFilter: Sendable {
    /// Returns the payload of a response.
    ///
    /// - Parameters:
    ///   - response: The response, which was accepted unless its `failure` is set.
    ///   - context: The send.
    /// - Returns: The part of the body that becomes the model.
    /// - Throws: An error that reaches the caller unchanged.
    func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload

    /// Returns whether the payload of a rejected response is a success; `false` by default.
    func recovers(from failure: any Error, in response: RawResponse) -> Bool

    /// Whether the filter decodes only what is guarded; `false` by default.
    ///
    /// If it is `false`, the JSON guard checks the body before the filter.
    var guardsItself: Bool { get }
}

extension ResponseFilter {
    /// Returns `false`, which is the default: a rejected response remains a failure.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool { false }

    /// The default: `false`, so the JSON guard checks the body before the filter.
    public var guardsItself: Bool { false }
}

/// A filter that passes on the complete body as the payload.
///
/// In a request whose response has no envelope, write `var filter: PassthroughFilter { .passthrough }`.
public struct PassthroughFilter: ResponseFilter {
    /// Creates the filter.
    public init() {}
    /// The filter, for a request's ``Request/filter``.
    public static let passthrough = PassthroughFilter()

    /// `true`: it decodes nothing.
    public var guardsItself: Bool { true }

    /// Returns the complete body as the payload.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - context: The send.
    /// - Returns: A payload of the complete body.
    /// - Throws: The response's ``RawResponse/failure`` if it was rejected.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        try Self.payload(of: response)
    }

    /// Returns the complete body as the payload.
    static func payload(of response: RawResponse) throws -> Payload {
        if let failure = response.failure { throw failure }
        return Payload(of: response)
    }
}

/// The filter of requests that declare none: the service's, then the config's, then none.
public struct InheritedFilter: ResponseFilter {
    /// Creates the filter.
    public init() {}

    /// Passes on the body; the agent uses the inherited filter in place of this one.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        try PassthroughFilter().filter(response, for: context)
    }
}

/// A filter that calls a closure.
public struct ClosureFilter: ResponseFilter {
    private let body: @Sendable (RawResponse, RequestContext) throws -> Payload

    /// Creates a filter from a closure, which is called in the background.
    ///
    /// It is also called for rejected responses; unless it throws, their ``RawResponse/failure`` is kept.
    public init(_ body: @escaping @Sendable (RawResponse, RequestContext) throws -> Payload) { self.body = body }

    /// Calls the closure and rethrows its error.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        try body(response, context)
    }
}
