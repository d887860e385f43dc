internal import Foundation

/// Opens the answer to a batch of JSON-RPC 2.0: an array of answers, or one error for all.
///
/// Source: the specification at jsonrpc.org, section 6.
public struct JSONRPCBatchFilter: ResponseFilter {
    private let single: JSONRPCFilter
    private static let noAnswers = Data("[]".utf8)

    /// Makes the filter.
    ///
    /// - Parameter ignorable: Codes whose error is marked ``ServiceError/isIgnorable``.
    public init(ignorable: Set<ServiceCode> = []) { single = JSONRPCFilter(ignorable: ignorable) }

    /// It finds a single error in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Returns the array of answers.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - context: Which request it answers.
    /// - Returns: The array; an empty one where all calls were notifications.
    /// - Throws: ``ServiceError`` for one error in place of an array, ``NetworkError`` for anything else.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        let isNotification = context.attributes[JSONRPCID.attribute] as? JSONRPCID == .absent
        if response.body.isEmpty, response.failure == nil, isNotification || response.hasNoBody(to: context.method) {
            return Payload(Self.noAnswers, of: Self.noAnswers)
        }
        do {
            if let envelope = try JSONRPCFilter.members.open(response) {
                _ = try single.open(envelope, expected: nil)
                throw NetworkError(.envelope("a JSON-RPC batch was answered by one result"), response: response)
            }
        } catch let error as NetworkError {
            throw response.failure ?? error
        }
        if let failure = response.failure { throw failure }
        var payload = Payload(response.body, of: response.body)
        payload.envelope = Envelope(response: response, ranges: [], members: EnvelopeMembers.nothing)
        return payload
    }
}

/// Makes ``JSONRPCAnswers`` of what ``JSONRPCBatchFilter`` found.
public struct JSONRPCBatchFormatter: ResponseFormatter, Sendable, OwnFormatter {
    /// Makes the formatter; it has no settings.
    public init() {}

    /// `true`.
    public var readsJSON: Bool { true }

    /// It reads what has been validated.
    public var guardsItself: Bool { true }

    /// Sorts the answers by their ids.
    ///
    /// - Throws: ``NetworkError`` when the payload is no array of answers, or two have the same id.
    public func format(_ payload: Payload) throws -> JSONRPCAnswers { try JSONRPCAnswers(payload) }
}

/// The answers to a batch of JSON-RPC 2.0, by the ids of their calls, in whatever order they came.
///
/// ```swift
/// let sum = JSONRPCCall<Int>("sum", [1, 2], id: 1)
/// let name = JSONRPCCall<String>("name", id: "n")
/// let answers = try await agent.send(GeneralRequest("/rpc").calling(batch: sum, name))
/// let three = try answers.value(of: sum)      // an Int, or the ServiceError that answers this call
/// ```
public struct JSONRPCAnswers: Sendable {
    private var envelopes = Table<JSONRPCID, Envelope>()
    private var withoutID: [Envelope] = []
    private let decoder: any DataDecoder

    init(_ payload: Payload) throws {
        decoder = payload.decoder
        guard payload.data.first(where: { $0 > 0x20 }) == UInt8(ascii: "["), payload.isGuarded else {
            throw NetworkError(.envelope("a JSON-RPC batch is answered by an array"))
        }
        for range in Self.elements(of: payload.data) {
            guard let response = payload.envelope?.response else {
                throw NetworkError(.envelope("the answers of a JSON-RPC batch need a JSONRPCBatchFilter"))
            }
            var answer = response
            answer.body = payload.data[range]
            answer.isGuarded = true
            guard let envelope = try JSONRPCFilter.members.open(answer) else {
                throw NetworkError(.envelope("an answer of a JSON-RPC batch is no object"))
            }
            guard let id = envelope["id"].flatMap(JSONRPCID.init) else {
                withoutID.append(envelope)
                continue
            }
            guard envelopes[id] == nil else {
                throw NetworkError(.envelope("two answers of a JSON-RPC batch have the same id"))
            }
            envelopes[id] = envelope
        }
    }

    /// How many answers have an id.
    public var count: Int { envelopes.count }

    /// The result of a call.
    ///
    /// - Parameter call: One of the batch.
    /// - Returns: The result; nothing for `Void`.
    /// - Throws: ``ServiceError`` when an error answers it, ``NetworkError`` when nothing does; where the batch has an
    ///   error without an id, that one is below it.
    public func value<Value>(of call: JSONRPCCall<Value>) throws -> Value {
        try JSONRPCFormatter<Value>().format(payload(for: call.id))
    }

    /// The result of a call, or why there is none.
    public func result<Value>(of call: JSONRPCCall<Value>) -> Result<Value, any Error> {
        Result { try value(of: call) }
    }

    /// The result of a call as it stands in the answer.
    ///
    /// - Parameter id: The id of a call of the batch.
    /// - Returns: The result; `null` for a notification.
    /// - Throws: As ``value(of:)``.
    public func payload(for id: JSONRPCID) throws -> Payload {
        if id == .absent { return .null(in: Data()) }
        guard let envelope = envelopes[id] else {
            throw NetworkError(.envelope("no answer of a JSON-RPC batch has the id of this call"), underlying: anyError)
        }
        var payload = try JSONRPCFilter().open(envelope, expected: id)
        payload.decoder = decoder
        return payload
    }

    /// What is wrong with a call that could not be read.
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

    /// The ranges of the elements of an array that has been validated, as indices of the data.
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
    /// No part.
    fileprivate static let nothing = EnvelopeMembers(code: nil, message: nil, data: .root, time: nil, others: [:])
}
