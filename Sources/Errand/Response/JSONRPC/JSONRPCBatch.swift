internal import Foundation

extension GeneralRequest {
    /// Returns a copy that sends several JSON-RPC 2.0 calls at once.
    ///
    /// - Parameter calls: The calls, with different identifiers; those without one are notifications.
    /// - Returns: A request whose model contains the responses by their calls.
    public func calling<each Value>(
        batch calls: repeat JSONRPCCall<each Value>
    ) -> GeneralRequest<JSONRPCBatchFormatter> {
        var messages: [JSONRPCMessage] = []
        repeat messages.append(JSONRPCMessage(each calls))
        return calling(messages)
    }

    /// Returns a copy that makes several JSON-RPC calls of one type with one POST.
    public func calling<Value>(batch calls: [JSONRPCCall<Value>]) -> GeneralRequest<JSONRPCBatchFormatter> {
        calling(calls.map(JSONRPCMessage.init))
    }

    private func calling(_ messages: [JSONRPCMessage]) -> GeneralRequest<JSONRPCBatchFormatter> {
        let request = method(.post).body(.json(Result { try JSONRPCMessage.json(messages) }))
            .filter(JSONRPCBatchFilter())
            .formatted(by: JSONRPCBatchFormatter())
        let isNotification = messages.allSatisfy { $0.id == .absent }
        return isNotification ? request.attribute(JSONRPCID.attribute, JSONRPCID.absent) : request
    }
}

/// A filter that unwraps the response to a JSON-RPC 2.0 batch: an array of responses, or a single error.
///
/// Source: the specification at jsonrpc.org, section 6.
public struct JSONRPCBatchFilter: ResponseFilter, Hashable {
    private let single: JSONRPCFilter
    private static let noResponses = Data("[]".utf8)

    /// Creates a filter.
    ///
    /// - Parameter ignorable: The codes whose error is marked ``ServiceError/isIgnorable``.
    public init(ignorable: Set<ServiceCode> = []) { single = JSONRPCFilter(ignorable: ignorable) }

    /// `true`: a single error is found in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Returns the array of responses.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - context: The send.
    /// - Returns: The array, which is empty if all calls were notifications.
    /// - Throws: ``ServiceError`` for a single error in place of an array, ``NetworkError`` for anything else.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        let isNotification = context.attributes[JSONRPCID.attribute] as? JSONRPCID == .absent
        if response.body.isEmpty, response.failure == nil, isNotification || response.hasNoBody(to: context.method) {
            return Payload(Self.noResponses, of: Self.noResponses)
        }
        var response = response
        do {
            if let envelope = try JSONRPCFilter.members.open(&response) {
                _ = try single.open(envelope, expected: nil)
                throw NetworkError(.envelope("the response to a JSON-RPC batch is a single result"), response: response)
            }
        } catch let error as NetworkError {
            throw response.failure ?? error
        }
        if let failure = response.failure { throw failure }
        var payload = Payload(response.body, of: response.body)
        payload.envelope = Envelope(response: response, places: [], members: EnvelopeMembers.nothing)
        return payload
    }
}

/// A formatter that creates ``JSONRPCResponses`` from the output of ``JSONRPCBatchFilter``.
public struct JSONRPCBatchFormatter: ResponseFormatter, Sendable {
    /// Creates the formatter.
    public init() {}

    /// `true`.
    public var readsJSON: Bool { true }

    /// `true`: it reads only what has been validated.
    public var guardsItself: Bool { true }

    /// Groups the responses by their identifiers.
    ///
    /// - Throws: ``NetworkError`` if the payload is not an array of responses, or two have the same identifier.
    public func format(_ payload: Payload) throws -> JSONRPCResponses { try JSONRPCResponses(payload) }
}

/// The responses to a JSON-RPC 2.0 batch by the identifiers of their calls, in whatever order they were sent.
///
/// ```swift
/// let sum = JSONRPCCall<Int>("sum", [1, 2], id: 1)
/// let name = JSONRPCCall<String>("name", id: "n")
/// let responses = try await agent.send(GeneralRequest("/rpc").calling(batch: sum, name))
/// let three = try responses.value(of: sum)      // an Int, or throws the ServiceError for this call
/// ```
public struct JSONRPCResponses: Sendable {
    private var envelopes = Table<JSONRPCID, Envelope>()
    private var withoutID: [Envelope] = []
    private let url: URL?
    private let path: DeclaredPath?
    private let method: HTTPMethod
    private let decoder: any DataDecoder

    init(_ payload: Payload) throws {
        decoder = payload.decoder
        // The method of the exchange, which a redirect can change.
        (url, method) = (payload.envelope?.response.url, payload.envelope?.response.method ?? .post)
        path = payload.envelope?.response.declared
        guard payload.data.first(where: { $0 > 0x20 }) == UInt8(ascii: "["), payload.isGuarded else {
            throw NetworkError(.envelope("the response to a JSON-RPC batch must be an array"))
        }
        for range in Self.elements(of: payload.data) {
            guard let response = payload.envelope?.response else {
                throw NetworkError(.envelope("the responses of a JSON-RPC batch need a JSONRPCBatchFilter"))
            }
            var single = response
            single.body = payload.data[range]
            single.isGuarded = true
            guard let envelope = try JSONRPCFilter.members.open(&single) else {
                throw NetworkError(.envelope("a response of a JSON-RPC batch is not an object"))
            }
            guard let id = envelope["id"].flatMap(JSONRPCID.init) else {
                withoutID.append(envelope)
                continue
            }
            guard envelopes[id] == nil else {
                throw NetworkError(.envelope("two responses of a JSON-RPC batch have the same id"))
            }
            envelopes[id] = envelope
        }
    }

    /// The number of responses that have an identifier.
    public var count: Int { envelopes.count }

    /// Returns the result of a call.
    ///
    /// - Parameter call: A call of the batch.
    /// - Returns: The result; nothing for `Void`.
    /// - Throws: ``ServiceError`` if its response is an error, or ``NetworkError`` if it has no response. If the batch
    ///   has an error without an identifier, that is the underlying error.
    public func value<Value>(of call: JSONRPCCall<Value>) throws -> Value {
        try JSONRPCFormatter<Value>().format(payload(for: call.id, of: call.method))
    }

    /// Returns the result of a call, or the error.
    public func result<Value>(of call: JSONRPCCall<Value>) -> Result<Value, any Error> {
        Result { try value(of: call) }
    }

    /// Returns the undecoded result of a call.
    ///
    /// - Parameter id: The identifier of a call of the batch.
    /// - Returns: The result; `null` for a notification.
    /// - Throws: The errors of ``value(of:)``.
    public func payload(for id: JSONRPCID) throws -> Payload { try payload(for: id, of: nil) }

    private func payload(for id: JSONRPCID, of call: String?) throws -> Payload {
        if id == .absent { return .null(in: Data()) }
        guard let envelope = envelopes[id] else {
            let (text, call) = (id.json.map { "\($0)" } ?? "null", call.map { " of the call '\($0)'" } ?? "")
            let error = NetworkError(.envelope("no response has the id \(text)\(call)"), underlying: anyError)
            throw url.map { error.with(url: $0, method: method, path: path) } ?? error
        }
        do {
            var payload = try JSONRPCFilter().open(envelope, expected: id)
            payload.decoder = decoder
            return payload
        } catch {
            throw error.decoding(with: decoder, method: method)
        }
    }

    /// The error of a call that the server could not read.
    private var anyError: (any Error)? {
        for envelope in withoutID {
            do {
                _ = try JSONRPCFilter().open(envelope, expected: nil)
            } catch {
                return error
            }
        }
        return nil
    }

    /// Returns the ranges of the elements of a validated array, as indices of the data.
    private static func elements(of data: Data) -> [Range<Int>] {
        data.withUnsafeBytes { bytes in
            let scanner = JSONScanner(bytes)
            var elements = JSONScanner.ElementIterator(scanner, arrayAt: scanner.skipWhitespace(from: 0))
            var ranges: [Range<Int>] = []
            while let start = elements.next(), let end = elements.elementEnd() {
                ranges.append(data.startIndex + start..<data.startIndex + max(start, end))
            }
            return ranges
        }
    }
}

extension EnvelopeMembers {
    /// The members of an envelope without members.
    fileprivate static let nothing = EnvelopeMembers(code: nil, message: nil, data: .root, time: nil, others: [:])
}
