public import Foundation

/// A request as it leaves for the wire: what adapters change and a ``Transport`` sends.
///
/// A type of its own, because a `URLRequest` drops bad header values without a word.
public struct OutgoingRequest: Sendable {
    /// The method; checked as an RFC 9110 token before it is sent.
    public var method: HTTPMethod
    /// The final URL, absolute, http or https.
    public var url: URL
    /// The fields, but for those that the transport sets itself.
    public var headers: HTTPHeaders
    /// What follows the head; empty with GET, HEAD and TRACE.
    public var body: OutgoingBody

    /// Which credential of a login it shows; `nil` when none.
    var credentialVersion: Int?

    /// The fields that a login added, which never leave for another origin.
    var credentialHeaders: [String] = []

    /// A request made by hand; it is checked when it is sent, not here.
    public init(method: HTTPMethod = .get, url: URL, headers: HTTPHeaders = [:], body: OutgoingBody = .empty) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// The fields that frame a message or belong to the connection; they are the transport's own.
    static let reservedHeaders = [
        "Content-Length", "Transfer-Encoding", "Connection", "Host", "Expect", "TE", "Trailer", "Upgrade", "Keep-Alive",
        "Proxy-Connection",
    ]

    /// Checks that nothing in the request can change the message on the wire, and nothing would be dropped.
    ///
    /// - Throws: ``NetworkError`` of kind ``NetworkError/Kind/invalidRequest``.
    func validate() throws(NetworkError) {
        guard !method.rawValue.isEmpty, method.rawValue.utf8.allSatisfy(\.isTokenCharacter) else {
            throw NetworkError(.invalidMethod)
        }
        for field in headers {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenCharacter) else {
                throw NetworkError(.invalidHeaderName)
            }
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw NetworkError(.invalidHeaderValue(name: field.name))
            }
            if Self.reservedHeaders.contains(where: { $0.isSameFieldName(as: field.name) }) {
                throw NetworkError(.reservedHeader(name: field.name))
            }
        }
        guard body.isEmpty || !(method == .get || method == .head || method == .trace) else {
            throw NetworkError(.bodyNotAllowed(method))
        }
    }
}
