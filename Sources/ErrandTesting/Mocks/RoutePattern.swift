import Errand
import Foundation

/// A method and a path, as a test writes them for a route.
///
/// The path is compared percent-encoded. A `:name` in place of a component, as in `/users/:id`, matches one component of any
/// text. A `*` at the end matches any rest. The query is compared only if the path has one, and a text that contains a scheme
/// is compared with the absolute URL. The first slash may be omitted.
struct RoutePattern: Sendable, Hashable, CustomStringConvertible {
    let method: HTTPMethod
    let text: String
    private let isPrefix: Bool
    private let isAbsolute: Bool
    private let hasQuery: Bool
    /// The components, or `nil` if none has a name.
    private let components: [Substring]?

    init(_ method: HTTPMethod, _ path: String) {
        self.method = method
        isAbsolute = path.contains("://")
        text = isAbsolute || path.hasPrefix("/") || path.isEmpty || path == "*" ? path : "/\(path)"
        isPrefix = text.hasSuffix("*")
        hasQuery = text.contains("?")
        components = text.contains("/:") ? text.split(separator: "/", omittingEmptySubsequences: false) : nil
    }

    var description: String { "\(method) \(text)" }

    /// Numbers that order patterns: exact ones before those with names, these before prefixes, then long ones before short
    /// ones.
    var precedence: (Int, Int) { (isPrefix ? 0 : components == nil ? 2 : 1, text.utf8.count) }

    /// Returns the values of the names, percent-decoded, or `nil` if the request does not match.
    func match(_ request: MockRequest, as method: HTTPMethod) -> [String: String]? {
        guard self.method == method else { return nil }
        let place = isAbsolute ? request.url ?? "" : hasQuery ? request.target : request.path
        guard let components else { return (isPrefix ? place.hasPrefix(text.dropLast()) : place == text) ? [:] : nil }
        let parts = place.split(separator: "/", omittingEmptySubsequences: false)
        guard isPrefix ? parts.count >= components.count : parts.count == components.count else { return nil }
        var values: [String: String] = [:]
        for (component, part) in zip(components, parts) {
            if component.hasPrefix(":"), !part.isEmpty {
                values[String(component.dropFirst())] = part.removingPercentEncoding ?? String(part)
            } else if component != part, component != "*" {
                return nil
            }
        }
        return values
    }
}
