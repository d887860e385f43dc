internal import Foundation

extension URL {
    /// The scheme, host and port, including a default port (RFC 6454).
    var origin: String {
        "\(scheme?.lowercased() ?? "")://\(hostAndPort)"
    }

    /// The host as it is sent and the port, including a default port: `api.example:443`.
    var hostAndPort: String {
        "\(bracketedHost):\(port ?? (scheme?.lowercased() == "https" ? 443 : 80))"
    }

    /// The scheme, the host and the port, which is all that is shown of the target of a redirect or a link.
    var shownOrigin: String { "\(scheme ?? "")://\(authority)" }

    /// The host and the port, without a default port.
    var authority: String { bracketedHost + (port.map { ":\($0)" } ?? "") }

    /// The ``asciiHost``, an IPv6 literal in brackets, which Foundation's host does not have.
    var bracketedHost: String {
        let host = asciiHost
        return host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// The host in lower case, as it is sent: an internationalized one in its ASCII form (RFC 5890, section 2.3.2.1).
    var asciiHost: String {
        guard let host = host() else { return "" }
        // Foundation escapes the host with which an internationalized URL was created.
        guard host.utf8.contains(UInt8(ascii: "%")) else { return host.lowercased() }
        return (URLComponents(string: absoluteString)?.encodedHost ?? host).lowercased()
    }
}
