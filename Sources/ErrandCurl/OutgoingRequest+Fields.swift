#if os(Linux)
internal import Errand

extension OutgoingRequest {
    /// The header fields that are sent besides those of the message itself: the request's, and what the transport adds.
    func fields(userAgent: String?) -> HTTPHeaders {
        var fields = headers
        // Cookies are sent on one line (RFC 6265, section 5.4).
        if fields.values(for: "Cookie").count > 1 { fields["Cookie"] = headers["Cookie"] }
        if !headers.contains("Accept-Encoding"), !ContentDecoder.names.isEmpty {
            fields.add("Accept-Encoding", ContentDecoder.names.joined(separator: ", "))
        }
        if !headers.contains("User-Agent"), let userAgent { fields.add("User-Agent", userAgent) }
        if hasBody, !headers.contains("Content-Type") { fields.add("Content-Type", "application/octet-stream") }
        return fields
    }

    /// All header fields that are sent to the server; HTTP/2 sends the host by another name, and has no `Transfer-Encoding`.
    func allFields(userAgent: String?) -> HTTPHeaders {
        var fields: HTTPHeaders = ["Host": authority]
        for field in self.fields(userAgent: userAgent) { fields.add(field.name, field.value) }
        if !hasBody {
            if [.post, .put, .patch].contains(method) { fields.add("Content-Length", "0") }
        } else if let count = body.byteCount {
            fields.add("Content-Length", "\(count)")
        } else {
            fields.add("Transfer-Encoding", "chunked")
        }
        return fields
    }
}
#endif
