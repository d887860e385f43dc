package import Errand
import Foundation

/// A URL on the command line, which may contain credentials.
package struct Address: Sendable {
    /// The URL as it was given.
    package let text: String
    /// The credentials in the URL, or `.inherited` if it has none.
    package let authorization: Authorization
    /// The URL for messages, without credentials and with the values of its query masked.
    package let shown: String
    /// A name for its content: the last component of the path, or else the host.
    package let name: String

    /// The values of parameters that distinguish contents are shown, in addition to the library's list.
    private static let secrets = Secrets(shown: ["id", "file", "name"])

    /// Reads a URL.
    ///
    /// - Throws: ``Words/Wrong`` if it is not an http or https URL.
    package init(_ text: String) throws {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()) else {
            // Even text that is no URL may contain a password or a token.
            let tail = text.split(separator: "@").last ?? ""
            let shown = StandardStream.escaped(String(tail.prefix { !"?#".contains($0) }))
            throw Words.Wrong("'\(shown)' is not an http or https URL; begin it with http:// or https://")
        }
        var place = URLComponents(url: url, resolvingAgainstBaseURL: false)
        place?.user = nil
        place?.password = nil
        place?.query = nil
        place?.fragment = nil
        let query = url.query().map { "?" + Self.secrets.redacted(pairs: $0) } ?? ""
        shown = StandardStream.escaped((place?.string ?? "") + query)
        guard let host = url.host(), !host.isEmpty else {
            throw Words.Wrong("a URL has no host; write it as http://HOST/PATH")
        }
        self.text = text
        let user = url.user(percentEncoded: false)
        let password = url.password(percentEncoded: false)
        authorization =
            user == nil && password == nil ? .inherited : .basic(user: user ?? "", password: password ?? "")
        let last = url.lastPathComponent
        name = StandardStream.escaped(last.isEmpty || last == "/" ? host : last)
    }

    /// Describes an error with the address, which is omitted if the error names it.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - needsQuery: Whether the query is needed to distinguish the address from others.
    /// - Returns: The message.
    package func message(of error: any Error, needsQuery: Bool = false) -> String {
        let end = shown.firstIndex(of: "?") ?? shown.endIndex
        if !needsQuery || end == shown.endIndex, let error = error as? NetworkError, let host = error.host {
            let isNamed = shown[..<end].hasSuffix("://\(host)\(error.path ?? "")")
            if isNamed { return "\(error)" }
        }
        return "\(needsQuery ? shown : String(shown[..<end])): \(error)"
    }
}
