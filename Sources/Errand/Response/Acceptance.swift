internal import Foundation

/// What counts as an answer: the status is judged first, then the content type, and nothing is parsed for either; then
/// the shape of the body, if one is asked for.
///
/// Spelling in a request: `var acceptance: Acceptance { Acceptance(statusCodes: 200..<300, contentTypes: ["application/json"]) }`.
public struct Acceptance: Sendable, Hashable {
    /// Ranges of accepted statuses.
    public var statusCodes: [Range<Int>]

    /// Accepted media types, such as `application/json` or `text/*`; empty accepts any, and a missing one.
    public var contentTypes: [String]

    /// What the whole body of an accepted answer must look like, its envelope included; `nil` asks for nothing.
    ///
    /// A body that has another shape is refused, unless the filter finds that the service reports an error in it.
    public var shape: JSONShape?

    /// Statuses 200 to 299, any content type, any body.
    public init(statusCodes: Range<Int> = 200..<300, contentTypes: [String] = [], shape: JSONShape? = nil) {
        self.statusCodes = [statusCodes]
        self.contentTypes = contentTypes
        self.shape = shape
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

    /// Why the body of an accepted answer, which the JSON guard has read, is refused; `nil` when it is accepted.
    func shapeRefusal(of response: RawResponse, to method: HTTPMethod) -> NetworkError? {
        guard let shape, !response.hasNoBody(to: method) else { return nil }
        do throws(JSONError) {
            guard response.isGuarded else { throw JSONError(.unexpectedEnd, offset: 0) }
            let result = response.body.withUnsafeBytes { bytes in
                let scanner = JSONScanner(bytes)
                return Result { () throws(JSONError) in
                    try shape.check(at: scanner.skipWhitespace(from: 0), in: scanner)
                }
            }
            try result.get()
            return nil
        } catch {
            return NetworkError(.shape(error), response: response, underlying: error)
        }
    }
}

extension RawResponse {
    fileprivate func hasContentType(_ wanted: String) -> Bool {
        guard let found = mediaType?.essence else { return false }
        let wanted = wanted.lowercased()
        return wanted == "*/*" || wanted == found || wanted.hasSuffix("/*") && found.hasPrefix(wanted.dropLast())
    }
}
