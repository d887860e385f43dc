internal import Foundation

/// Opens an envelope such as `{"code": 0, "msg": "", "data": {…}}`: the data becomes the payload, a code that does not
/// mean success a ``ServiceError``.
///
/// All parts are found in the one pass over the bytes that validates them. A part, or a member on the way to one, that
/// stands there twice in any spelling is refused. A part may lie deeper: `status.code`, `errors[0].text`, `data|json`
/// for JSON inside a string, or `~` for data that stands beside the code.
///
/// A refused answer (say status 400) whose body is an envelope with a failing code is a ``ServiceError`` too; one that
/// is not stays what it was. An answer that has no body by its status or method (204, 205, to HEAD) is a success whose
/// payload is `null`; any other empty body is an error.
///
/// ```swift
/// var filter: EnvelopeFilter {        // for one request: its service's, changed
///     var filter = Service.shopEnvelope
///     filter.success = [0, 1001]
///     return filter
/// }
/// ```
public struct EnvelopeFilter: ResponseFilter {
    /// The way to the code; `nil` when there is none, and answers count by their status.
    public var code: JSONPath? { didSet { prepare() } }
    /// The way to the service's words; `nil` when there are none.
    public var message: JSONPath? { didSet { prepare() } }
    /// The way to the data.
    public var data: JSONPath { didSet { prepare() } }
    /// The way to the service's time, for ``Envelope/time``; `nil` when there is none.
    public var time: JSONPath? { didSet { prepare() } }
    /// The ways to further members, for ``Envelope/subscript(_:)``; empty when there are none.
    public var others: [String: JSONPath] { didSet { prepare() } }

    /// What makes an answer a success.
    public var success: Success
    /// Codes whose error is marked ``ServiceError/isIgnorable``.
    public var ignorable: Set<ServiceCode>
    /// What an answer without a code, or with a code of `null`, is.
    public var missingCode = MissingCode.fails
    /// What a success without data is; data of `null` is there.
    public var missingData = MissingData.isNull
    /// Values of the data that are taken as `null`; none unless you say otherwise.
    public var emptyData: EmptyData = []
    /// Whether a code that means success makes a success of a refused status; `false` unless you say otherwise.
    public var codeOutranksStatus = false

    private var members: EnvelopeMembers

    /// Takes the ways to the parts, and the codes that mean something.
    ///
    /// - Parameters:
    ///   - code: The way to the code; `nil` when answers count by their status.
    ///   - message: The way to the service's words; `nil` when there are none.
    ///   - data: The way to the data.
    ///   - time: The way to the service's time; `nil` when there is none.
    ///   - others: The ways to further members, under names of your own.
    ///   - success: What makes an answer a success; the code `0` unless you say otherwise.
    ///   - ignorable: Codes whose error is marked ``ServiceError/isIgnorable``.
    public init(
        code: JSONPath?,
        message: JSONPath? = nil,
        data: JSONPath,
        time: JSONPath? = nil,
        others: [String: JSONPath] = [:],
        success: Success = [0],
        ignorable: Set<ServiceCode> = []
    ) {
        self.code = code
        self.message = message
        self.data = data
        self.time = time
        self.others = others
        self.success = success
        self.ignorable = ignorable
        members = EnvelopeMembers(code: code, message: message, data: data, time: time, others: others)
    }

    private mutating func prepare() {
        members = EnvelopeMembers(code: code, message: message, data: data, time: time, others: others)
    }

    /// It finds the parts in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Whether ``codeOutranksStatus`` says so, of an answer whose status is refused.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        codeOutranksStatus && failure.isAboutStatus
    }

    /// Returns the data of an envelope whose code means success.
    ///
    /// - Parameters:
    ///   - response: The answer; its `failure` is thrown when the envelope reports none of its own.
    ///   - context: Which request it answers.
    /// - Returns: The data, or `null` when the envelope has none.
    /// - Throws: ``ServiceError`` for any other code, ``NetworkError`` for what is no envelope.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        if response.hasNoBody(to: context.method), response.failure == nil { return .absent }
        let opened: Envelope?
        do {
            opened = try members.open(response)
        } catch {
            throw response.failure ?? error
        }
        let code = opened?.code
        guard let envelope = opened, try isEnvelope(envelope, code, in: response) else {
            if let failure = response.failure { throw failure }
            guard missingCode == .isPayload else {
                throw NetworkError(.envelope("the body is no object"), response: response)
            }
            return Payload(response.body, of: response.body)
        }
        guard try isSuccess(envelope, code, in: response) else { throw serviceError(envelope, code, in: response) }
        return try payload(of: envelope, in: response)
    }

    /// Whether there is a code, or the rules do without one.
    private func isEnvelope(_ envelope: Envelope, _ code: ServiceCode?, in response: RawResponse) throws -> Bool {
        guard let path = self.code, code == nil, success != .status else { return true }
        let value = envelope.value(members.code)
        if value == nil || value == .null {
            if missingCode == .countsByStatus { return true }
            if missingCode == .isPayload { return false }
        }
        if let failure = response.failure { throw failure }
        let what = value == nil ? "it has no member '\(path)'" : "'\(path)' is neither a number, a string nor a Bool"
        throw NetworkError(.envelope(what), response: response)
    }

    /// Throws the answer's own failure where the envelope reports none.
    private func isSuccess(_ envelope: Envelope, _ code: ServiceCode?, in response: RawResponse) throws -> Bool {
        if let code, let isSuccess = success.contains(code) {
            guard isSuccess else { return false }
            if let failure = response.failure, !recovers(from: failure, in: response) { throw failure }
            return true
        }
        guard let failure = response.failure else { return true }
        guard failure.isAboutStatus, code != nil || envelope.message != nil else { throw failure }
        return false
    }

    private func serviceError(_ envelope: Envelope, _ code: ServiceCode?, in response: RawResponse) -> ServiceError {
        let code = code ?? .integer(response.statusCode)
        return ServiceError(
            code: code,
            message: envelope.message,
            // What stands there in a failure need not be of the kind that a success has.
            payload: try? envelope.part(members.data),
            envelope: envelope,
            response: response,
            isIgnorable: ignorable.contains(code)
        )
    }

    private func payload(of envelope: Envelope, in response: RawResponse) throws -> Payload {
        var payload: Payload
        do {
            if let data = try envelope.part(members.data) {
                payload = emptyData.contains(data) ? .null(in: response.body) : data
            } else {
                switch missingData {
                case .isNull: payload = .null(in: response.body)
                case .isPayload: payload = Payload(response.body, of: response.body)
                case .fails: throw NetworkError(.envelope("it has no member '\(data)'"))
                }
            }
        } catch let error as NetworkError {
            throw error.answered(by: response)
        }
        payload.envelope = envelope
        return payload
    }
}

extension RawResponse {
    /// Whether the answer has no body, and needs none by its status or the method (RFC 9110, section 6.4.1).
    func hasNoBody(to method: HTTPMethod) -> Bool {
        body.isEmpty && (statusCode == 204 || statusCode == 205 || method == .head)
    }
}

extension Error {
    /// Whether this is the failure of an answer whose status is refused.
    var isAboutStatus: Bool {
        guard let error = self as? NetworkError, case .status = error.reason else { return false }
        return true
    }
}
