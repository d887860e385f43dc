#if os(Linux)
internal import CErrandCurl
internal import Errand
public import Foundation

extension CurlTransport {
    /// The configuration of a ``CurlTransport``'s connections.
    ///
    /// The server's certificate and its host name are always verified; a test server needs a certificate of a CA in
    /// ``trust``. If the system's libcurl does not support a property, for example because its TLS library is not
    /// OpenSSL, every request fails with `NetworkError.Reason.tlsHandshakeFailed(_:)` before anything is sent.
    public struct Configuration: Sendable {
        /// The certificates of authorities that a server's certificate must lead to.
        public enum Trust: Sendable, Hashable {
            /// The system's certificates, as libcurl was built to find them.
            case system
            /// The certificates in a file in PEM format, in place of the system's.
            case file(path: String)
            /// Certificates in PEM format, in place of the system's.
            case pem(Data)
        }

        /// A certificate that identifies the client.
        public struct ClientCertificate: Sendable, Hashable {
            /// The certificate and its chain, in PEM format.
            public var certificate: Data
            /// The private key in PEM format.
            public var key: Data
            /// The passphrase of the key, or `nil` if it is not encrypted.
            public var passphrase: String?

            /// Creates a client certificate from PEM bytes.
            public init(certificate: Data, key: Data, passphrase: String? = nil) {
                (self.certificate, self.key, self.passphrase) = (certificate, key, passphrase)
            }
        }

        /// The oldest version of TLS that is accepted.
        public enum TLSVersion: Sendable, Hashable {
            /// TLS 1.2 (RFC 5246) or newer.
            case tls12
            /// TLS 1.3 (RFC 8446) or newer.
            case tls13
        }

        /// The proxy that connections are made through.
        public enum Proxy: Sendable, Hashable {
            /// The environment's proxy: `http_proxy`, `https_proxy`, `all_proxy`, without the hosts of `no_proxy`.
            case environment
            /// No proxy, whatever is in the environment.
            case none
            /// One proxy for all hosts but some.
            ///
            /// - `url`: Its URL: `http`, `https`, `socks5` (names are resolved here) or `socks5h` (by the proxy), with host and
            ///   port, without user and password.
            /// - `user`, `password`: The credentials, or `nil` for a proxy without.
            /// - `bypass`: The hosts that are reached directly, without port: names, which include their subdomains, IP
            ///   addresses and ranges such as `10.0.0.0/8` or `fd00::/8`; `*` is all.
            case url(String, user: String? = nil, password: String? = nil, bypass: [String] = [])
        }

        /// The version of HTTP.
        public enum HTTPVersion: Sendable, Hashable {
            /// HTTP/2 over TLS if the server offers it, and otherwise HTTP/1.1.
            case automatic
            /// HTTP/1.1 only.
            case http1
            /// HTTP/2 without TLS, which the server must be known to support ("prior knowledge", RFC 9113, section 3.3), and
            /// over TLS as with ``automatic``.
            case http2
        }

        /// The authorities that are trusted.
        ///
        /// The default is the system's.
        public var trust: Trust
        /// The SHA-256 digests of the public keys that the server may have.
        ///
        /// Each is 32 bytes, the digest of the `SubjectPublicKeyInfo` (RFC 7469, section 2.4). An empty list, the default,
        /// accepts the key of every certificate that is trusted.
        public var pinnedKeys: [Data]
        /// The certificate for servers that request one, or `nil` for none.
        public var clientCertificate: ClientCertificate?
        /// The oldest version of TLS.
        ///
        /// The default is 1.2.
        public var minimumTLSVersion: TLSVersion
        /// Whether a body without a length that ends with its TLS connection is accepted without TLS's `close_notify`.
        ///
        /// The default is `false`: such a body may have been cut, and fails with
        /// `NetworkError.Reason.closedWithoutCloseNotify` (RFC 9112, section 9.8). Bodies with a length or chunks, and HTTP/2,
        /// state their ends themselves. `true` is for servers that never send it. Without OpenSSL 3 it is always accepted.
        public var acceptsMissingCloseNotify: Bool
        /// The proxy.
        ///
        /// The default is the environment's, as with URLSession.
        public var proxy: Proxy
        /// The IP addresses of hosts to use without a lookup, by host name without port.
        public var addresses: [String: [String]]
        /// The path of a Unix socket that all connections are made to, or `nil`.
        ///
        /// The URL's host is then only sent as `Host`.
        public var unixSocket: String?
        /// The name of a network interface, such as `eth1`, or a local address that connections are made from, or `nil`.
        public var interface: String?
        /// The version of HTTP.
        ///
        /// The default is automatic.
        public var httpVersion: HTTPVersion
        /// The maximum number of connections to one host, at least 1.
        ///
        /// The default is 32. Further requests wait, with their idle timeout running. Streams have a connection of
        /// their own and do not count. HTTP/2 needs one connection for all requests. Choose a lower maximum for
        /// somebody else's host that supports only HTTP/1.
        public var maximumConnectionsPerHost: Int
        /// The maximum number of connections, at least 1, or `nil`, the default, for no limit.
        ///
        /// Streams do not count among them; they have a separate, equal maximum.
        public var maximumConnections: Int?
        /// The maximum number of connections that are kept for later requests, at least 1, or `nil`, the default, for four
        /// times the number of requests in flight.
        public var maximumIdleConnections: Int?
        /// The maximum time after which an unused connection is used again, in full seconds, at least 1.
        ///
        /// The default is 118 seconds.
        public var idleConnectionLifetime: Duration
        /// The maximum age at which a connection is used again, in full seconds, at least 1; or `nil`, the default, for
        /// no limit.
        public var connectionLifetime: Duration?
        /// The value of `User-Agent` for requests that have none, or `nil` to send none.
        ///
        /// The default is ``standardUserAgent``, because some servers refuse requests without one.
        public var userAgent: String?

        /// The names of the program and of this library, with their versions: `shop/2.1 errand/0.1.0`.
        ///
        /// The version of a program is that of its bundle; without one there is none.
        public static let standardUserAgent = {
            let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
            let program = [ProcessInfo.processInfo.processName, version ?? ""].map(\.asToken).filter { !$0.isEmpty }
            return (program.isEmpty ? "" : program.joined(separator: "/") + " ") + "errand/0.1.0"
        }()

        /// Creates a configuration.
        public init(
            trust: Trust = .system,
            pinnedKeys: [Data] = [],
            clientCertificate: ClientCertificate? = nil,
            minimumTLSVersion: TLSVersion = .tls12,
            acceptsMissingCloseNotify: Bool = false,
            proxy: Proxy = .environment,
            addresses: [String: [String]] = [:],
            unixSocket: String? = nil,
            interface: String? = nil,
            httpVersion: HTTPVersion = .automatic,
            maximumConnectionsPerHost: Int = 32,
            maximumConnections: Int? = nil,
            maximumIdleConnections: Int? = nil,
            idleConnectionLifetime: Duration = .seconds(118),
            connectionLifetime: Duration? = nil,
            userAgent: String? = Self.standardUserAgent
        ) {
            self.trust = trust
            self.pinnedKeys = pinnedKeys
            self.clientCertificate = clientCertificate
            self.minimumTLSVersion = minimumTLSVersion
            self.acceptsMissingCloseNotify = acceptsMissingCloseNotify
            self.proxy = proxy
            self.addresses = addresses
            self.unixSocket = unixSocket
            self.interface = interface
            self.httpVersion = httpVersion
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.maximumConnections = maximumConnections
            self.maximumIdleConnections = maximumIdleConnections
            self.idleConnectionLifetime = idleConnectionLifetime
            self.connectionLifetime = connectionLifetime
            self.userAgent = userAgent
        }
    }
}

extension CurlTransport.Configuration: CustomStringConvertible, CustomReflectable {
    /// A description for logs, without keys and passwords.
    public var description: String {
        "configuration with \(proxy)" + (clientCertificate == nil ? "" : " and a client certificate")
    }
    /// A mirror with the description and no children.
    public var customMirror: Mirror { .ofDescription(self) }
}

extension CurlTransport.Configuration.Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy's URL, without user and password.
    public var description: String {
        switch self {
        case .environment: "the proxy of the environment"
        case .none: "no proxy"
        // A URL with user information is refused, so this one was not validated.
        case .url(let url, _, _, _): url.utf8.contains(UInt8(ascii: "@")) ? "a proxy" : "the proxy \(url)"
        }
    }
    /// A mirror with the description and no children.
    public var customMirror: Mirror { .ofDescription(self) }
}

extension CurlTransport.Configuration.ClientCertificate: CustomStringConvertible, CustomReflectable {
    /// The size of the certificate, without the key and its passphrase.
    public var description: String { "a client certificate of \(certificate.count) bytes" }
    /// A mirror with the description and no children.
    public var customMirror: Mirror { .ofDescription(self) }
}

extension Mirror {
    fileprivate static func ofDescription(_ value: some CustomStringConvertible) -> Mirror {
        Mirror(value, unlabeledChildren: [value.description], ancestorRepresentation: .suppressed)
    }
}

extension CurlTransport.Configuration {
    /// A configuration that cannot be used.
    public struct Invalid: Error, Sendable, CustomStringConvertible, LocalizedError {
        /// The property and what is wrong with it.
        public let description: String

        /// The ``description``, for `localizedDescription`.
        public var errorDescription: String? { description }
    }

    /// Throws ``Invalid`` for what libcurl would ignore or refuse with each request.
    func validate() throws(Invalid) {
        for key in pinnedKeys where key.count != 32 {
            throw Invalid(
                description: "pinnedKeys: a SHA-256 digest has 32 bytes, and this one has \(key.count); "
                    + "decode the base64 or hexadecimal text first"
            )
        }
        switch trust {
        case .system: break
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Invalid(description: "trust: the file cannot be read: \(path)")
            }
            guard data.hasCertificate else {
                throw Invalid(description: "trust: the file contains no certificate in PEM format: \(path)")
            }
        case .pem(let data):
            guard data.hasCertificate else {
                throw Invalid(description: "trust: the bytes contain no certificate in PEM format")
            }
        }
        if let certificate = clientCertificate {
            guard certificate.certificate.hasCertificate else {
                throw Invalid(description: "clientCertificate: the certificate is not in PEM format")
            }
            guard certificate.key.contains("PRIVATE KEY-----") else {
                throw Invalid(description: "clientCertificate: the key is not in PEM format")
            }
            guard certificate.passphrase != nil || !certificate.key.contains("ENCRYPTED") else {
                throw Invalid(description: "clientCertificate: the key is encrypted; pass its passphrase")
            }
        }
        try validateProxy()
        let texts: [(String, String?)] = [
            ("userAgent", userAgent), ("unixSocket", unixSocket), ("interface", interface),
        ]
        for (name, text) in texts where text?.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) == true {
            throw Invalid(description: "\(name): contains a control character")
        }
        if let unixSocket, unixSocket.isEmpty || unixSocket.utf8.count > 107 {
            throw Invalid(description: "unixSocket: the path of a socket has 1 to 107 bytes")
        }
        for (name, count) in [
            ("maximumConnectionsPerHost", maximumConnectionsPerHost), ("maximumConnections", maximumConnections),
            // libcurl takes 0 for its default.
            ("maximumIdleConnections", maximumIdleConnections),
        ] {
            guard count.map({ $0 >= 1 }) != false else { throw Invalid(description: "\(name): must be at least 1") }
        }
        for (name, lifetime) in [
            ("idleConnectionLifetime", idleConnectionLifetime), ("connectionLifetime", connectionLifetime),
        ] {
            guard lifetime.map({ $0 >= .seconds(1) }) != false else {
                throw Invalid(description: "\(name): must be at least one second")
            }
        }
        for (host, list) in addresses {
            guard !host.isEmpty, !host.contains(":"), !list.isEmpty else {
                throw Invalid(description: "addresses: \(host) is not a host name without port, or has no address")
            }
            for address in list where ProxyBypass.Address(written: address) == nil {
                throw Invalid(description: "addresses: \(address), for \(host), is not an IP address")
            }
        }
    }

    private func validateProxy() throws(Invalid) {
        guard case .url(let url, let user, let password, let bypass) = proxy else { return }
        let parts = URLComponents(string: url)
        guard let parts, let scheme = parts.scheme?.lowercased(), parts.host?.isEmpty == false,
            ["http", "https", "socks5", "socks5h"].contains(scheme), ["", "/"].contains(parts.path), parts.query == nil
        else {
            throw Invalid(description: "proxy: not the URL of a proxy, such as http://proxy.example:3128")
        }
        // libcurl would choose 1080, also for http.
        guard let port = parts.port, 1...0xFFFF ~= port else {
            throw Invalid(description: "proxy: the URL has no port, as in http://proxy.example:3128")
        }
        guard parts.user == nil, parts.password == nil else {
            throw Invalid(description: "proxy: user and password are arguments of their own, not part of the URL")
        }
        // RFC 7617, section 2.
        guard user?.contains(":") != true, user != nil || password == nil else {
            throw Invalid(description: "proxy: a password needs a user, whose name contains no colon")
        }
        for host in bypass where ProxyBypass.Rule(host) == nil {
            throw Invalid(
                description:
                    "proxy: cannot bypass '\(host)'; name a host, which includes its subdomains, an address, or a range "
                    + "such as 10.0.0.0/8, without port"
            )
        }
    }

    /// The hosts that are reached directly, although there is a proxy; `nil` if none is configured.
    var proxyBypass: ProxyBypass? {
        guard unixSocket == nil, case .url(_, _, _, let bypass) = proxy else { return nil }
        return ProxyBypass(bypass)
    }

    /// Sets what all requests of a transport share.
    func apply(to handle: CurlHandle) {
        let mayUseProxy = mayUseProxy
        switch trust {
        case .system: break
        case .file(let path):
            handle.require(ErrandCurlOptionTrustFile, path, for: "trust")
            if mayUseProxy { handle.require(ErrandCurlOptionProxyTrustFile, path, for: "trust") }
        case .pem(let data):
            handle.require(ErrandCurlOptionTrust, data, for: "trust")
            if mayUseProxy { handle.require(ErrandCurlOptionProxyTrust, data, for: "trust") }
        }
        if trust != .system {
            // A library without these options uses no folder. NULL makes newer versions of libcurl use the system's, and not
            // every TLS library accepts a folder that doesn't exist.
            handle.set(ErrandCurlOptionTrustFolder, ERRAND_CURL_EMPTY_FOLDER)
            handle.set(ErrandCurlOptionProxyTrustFolder, ERRAND_CURL_EMPTY_FOLDER)
        }
        if !pinnedKeys.isEmpty {
            let pins = pinnedKeys.map { "sha256//\($0.base64EncodedString())" }.joined(separator: ";")
            handle.require(ErrandCurlOptionPinnedKey, pins, for: "pinnedKeys")
        }
        if let clientCertificate {
            handle.require(ErrandCurlOptionCertificate, clientCertificate.certificate, for: "clientCertificate")
            handle.require(ErrandCurlOptionKey, clientCertificate.key, for: "clientCertificate")
            // Without one libcurl passes NULL on to OpenSSL, which reads it if the key is encrypted.
            let passphrase = clientCertificate.passphrase ?? ""
            handle.require(ErrandCurlOptionKeyPassword, passphrase, for: "clientCertificate")
        }
        // `CURL_SSLVERSION_TLSv1_2` and `CURL_SSLVERSION_TLSv1_3`.
        let version = minimumTLSVersion == .tls13 ? 7 : 6
        handle.require(ErrandCurlOptionTLSVersion, version, for: "minimumTLSVersion")
        if mayUseProxy { handle.require(ErrandCurlOptionProxyTLSVersion, version, for: "minimumTLSVersion") }
        applyProxy(to: handle, mayUseProxy)
        if let unixSocket { handle.require(ErrandCurlOptionUnixSocket, unixSocket, for: "unixSocket") }
        if let interface { handle.require(ErrandCurlOptionInterface, interface, for: "interface") }
        handle.set(ErrandCurlOptionHTTPVersion, httpVersion.number)
        handle.set(ErrandCurlOptionMaximumIdleAge, Self.seconds(idleConnectionLifetime))
        if let connectionLifetime {
            handle.set(ErrandCurlOptionMaximumLifetime, Self.seconds(connectionLifetime))
        }
    }

    /// Whether requests may be sent through a proxy.
    var mayUseProxy: Bool {
        guard unixSocket == nil else { return false }
        switch proxy {
        case .environment: return ProxyVariables.nameProxy
        case .none: return false
        case .url: return true
        }
    }

    private func applyProxy(to handle: CurlHandle, _ mayUseProxy: Bool) {
        // A socket is not reached through a proxy.
        switch unixSocket == nil ? proxy : .none {
        case .environment:
            // libcurl would look for them again for each request.
            if !mayUseProxy { handle.set(ErrandCurlOptionProxy, "") }
        case .none: handle.set(ErrandCurlOptionProxy, "")
        case .url(let url, let user, let password, _):
            handle.require(ErrandCurlOptionProxy, url, for: "proxy")
            // Instead of the list of the environment; changed for requests that bypass the proxy.
            handle.require(ErrandCurlOptionNoProxy, "", for: "proxy")
            if user != nil || password != nil {
                // libcurl decodes both.
                let parts = [user, password].map { text in
                    (text ?? "").addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                }
                handle.require(ErrandCurlOptionProxyUserPassword, parts.joined(separator: ":"), for: "proxy")
            }
        }
    }

    private static func seconds(_ duration: Duration) -> Int {
        Int(min(duration.components.seconds, Int64(Int32.max)))
    }
}

extension String {
    /// The text with a hyphen for each character that a product's name cannot have (RFC 9110, section 5.6.2).
    fileprivate var asToken: String {
        let allowed = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        return String(decoding: utf8.map { allowed.contains($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }
}

extension Data {
    fileprivate var hasCertificate: Bool { contains("CERTIFICATE-----") }

    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}

extension CurlTransport.Configuration.HTTPVersion {
    /// `CURL_HTTP_VERSION_2TLS`, `…_1_1` and `…_2_PRIOR_KNOWLEDGE`.
    var number: Int {
        switch self {
        case .automatic where CurlHandle.mixesVersions && errand_curl_sees_http2() == 0: 2
        case .automatic: 4
        case .http1: 2
        case .http2: 5
        }
    }
}
#endif
