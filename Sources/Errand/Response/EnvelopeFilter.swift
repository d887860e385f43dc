internal import Foundation

/// A filter that unwraps an envelope such as `{"code": 0, "msg": "", "data": {…}}`.
///
/// The data becomes the payload. A code that does not indicate success becomes a ``ServiceError``.
///
/// All members are found in the single pass that validates the bytes. If a member, or one on the path to it, occurs
/// twice in any spelling, the body is rejected. Paths may be nested: `status.code`, `errors[0].text`, `data|json` for
/// JSON inside a string, or `~` for data that is beside the code.
///
/// If a rejected response, such as one with status 400, has an envelope with a failure code, its error is a
/// ``ServiceError`` too; otherwise its own error is kept. A response that has no body because of its status or method
/// (204, 205, 304, to HEAD) is a success whose payload is `null`. Any other empty body is an error.
///
/// If a service has several forms of errors, the others are ``alternatives``:
///
/// ```swift
/// let plain = EnvelopeFilter(code: "code", message: "msg", data: "data")
/// let gateway = EnvelopeFilter(code: "fault.code", message: "fault.text", data: "data")
/// var filter = plain
/// filter.alternatives = [gateway]
/// ```
///
/// ```swift
/// var filter: EnvelopeFilter {        // for one request: its service's, changed
///     var filter = Service.shopEnvelope
///     filter.success = [0, 1001]
///     return filter
/// }
/// ```
public struct EnvelopeFilter: ResponseFilter, Hashable {
    /// The path of the code, or `nil` if there is none and the status determines success.
    public var code: JSONPath? { didSet { prepare() } }
    /// The path of the service's message, or `nil` if there is none.
    public var message: JSONPath? { didSet { prepare() } }
    /// The path of the data.
    public var data: JSONPath { didSet { prepare() } }
    /// The path of the service's time, for ``Envelope/time``, or `nil` if there is none.
    public var time: JSONPath? { didSet { prepare() } }
    /// The paths of further members, for ``Envelope/subscript(_:)``; empty by default.
    public var others: [String: JSONPath] { didSet { prepare() } }

    /// The rule that determines whether a response is a success.
    public var success: Success
    /// The codes whose error is marked ``ServiceError/isIgnorable``.
    public var ignorable: Set<ServiceCode>
    /// How a response without a code, or with a code of `null`, is treated; it fails by default.
    public var missingCode = MissingCode.fails
    /// How a success without data is treated; by default its payload is `null`.
    ///
    /// Data of `null` is not missing.
    public var missingData = MissingData.isNull
    /// The values of the data that are treated as `null`; none by default.
    public var emptyData: EmptyData = []
    /// Whether a success code makes a response with a rejected status a success; `false` by default.
    public var codeOutranksStatus = false
    /// The other forms of the envelope; none by default.
    ///
    /// They are tried in order if a response has no code at ``code``, or if that is `nil`. The first one that finds a code
    /// is used with its own paths and rules. If none does, the rules of this filter apply, such as ``missingCode``.
    public var alternatives: [EnvelopeFilter] = []

    private var members: EnvelopeMembers

    /// Creates a filter from the paths of the members and the meaning of the codes.
    ///
    /// - Parameters:
    ///   - code: The path of the code, or `nil` if the status determines success.
    ///   - message: The path of the service's message, or `nil` if there is none.
    ///   - data: The path of the data.
    ///   - time: The path of the service's time, or `nil` if there is none.
    ///   - others: The paths of further members, by names of your own.
    ///   - success: The rule that determines success; the code `0` by default.
    ///   - ignorable: The codes whose error is marked ``ServiceError/isIgnorable``.
    ///   - alternatives: The other forms of the envelope; see ``alternatives``.
    public init(
        code: JSONPath?,
        message: JSONPath? = nil,
        data: JSONPath,
        time: JSONPath? = nil,
        others: [String: JSONPath] = [:],
        success: Success = [0],
        ignorable: Set<ServiceCode> = [],
        alternatives: [EnvelopeFilter] = []
    ) {
        self.code = code
        self.message = message
        self.data = data
        self.time = time
        self.others = others
        self.success = success
        self.ignorable = ignorable
        self.alternatives = alternatives
        members = EnvelopeMembers(code: code, message: message, data: data, time: time, others: others)
    }

    private mutating func prepare() {
        members = EnvelopeMembers(code: code, message: message, data: data, time: time, others: others)
    }

    /// `true`: the members are found in the pass that validates the body.
    public var guardsItself: Bool { true }

    /// Whether the failure is a rejected status and ``codeOutranksStatus`` of the form that found a code is `true`.
    ///
    /// Called after ``filter(_:for:)``, which throws the failure if its form does not recover.
    public func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        (codeOutranksStatus || alternatives.contains(where: \.codeOutranksStatus)) && failure.isAboutStatus
    }

    /// Returns the data of an envelope whose code indicates success.
    ///
    /// - Parameters:
    ///   - response: The response; its `failure` is thrown if the envelope reports no error of its own.
    ///   - context: The send.
    /// - Returns: The data, or `null` if the envelope has none.
    /// - Throws: ``ServiceError`` for any other code, ``NetworkError`` if the body is not an envelope.
    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        if response.hasNoBody(to: context.method), response.failure == nil { return .absent }
        var response = response
        let opened: Envelope?
        do {
            opened = try members.open(&response)
        } catch {
            throw response.failure ?? error
        }
        let code = opened?.code
        if opened != nil, code == nil, !alternatives.isEmpty {
            if let other = try alternative(for: response) { return try other.filter(response, for: context) }
        }
        guard let envelope = opened, try isEnvelope(envelope, code, in: response) else {
            if let failure = response.failure { throw failure }
            guard missingCode == .isPayload else {
                throw NetworkError(.envelope("the body is no object"), response: response)
            }
            return Payload(of: response)
        }
        guard try isSuccess(envelope, code, in: response) else { throw serviceError(envelope, code, in: response) }
        return try payload(of: envelope, in: response)
    }

    /// Returns the first alternative that finds a code, or `nil`.
    private func alternative(for response: RawResponse) throws -> EnvelopeFilter? {
        var response = response
        do {
            return try alternatives.first { try $0.members.open(&response)?.code != nil }
        } catch {
            throw response.failure ?? error
        }
    }

    /// Whether there is a code, or the rules do not require one.
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

    /// Returns whether the envelope reports success, or throws the response's own failure if the envelope reports no
    /// error.
    private func isSuccess(_ envelope: Envelope, _ code: ServiceCode?, in response: RawResponse) throws -> Bool {
        if let code, let isSuccess = success.contains(code) {
            guard isSuccess else { return false }
            if let failure = response.failure, !(codeOutranksStatus && failure.isAboutStatus) { throw failure }
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
            // In a failure, the data may have another type than in a success.
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
                case .isNull:
                    payload = .null(in: response.body)
                    payload.isMissing = true
                case .isPayload: payload = Payload(response.body, of: response.body)
                case .fails: throw NetworkError(.envelope("it has no member '\(data)'"))
                }
            }
        } catch let error as NetworkError {
            throw error.with(response: response)
        }
        payload.envelope = envelope
        return payload
    }
}

extension RawResponse {
    /// Whether the response has no body and needs none because of its status or the method (RFC 9110, section 6.4.1).
    func hasNoBody(to method: HTTPMethod) -> Bool {
        body.isEmpty && ([204, 205, 304].contains(statusCode) || method == .head)
    }
}

extension Error {
    /// Whether this is the failure of a response with a rejected status.
    var isAboutStatus: Bool {
        guard let error = self as? NetworkError, case .status = error.reason else { return false }
        return true
    }
}
