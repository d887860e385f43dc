internal import Foundation

/// The variables of the environment that name a proxy, as libcurl reads them (CURLOPT_PROXY).
package enum ProxyVariables {
    // Not HTTP_PROXY, which a client of a CGI program can set.
    private static let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// Whether any is set.
    package static var nameProxy: Bool { names.contains { name in getenv(name).map { $0[0] != 0 } ?? false } }
}
