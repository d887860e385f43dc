public import Foundation

/// The URL that paths are resolved against: a scheme, a host and possibly a path of its own.
///
/// It is created from a literal or a `URL`. If it is invalid, building a request throws a ``NetworkError``.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let checked: Checked

    /// The components of the URL, or the reason why it is invalid.
    var parts: Result<URLParts, NetworkError.Reason.Boxed> { checked.parts }

    /// Behind one reference, because it is copied with every config, service and send.
    private indirect enum Checked: Sendable, Hashable {
        case parts(Result<URLParts, NetworkError.Reason.Boxed>)

        var parts: Result<URLParts, NetworkError.Reason.Boxed> {
            switch self {
            case .parts(let parts): parts
            }
        }
    }

    /// Creates a base URL from a literal.
    ///
    /// Create it from a `URL` if it is known only at run time.
    public init(stringLiteral value: StaticString) { self.init(text: value.description) }

    /// Creates a base URL from a URL that is known only at run time.
    ///
    /// It is validated when a request is built.
    public init(_ url: URL) { self.init(text: url.absoluteString) }

    init(text: String) {
        do throws(NetworkError) {
            guard let parts = try URLParts(absolute: text) else {
                throw NetworkError(
                    .invalidBaseURL("the base URL '\(URLParts.redacted(text))' has no scheme and host")
                )
            }
            checked = .parts(.success(parts.checked()))
        } catch {
            checked = .parts(.failure(NetworkError.Reason.Boxed(error.reason)))
        }
    }

    /// The URL as text, without user information, or in parentheses the reason why it is invalid.
    public var description: String {
        switch parts {
        case .success(let parts): parts.text
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
