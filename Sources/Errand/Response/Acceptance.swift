internal import Foundation

/// The conditions for accepting a response.
///
/// The status code is checked first, then the content type, which needs no parsing, and then the body's shape if there is one.
///
/// In a request, write `var acceptance: Acceptance { Acceptance(statusCodes: 200..<300, contentTypes: ["application/json"]) }`.
public struct Acceptance: Sendable, Hashable, CustomStringConvertible {
    /// The ranges of accepted status codes.
    public var statusCodes: [Range<Int>] { didSet { isInherited = false } }

    /// The accepted media types, such as `application/json` or `text/*`; if empty, any type and a missing one are
    /// accepted.
    public var contentTypes: [String] { didSet { isInherited = false } }

    /// The required shape of the complete body, including its envelope, or `nil` for any.
    ///
    /// A body of another shape is rejected, unless the filter finds that the service reports an error in it.
    public var shape: JSONShape? { didSet { isInherited = false } }

    /// Whether the service's conditions apply, then the config's, then the defaults of
    /// ``init(statusCodes:contentTypes:shape:)``.
    private(set) var isInherited = false

    /// The conditions of the service, then of the config, then status codes 200 to 299 with any content type and any
    /// body; the default of a request.
    ///
    /// A changed copy has conditions of its own and inherits none: `.inherited.accepting(304)` is
    /// `Acceptance().accepting(304)`.
    public static let inherited = {
        var acceptance = Acceptance()
        acceptance.isInherited = true
        return acceptance
    }()

    /// Creates conditions; by default, status codes 200 to 299 with any content type and any body.
    public init(statusCodes: Range<Int> = 200..<300, contentTypes: [String] = [], shape: JSONShape? = nil) {
        self.statusCodes = [statusCodes]
        self.contentTypes = contentTypes
        self.shape = shape
    }

    /// The conditions as text, such as `status 200..<300, type application/json`.
    public var description: String {
        if isInherited { return "inherited" }
        var text = "status " + statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0)" }.joined(separator: ", ")
        if !contentTypes.isEmpty { text += ", type " + contentTypes.joined(separator: ", ") }
        if shape != nil { text += ", with a shape" }
        return text
    }

    /// Returns a copy that accepts further status codes.
    public func accepting(_ codes: Int...) -> Acceptance {
        var copy = self
        copy.statusCodes += codes.map { $0..<$0.advanced(by: $0 == .max ? 0 : 1) }
        return copy
    }

    /// Returns the reason for rejecting a response, or `nil` if it is accepted.
    func failure(of response: RawResponse) -> NetworkError? {
        failure(of: response, hasBody: !response.body.isEmpty)
    }

    /// Returns the reason for rejecting a response whose body need not be known yet, or `nil` if it is accepted.
    func failure(of response: RawResponse, hasBody: Bool) -> NetworkError? {
        guard statusCodes.contains(where: { $0.contains(response.statusCode) }) else {
            return NetworkError(.status(response.statusCode), response: response).with(
                note: response.notes.value.rejection
            )
        }
        guard contentTypes.isEmpty || !hasBody || contentTypes.contains(where: response.hasContentType)
        else {
            let found = response.mediaType?.essence ?? "none"
            return NetworkError(.contentType(found), response: response)
                .with(note: "; expected \(contentTypes.joined(separator: " or "))")
        }
        return nil
    }

    /// Returns the reason for rejecting the body of an accepted response after the JSON guard, or `nil` if it is
    /// accepted.
    func shapeFailure(of response: RawResponse, to method: HTTPMethod) -> NetworkError? {
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
