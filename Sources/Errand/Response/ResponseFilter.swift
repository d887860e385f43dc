internal import Foundation

/// Unwraps the payload of an answer, or throws what the service reported.
///
/// A filter sees refused answers too, as long as a body arrived: then `response.failure` says why. What it throws takes
/// the place of that failure; a payload that it returns does so only when ``recovers(from:in:)`` says so.
public protocol ResponseFilter: Sendable {
    /// Finds the payload.
    ///
    /// - Parameters:
    ///   - response: The answer, accepted unless its `failure` is set.
    ///   - context: Which request it answers.
    /// - Returns: The part of the body that becomes the model.
    /// - Throws: What reaches the caller unchanged.
    func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload

    /// Whether the payload of a refused answer counts as success; `false` unless you say otherwise.
    func recovers(from failure: any Error, in response: RawResponse) -> Bool

    /// Whether the filter decodes nothing that is not guarded yet; `false` unless you say otherwise, and then the JSON
    /// guard reads the body before the filter does.
    var guardsItself: Bool { get }
}

extension ResponseFilter {
    /// The default: `false`, a refused answer stays refused.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool { false }

    /// The default: `false`, so the JSON guard reads the body before the filter does.
    public var guardsItself: Bool { false }
}

/// The whole body is the payload.
///
/// Spelling in a request that wants no envelope opened: `var filter: PassthroughFilter { .passthrough }`.
public struct PassthroughFilter: ResponseFilter {
    /// Makes the filter; it has no settings.
    public init() {}
    /// The filter, by the name that a request's ``Request/filter`` spells.
    public static let passthrough = PassthroughFilter()

    /// It decodes nothing.
    public var guardsItself: Bool { true }

    /// Returns the whole body as the payload.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - context: Which request it answers.
    /// - Returns: A payload of the whole body.
    /// - Throws: The answer's ``RawResponse/failure`` when it was refused.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        if let failure = response.failure { throw failure }
        return Payload(response.body, root: response.body, contentType: nil, isGuarded: response.isGuarded)
    }
}

/// The filter of the service, else of the config, else none: what a request has that says nothing.
public struct InheritedFilter: ResponseFilter {
    /// Makes the filter; it has no settings.
    public init() {}

    /// Passes the body on; the agent puts the inherited filter in this one's place before it is asked.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        try PassthroughFilter().filter(response, for: context)
    }
}

/// A filter made of a closure.
public struct ClosureFilter: ResponseFilter {
    private let body: @Sendable (RawResponse, RequestContext) throws -> Payload

    /// Takes the closure, which is called in the background.
    ///
    /// It is called for refused answers too; unless it throws, their ``RawResponse/failure`` stays the outcome.
    public init(_ body: @escaping @Sendable (RawResponse, RequestContext) throws -> Payload) { self.body = body }

    /// Calls the closure; throws what it throws.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        try body(response, context)
    }
}
