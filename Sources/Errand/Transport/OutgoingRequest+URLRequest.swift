internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension OutgoingRequest {
    /// Creates an outgoing request from a caller's own `URLRequest`.
    ///
    /// - Throws: If it has no URL, or if its body is a stream, which could not be sent again.
    init(_ request: URLRequest) throws(NetworkError) {
        guard let url = request.url else { throw NetworkError(.invalidRequest("the custom URLRequest has no URL")) }
        guard request.httpBodyStream == nil else {
            throw NetworkError(
                .invalidRequest(
                    "the body of the custom URLRequest is a stream, which cannot be read twice; give it as data"
                )
            )
        }
        self.init(
            method: HTTPMethod(rawValue: request.httpMethod ?? "GET"),
            url: url,
            headers: HTTPHeaders(request.allHTTPHeaderFields ?? [:]),
            body: request.httpBody.flatMap { $0.isEmpty ? nil : .data($0) } ?? .empty
        )
        try normalize()
    }

    /// Returns this request as a `URLRequest`, with its body only if that is in memory.
    func urlRequest() -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method.rawValue
        for field in headers.combined { request.setValue(field.value, forHTTPHeaderField: field.name) }
        request.httpBody = body.isEmpty ? nil : body.data
        return request
    }

    /// Lowercases the scheme and removes user information, for a URL that did not come from the builder.
    ///
    /// - Throws: If the scheme is not http or https, or if there is no usable host.
    mutating func normalize() throws(NetworkError) {
        guard var parts = try URLParts(absolute: url.absoluteString) else {
            throw NetworkError(.invalidURL("it has no scheme"))
        }
        if parts.path.isEmpty { parts.path = "/" }
        url = try parts.url()
    }
}

/// The `URLRequest` of an exchange, made so that URLSession sends it as intended.
struct SessionRequest {
    /// The form in which a body is passed to URLSession.
    enum Body {
        case data(Data)
        case stream(InputStream)
    }

    let urlRequest: URLRequest

    init(_ outgoing: OutgoingRequest, body: Body?, allowsCellularAccess: Bool = true) {
        var request = URLRequest(url: outgoing.url)
        if outgoing.method != .get { request.httpMethod = outgoing.method.rawValue }
        // The initializer's timeout has no effect, only the setter.
        request.timeoutInterval = SessionPlatform.never
        if !allowsCellularAccess { request.allowsCellularAccess = false }
        // A second line of a name would be joined with a bare comma, cookies too.
        for field in outgoing.headers.combined { request.setValue(field.value, forHTTPHeaderField: field.name) }
        if let body {
            if !outgoing.headers.contains("Content-Type") {
                request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
            }
            switch body {
            case .data(let data):
                // The system adds the length, which over HTTP/2 marks the end of the body.
                request.httpBody = data
            case .stream(let stream):
                request.httpBodyStream = stream
                guard let byteCount = outgoing.body.byteCount else { break }
                SessionPlatform.state(byteCount, in: &request)
            }
        }
        urlRequest = request
    }
}
