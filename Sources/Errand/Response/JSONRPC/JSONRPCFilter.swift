internal import Foundation

/// Opens an answer of JSON-RPC 2.0: the result becomes the payload, an error object a ``ServiceError`` with its code,
/// message and, as payload, its data.
///
/// An error object counts under every status, also under 400 and 500. The id must be the one that the request left among
/// ``RequestContext/attributes`` under ``JSONRPCID/attribute``; the answer to a notification may be empty.
///
/// Source: the specification at jsonrpc.org, section 5.
public struct JSONRPCFilter: ResponseFilter {
    /// Codes whose error is marked ``ServiceError/isIgnorable``.
    public var ignorable: Set<ServiceCode>
    /// Whether an answer must say `"jsonrpc": "2.0"`; `true` unless you say otherwise.
    public var requiresVersion = true

    static let members = EnvelopeMembers(
        code: "error.code",
        message: "error.message",
        data: "result",
        time: nil,
        others: ["jsonrpc": "jsonrpc", "id": "id", "error": "error", "data": "error.data"]
    )

    /// Makes the filter.
    ///
    /// - Parameter ignorable: Codes whose error is marked ``ServiceError/isIgnorable``.
    public init(ignorable: Set<ServiceCode> = []) { self.ignorable = ignorable }

    /// It finds the parts in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Returns the result.
    ///
    /// - Parameters:
    ///   - response: The answer; its `failure` is thrown when it holds no error object.
    ///   - context: Which request it answers.
    /// - Returns: The result; `null` for a notification.
    /// - Throws: ``ServiceError`` for an error object, ``NetworkError`` for what is no answer to the call.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        let expected = context.attributes[JSONRPCID.attribute] as? JSONRPCID
        if response.body.isEmpty, response.failure == nil, expected == .absent || response.hasNoBody(to: context.method)
        {
            return .null(in: response.body)
        }
        do {
            guard let envelope = try Self.members.open(response) else { throw mistake("it is no object", in: response) }
            return try open(envelope, expected: expected)
        } catch let error as NetworkError {
            throw response.failure ?? error
        }
    }

    /// The result of one answer.
    func open(_ envelope: Envelope, expected: JSONRPCID?) throws -> Payload {
        let response = envelope.response
        if requiresVersion, envelope["jsonrpc"] != "2.0" {
            throw mistake("it does not say that it is JSON-RPC 2.0", in: response)
        }
        let result = try envelope.part(Self.members.data)
        let isFailure = try Self.members.others["error"].flatMap { try envelope.part($0) }.map { !$0.isNull } ?? false
        if let expected, expected != .absent {
            let id = envelope["id"] ?? .null
            // Who could not read the call does not know its id.
            guard JSONRPCID(id) == expected || isFailure && id == .null else {
                throw mistake("its id is not that of the call", in: response)
            }
        }
        if isFailure {
            guard result?.isNull ?? true else { throw mistake("it has both a result and an error", in: response) }
            throw try serviceError(envelope)
        }
        if let failure = response.failure { throw failure }
        guard var result else { throw mistake("it has neither a result nor an error", in: response) }
        result.envelope = envelope
        return result
    }

    private func serviceError(_ envelope: Envelope) throws -> ServiceError {
        guard let code = envelope.code else { throw mistake("its error has no code", in: envelope.response) }
        return ServiceError(
            code: code,
            message: envelope.message,
            payload: try Self.members.others["data"].flatMap { try envelope.part($0) },
            envelope: envelope,
            response: envelope.response,
            isIgnorable: ignorable.contains(code)
        )
    }

    private func mistake(_ what: String, in response: RawResponse) -> NetworkError {
        NetworkError(.envelope("the JSON-RPC answer cannot be read: \(what)"), response: response)
    }
}
