public import Errand
public import Foundation

extension MockResponse {
    /// Returns a response with JSON text and `Content-Type: application/json`; the text is not validated.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockResponse {
        data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Returns a response with plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockResponse {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with an HTML page in UTF-8.
    public static func html(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockResponse {
        data(Data(text.utf8), contentType: "text/html; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with bytes.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of `Content-Type`, or `nil` for none, unless `headers` has one.
    ///   - status: The status code.
    ///   - headers: Further header fields, which override the content type.
    /// - Returns: The response.
    public static func data(
        _ body: Data,
        contentType: String? = "application/octet-stream",
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockResponse {
        var fields = HTTPHeaders()
        fields["Content-Type"] = contentType
        return MockResponse(status: status, headers: fields.merging(headers), body: body)
    }

    /// Returns a response with a status and no body.
    public static func status(_ code: Int, headers: HTTPHeaders = [:]) -> MockResponse {
        MockResponse(status: code, headers: headers)
    }

    /// Returns a redirect.
    ///
    /// - Parameters:
    ///   - target: The value of `Location`, sent unchanged.
    ///   - status: The status code: 301, 302, 303, 307 or 308.
    ///   - body: The text of the body.
    /// - Returns: The response, with `Location` and a body of plain text.
    public static func redirect(to target: String, status: Int = 302, body: String = "") -> MockResponse {
        text(body, status: status, headers: ["Location": target])
    }

    /// Returns a copy that is sent after a delay, which ends early if the client or the server closes the connection.
    ///
    /// - Parameter duration: The delay, rounded up to milliseconds.
    /// - Returns: The response with that delay in place of any other.
    public func delayed(by duration: Duration) -> MockResponse { with { $0.delay = duration } }

    /// Returns a copy that sends its body in pieces with a pause between them; each is a chunk if the response is chunked.
    ///
    /// - Parameters:
    ///   - byteCount: The size of a piece, at least 1.
    ///   - interval: The pause, rounded up to milliseconds.
    /// - Returns: The response with these pieces in place of any others.
    public func dripping(_ byteCount: Int, every interval: Duration) -> MockResponse {
        with { $0.drip = Drip(byteCount: max(1, byteCount), interval: interval) }
    }

    /// Returns a copy that sends its body with `Transfer-Encoding: chunked` and without its length.
    ///
    /// - Parameter size: The size of a chunk in bytes, or `nil` for one chunk for all that is sent at once.
    /// - Returns: The response with a chunked body.
    public func chunked(_ size: Int? = nil) -> MockResponse {
        with {
            $0.isChunked = true
            $0.chunkByteCount = size.map { max(1, $0) }
        }
    }

    /// Returns a copy with a gzip body and `Content-Encoding: gzip`.
    ///
    /// The format is valid but the body does not get smaller, because its blocks are stored ones.
    public func gzipped() -> MockResponse {
        with {
            $0.body = Gzip.stored($0.body)
            $0.headers["Content-Encoding"] = "gzip"
        }
    }

    /// Returns a copy with `Connection: close`, after which the connection is closed.
    public func closingConnection() -> MockResponse { with { $0.closesConnection = true } }

    /// Returns a copy with a fault.
    public func faulted(_ fault: MockFault) -> MockResponse { with { $0.fault = fault } }

    private func with(_ change: (inout MockResponse) -> Void) -> MockResponse {
        var response = self
        change(&response)
        return response
    }
}
