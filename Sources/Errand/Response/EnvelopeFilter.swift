internal import Foundation

/// Opens an envelope such as `{"code": 0, "msg": "", "data": {…}}`: the data becomes the payload, a code that does not
/// mean success a ``ServiceError``.
///
/// The envelope is found in the one pass over the bytes that validates them, so code, message and data come from one
/// reading; a member that stands there twice, in any spelling, is refused. `data` that is absent is the payload `null`.
/// A refused answer (say status 400) whose body is an envelope with a failing code is a ``ServiceError`` too; one that
/// is not stays what it was.
public struct EnvelopeFilter: ResponseFilter {
    /// The name of the member that holds the code.
    public var code: String
    /// The name of the member that holds the service's words; `nil` when there is none.
    public var message: String?
    /// The name of the member that holds the data.
    public var data: String
    /// The codes that mean success.
    public var success: Set<ServiceCode>
    /// Codes whose error is marked ``ServiceError/isIgnorable``.
    public var ignorable: Set<ServiceCode>

    /// Takes the names of the members, and the codes that mean something.
    ///
    /// - Parameters:
    ///   - code: The name of the member that holds the code.
    ///   - message: The name of the member that holds the service's words; `nil` when there is none.
    ///   - data: The name of the member that holds the data.
    ///   - success: The codes that mean success; `0` unless you say otherwise.
    ///   - ignorable: Codes whose error is marked ``ServiceError/isIgnorable``.
    public init(
        code: String,
        message: String? = nil,
        data: String,
        success: Set<ServiceCode> = [0],
        ignorable: Set<ServiceCode> = []
    ) {
        self.code = code
        self.message = message
        self.data = data
        self.success = success
        self.ignorable = ignorable
    }

    /// It finds the members in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Returns the data of an envelope whose code means success.
    ///
    /// - Parameters:
    ///   - response: The answer; its `failure` is thrown when the envelope reports none of its own.
    ///   - context: Which request it answers.
    /// - Returns: The data, or `null` when the envelope has none.
    /// - Throws: ``ServiceError`` for any other code, ``NetworkError`` for what is no envelope.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        let envelope: Envelope
        do {
            envelope = try open(response)
        } catch {
            throw response.failure ?? error
        }
        guard success.contains(envelope.code) else {
            throw ServiceError(
                code: envelope.code,
                message: envelope.message,
                payload: envelope.payload,
                response: response,
                isIgnorable: ignorable.contains(envelope.code)
            )
        }
        if let failure = response.failure { throw failure }
        return envelope.payload
            ?? Payload(
                Data("null".utf8),
                root: response.body,
                contentType: response.headers["Content-Type"],
                isGuarded: true
            )
    }

    private struct Envelope {
        let code: ServiceCode
        let message: String?
        let payload: Payload?
    }

    private func open(_ response: RawResponse) throws -> Envelope {
        let names = [JSONName(code), JSONName(data)] + (message.map { [JSONName($0)] } ?? [])
        let body = response.body
        let ranges: [Range<Int>?]
        do {
            let found = body.withUnsafeBytes { bytes in
                Result { () throws(JSONError) in try JSONScanner.members(named: names, in: bytes) }
            }
            ranges = try found.get()
        } catch {
            throw NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
        func bytes(_ range: Range<Int>) -> Data {
            body[body.startIndex + range.lowerBound..<body.startIndex + range.upperBound]
        }
        guard let codeRange = ranges[0] else {
            throw NetworkError(.envelope("it has no member '\(code)'"), response: response)
        }
        guard let value = try ServiceCode(JSONValue(parsing: bytes(codeRange))) else {
            throw NetworkError(.envelope("'\(code)' is neither a number, a string nor a Bool"), response: response)
        }
        let words = try ranges.count > 2 ? ranges[2].flatMap { try JSONValue(parsing: bytes($0)).string } : nil
        let payload = ranges[1].map {
            Payload(bytes($0), root: body, contentType: response.headers["Content-Type"], isGuarded: true)
        }
        return Envelope(code: value, message: words, payload: payload)
    }
}
