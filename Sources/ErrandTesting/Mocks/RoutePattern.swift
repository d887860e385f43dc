import Errand
import Foundation

/// A method and a path, as a test writes them for a route.
///
/// The path is compared percent-encoded. A `:name` in place of a component, as in `/users/:id`, matches one component of any
/// text. A `*` at the end matches any rest. The query is compared only if the route has one, and a text that begins with a
/// scheme is compared with the absolute URL. The first slash may be omitted.
struct RoutePattern: Sendable, Hashable, CustomStringConvertible {
    let method: HTTPMethod
    let text: String
    private let isAbsolute: Bool
    private let path: Substring
    private let query: Substring?
    /// The components of the path, or `nil` if none has a name.
    private let components: [Substring]?

    init(_ method: HTTPMethod, _ path: String) {
        self.method = method
        let scheme = path.prefix { $0 != "/" && $0 != "?" }
        isAbsolute = scheme.hasSuffix(":") && path[scheme.endIndex...].hasPrefix("//")
        text = isAbsolute || path.hasPrefix("/") || path.isEmpty || path == "*" ? path : "/\(path)"
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (self.path, query) = (parts[0], parts.count > 1 ? parts[1] : nil)
        components = self.path.contains("/:") ? Self.components(self.path) : nil
    }

    var description: String { "\(method) \(text)" }

    /// Numbers that order patterns: exact ones before those with names, these before prefixes, then long ones before short
    /// ones.
    var precedence: (Int, Int) { (path.hasSuffix("*") ? 0 : components == nil ? 2 : 1, text.utf8.count) }

    /// Returns the values of the names, percent-decoded, or `nil` if the request does not match.
    func match(_ request: MockRequest, as method: HTTPMethod) -> [String: String]? {
        guard self.method == method else { return nil }
        if let query, !Self.isMatch(request.query.map { $0[...] } ?? "", query) { return nil }
        let place = isAbsolute ? (request.url ?? "").prefix { $0 != "?" } : request.path[...]
        guard let components else { return Self.isMatch(place, path) ? [:] : nil }
        let parts = Self.components(place)
        guard components.last == "*" ? parts.count >= components.count : parts.count == components.count else {
            return nil
        }
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

    private static func components(_ path: Substring) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Whether a text is another, or begins with it up to a `*` at its end.
    private static func isMatch(_ text: Substring, _ pattern: Substring) -> Bool {
        pattern.hasSuffix("*") ? text.hasPrefix(pattern.dropLast()) : text == pattern
    }
}
