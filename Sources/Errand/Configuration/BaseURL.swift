public import Foundation

/// The URL that paths are resolved against: a scheme, a host and possibly a path of its own.
///
/// It is created from a literal, a `URL`, or a text that is known only at run time. If a literal or a `URL` is invalid,
/// building a request throws a ``NetworkError``; an invalid text throws at once.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let checked: Checked

    /// The components of the URL, or the reason why it is invalid.
    var parts: Result<URLParts, NetworkError.Reason.Boxed> { checked.parts }

    /// The shown path.
    var shownPath: String { checked.shownPath }

    /// Behind one reference, because it is copied with every config, service and send.
    private final class Checked: Sendable {
        let parts: Result<URLParts, NetworkError.Reason.Boxed>
        let shownPath: String

        init(_ parts: Result<URLParts, NetworkError.Reason.Boxed>, shownPath: String = "") {
            (self.parts, self.shownPath) = (parts, shownPath)
        }
    }

    /// Creates a base URL from a literal.
    ///
    /// If it is known only at run time, create it from a `URL` or a `String`.
    public init(stringLiteral value: StaticString) { self.init(text: value.description) }

    /// Creates a base URL from a URL that is known only at run time.
    ///
    /// It is validated when a request is built.
    public init(_ url: URL) { self.init(text: url.absoluteString) }

    /// Creates a base URL from a text that is known only at run time, such as one that a user has typed.
    ///
    /// Spaces and line breaks around the text are ignored. A secret in the path is interpolated as `\(secret: token)`, so that
    /// it is not shown.
    ///
    /// - Throws: ``NetworkError`` of kind ``NetworkError/Kind/invalidRequest``, whose description names the problem: no scheme,
    ///   another scheme than http or https, no host, or a host that the system does not support.
    public init(_ text: String) throws {
        self.init(text: text.trimmingCharacters(in: .whitespacesAndNewlines))
        switch parts {
        case .success(let parts): _ = try parts.url()
        case .failure(let boxed): throw NetworkError(boxed.reason)
        }
    }

    init(text: String) {
        do throws(NetworkError) {
            guard let parts = try URLParts(absolute: DeclaredPath.removingMarks(text)) else {
                let shown = text.contains("@") ? DeclaredPath.mask : DeclaredPath.shown(text)
                throw NetworkError(
                    .invalidURL("the base URL '\(shown)' has no scheme and host; give an absolute http or https URL")
                )
            }
            checked = Checked(.success(parts.checked()), shownPath: DeclaredPath.shown(text))
        } catch {
            checked = Checked(.failure(NetworkError.Reason.Boxed(error.reason)))
        }
    }

    /// Whether both have the same components, or are invalid for the same reason.
    public static func == (one: BaseURL, other: BaseURL) -> Bool {
        one.checked === other.checked || one.parts == other.parts && one.shownPath == other.shownPath
    }

    /// Hashes the components.
    public func hash(into hasher: inout Hasher) { hasher.combine(parts) }

    /// Scheme, host, port and path, or in parentheses the reason why the URL is invalid.
    ///
    /// The query is omitted, because it may be a secret, such as an API key.
    public var description: String {
        switch parts {
        case .success(let parts): parts.origin.description + shownPath
        case .failure(let boxed): "(\(boxed.reason.sentence))"
        }
    }
}

extension NetworkError.Reason {
    /// A reason by itself, before an error is made of it.
    struct Boxed: Error, Hashable {
        let reason: NetworkError.Reason
        init(_ reason: NetworkError.Reason) { self.reason = reason }
    }
}
