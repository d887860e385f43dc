public import Errand
public import Foundation

extension TransportResponse {
    /// Returns a response with JSON text and `Content-Type: application/json`; the text is not validated.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Returns a response with plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with an HTML page in UTF-8.
    public static func html(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/html; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with bytes.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of `Content-Type`, or `nil` for none; `headers` can override it.
    ///   - status: The status code.
    ///   - headers: Further header fields, which override the content type.
    /// - Returns: The response; its body is available at once.
    public static func data(
        _ body: Data,
        contentType: String? = "application/octet-stream",
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> TransportResponse {
        var fields = HTTPHeaders()
        fields["Content-Type"] = contentType
        return TransportResponse(statusCode: status, headers: fields.merging(headers), body: ResponseBody(body))
    }

    /// Returns a response with a status and no body.
    public static func status(_ code: Int, headers: HTTPHeaders = [:]) -> TransportResponse {
        TransportResponse(statusCode: code, headers: headers)
    }
}
