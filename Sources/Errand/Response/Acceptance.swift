/// What counts as an answer: the status is judged first, then the content type; nothing is parsed for either.
///
/// Spelling in a request: `var acceptance: Acceptance { Acceptance(statusCodes: 200..<300, contentTypes: ["application/json"]) }`.
public struct Acceptance: Sendable, Hashable {
    /// Ranges of accepted statuses.
    public var statusCodes: [Range<Int>]

    /// Accepted media types, such as `application/json` or `text/*`; empty accepts any, and a missing one.
    public var contentTypes: [String]

    /// Statuses 200 to 299, any content type.
    public init(statusCodes: Range<Int> = 200..<300, contentTypes: [String] = []) {
        self.statusCodes = [statusCodes]
        self.contentTypes = contentTypes
    }

    /// Returns this acceptance with further statuses.
    public func accepting(_ codes: Int...) -> Acceptance {
        var copy = self
        copy.statusCodes += codes.map { $0..<$0.advanced(by: $0 == .max ? 0 : 1) }
        return copy
    }

    /// Why an answer is refused, or `nil` when it is accepted.
    func refusal(of response: RawResponse) -> NetworkError? {
        guard statusCodes.contains(where: { $0.contains(response.statusCode) }) else {
            return NetworkError(.status(response.statusCode), response: response)
        }
        guard contentTypes.isEmpty || response.body.isEmpty || contentTypes.contains(where: response.hasContentType)
        else {
            let found = response.mediaType?.essence ?? "none"
            return NetworkError(.contentType(found), response: response)
        }
        return nil
    }
}

extension RawResponse {
    fileprivate func hasContentType(_ wanted: String) -> Bool {
        guard let found = mediaType?.essence else { return false }
        let wanted = wanted.lowercased()
        return wanted == "*/*" || wanted == found || wanted.hasSuffix("/*") && found.hasPrefix(wanted.dropLast())
    }
}
