public import Foundation

/// Where paths start: a scheme, a host and perhaps a path of its own.
///
/// Made of a literal or a `URL`. What is wrong with it is told when a request is built, as a ``NetworkError``.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let checked: Checked

    /// The URL taken apart, or what is wrong with it.
    var parts: Result<URLParts, NetworkError.Reason.Boxed> { checked.parts }

    /// Behind one reference, for it is copied with every config, service and send.
    private indirect enum Checked: Sendable, Hashable {
        case parts(Result<URLParts, NetworkError.Reason.Boxed>)

        var parts: Result<URLParts, NetworkError.Reason.Boxed> {
            switch self {
            case .parts(let parts): parts
            }
        }
    }

    /// Takes a literal; text from elsewhere goes through `URL`.
    public init(stringLiteral value: StaticString) { self.init(text: value.description) }

    /// Takes a URL that is only known at run time; it is checked when a request is built.
    public init(_ url: URL) { self.init(text: url.absoluteString) }

    init(text: String) {
        do throws(NetworkError) {
            guard let parts = try URLParts(absolute: text) else {
                throw NetworkError(
                    .invalidBaseURL("the base URL '\(URLText.withoutSecrets(text))' has no scheme and host")
                )
            }
            checked = .parts(.success(parts.checked()))
        } catch {
            checked = .parts(.failure(NetworkError.Reason.Boxed(error.reason)))
        }
    }

    /// The URL as text, without user information, or in parentheses what is wrong with it.
    public var description: String {
        switch parts {
        case .success(let parts): parts.text
        case .failure(let boxed): "(\(boxed.reason.sentence))"
        }
    }
}

extension NetworkError.Reason {
    /// A reason on its own, where an error is not made yet.
    struct Boxed: Error, Hashable {
        let reason: NetworkError.Reason
        init(_ reason: NetworkError.Reason) { self.reason = reason }
    }
}
