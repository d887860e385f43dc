internal import Foundation

/// A filter that unwraps a JSON-RPC 2.0 response.
///
/// The result becomes the payload. An error object becomes a ``ServiceError`` with its code, its message and, as payload, its
/// data. An error object is used with any status, including 400 and 500. The identifier must equal the request's, in
/// ``RequestContext/attributes`` under ``JSONRPCID/attribute``. The response to a notification may be empty.
///
/// Source: the specification at jsonrpc.org, section 5.
public struct JSONRPCFilter: ResponseFilter, Hashable {
    /// The codes whose error is marked ``ServiceError/isIgnorable``.
    public var ignorable: Set<ServiceCode>
    /// Whether a response must contain `"jsonrpc": "2.0"`; `true` by default.
    public var requiresVersion = true

    static let members = EnvelopeMembers(
        code: "error.code",
        message: "error.message",
        data: "result",
        time: nil,
        others: ["jsonrpc": "jsonrpc", "id": "id", "error": "error", "data": "error.data"]
    )

    /// Creates a filter.
    ///
    /// - Parameter ignorable: The codes whose error is marked ``ServiceError/isIgnorable``.
    public init(ignorable: Set<ServiceCode> = []) { self.ignorable = ignorable }

    /// `true`: the members are found in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Returns the result.
    ///
    /// - Parameters:
    ///   - response: The response; its `failure` is thrown if it contains no error object.
    ///   - context: The send.
    /// - Returns: The result; `null` for a notification.
    /// - Throws: ``ServiceError`` for an error object, ``NetworkError`` if the body is not a response to the call.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        let expected = context.attributes[JSONRPCID.attribute] as? JSONRPCID
        if response.body.isEmpty, response.failure == nil, expected == .absent || response.hasNoBody(to: context.method)
        {
            return .null(in: response.body)
        }
        do {
            var response = response
            guard let envelope = try Self.members.open(&response) else {
                throw mistake("it is no object", in: response)
            }
            return try open(envelope, expected: expected)
        } catch let error as NetworkError {
            throw response.failure ?? error
        }
    }

    /// Returns the result of one response.
    func open(_ envelope: Envelope, expected: JSONRPCID?) throws -> Payload {
        let response = envelope.response
        if requiresVersion, envelope["jsonrpc"] != "2.0" {
            throw mistake("its \"jsonrpc\" member is not \"2.0\"", in: response)
        }
        let result = try envelope.part(Self.members.data)
        let isFailure = try Self.members.others["error"].flatMap { try envelope.part($0) }.map { !$0.isNull } ?? false
        if let expected, expected != .absent {
            let id = envelope["id"] ?? .null
            // A server that could not read the call does not know its identifier.
            guard JSONRPCID(id) == expected || isFailure && id == .null else {
                throw mistake("its id differs from the id of the call", in: response)
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
        NetworkError(.envelope("the JSON-RPC response cannot be read: \(what)"), response: response)
    }
}
