public import Errand
public import Foundation

/// A request as a ``MockServer`` received it, or as a route of a ``StubTransport`` is asked about it.
public struct MockRequest: Sendable {
    /// The method, as received.
    public var method: HTTPMethod { head.method }
    /// The request target as received, percent-encoded: usually path and query.
    public var target: String { head.target }
    /// The path of the target, percent-encoded, without the query.
    public let path: String
    /// The query as received, without the `?`, or `nil` if the target has none.
    public let query: String?
    /// The body, decoded from a chunked transfer coding but not from a content coding; empty if there is none.
    public let body: Data
    /// The number of the connection, counted from 1 since the server started.
    public let connection: Int
    /// The time at which the last byte of the request had been read.
    public let receivedAt: ContinuousClock.Instant
    /// The values of the names in the path of its route, such as `id` for `/users/:id`, percent-decoded.
    public internal(set) var parameters: [String: String] = [:]

    let head: RequestHead
    /// The absolute URL, which only a request to a stub has.
    var url: String?
    /// The request as a value, if it is known.
    var sent: SentRequest?

    init(head: RequestHead, body: Data, connection: Int) {
        self.head = head
        self.body = body
        self.connection = connection
        receivedAt = .now
        (path, query) = MockRequest.split(head.target)
    }

    /// The header fields, in the order received; parsed at each access.
    public var headers: HTTPHeaders { head.headers }

    /// The request line and the header section exactly as received, including the empty line.
    public var headBytes: Data { Data(head.bytes) }

    /// The body as text; bytes that are not UTF-8 become replacement characters.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The items of the query in their order, names and values percent-decoded.
    ///
    /// A `+` is not decoded. An item without `=` has an empty value; what cannot be decoded is unchanged.
    public var queryItems: [(name: String, value: String)] { MockRequest.items(query ?? "") }

    /// The items of a form in their order: the parts of a `multipart/form-data` body, or the items of any other body, such as
    /// `application/x-www-form-urlencoded`, decoded like ``queryItems``.
    public var formItems: [MockFormItem] {
        if let parts = headers["Content-Type"].flatMap({ MockFormItem.parts(of: body, contentType: $0) }) {
            return parts
        }
        return MockRequest.items(text).map { MockFormItem(name: $0.name, data: Data($0.value.utf8)) }
    }

    /// The cookies of the request by their names, values as sent.
    public var cookies: [String: String] {
        let pairs = headers.values(for: "Cookie").flatMap { $0.split(separator: ";") }
        return pairs.reduce(into: [:]) { cookies, pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if parts.count == 2 { cookies[parts[0]] = parts[1] }
        }
    }

    /// The credentials in the `Authorization` field, or `nil` if there is none.
    public var authorization: MockAuthorization? { headers["Authorization"].map(MockAuthorization.init) }

    /// Decodes the body as JSON.
    ///
    /// - Throws: `DecodingError`, or `JSONError` if the body is not JSON.
    public func json<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try LosslessJSONDecoder().decode(type, from: body)
    }

    private static func items(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let decoded = parts.map { $0.removingPercentEncoding ?? $0 }
            return (decoded[0], decoded.count > 1 ? decoded[1] : "")
        }
    }

    private static func split(_ target: String) -> (path: String, query: String?) {
        var rest = target[...]
        // A client that uses the server as a proxy sends an absolute URL (RFC 9112, section 3.2.2).
        if !rest.hasPrefix("/"), let scheme = rest.range(of: "://") {
            rest = rest[scheme.upperBound...]
            rest = rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
        }
        guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (String(rest), nil) }
        return (String(rest[..<mark]), String(rest[rest.utf8.index(after: mark)...]))
    }
}
