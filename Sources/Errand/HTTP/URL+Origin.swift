internal import Foundation

extension URL {
    /// The scheme, host and port, including a default port (RFC 6454).
    var origin: String {
        let scheme = scheme?.lowercased() ?? ""
        return "\(scheme)://\(host()?.lowercased() ?? ""):\(port ?? (scheme == "https" ? 443 : 80))"
    }
}
