internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

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
