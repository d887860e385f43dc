internal import Foundation

extension URL {
    /// Scheme, host and port, the default port filled in (RFC 6454).
    var origin: String {
        let scheme = scheme?.lowercased() ?? ""
        return "\(scheme)://\(host()?.lowercased() ?? ""):\(port ?? (scheme == "https" ? 443 : 80))"
    }
}
