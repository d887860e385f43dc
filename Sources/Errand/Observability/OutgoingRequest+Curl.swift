internal import Foundation

extension OutgoingRequest {
    /// Returns the request as a curl command line, with secrets redacted so that it can be shared.
    ///
    /// - Parameter secrets: What to redact in header fields, query and body. A body that is neither JSON nor a form is
    ///   replaced by its size.
    /// - Returns: One line. Every argument is quoted for a POSIX shell.
    public func curl(hiding secrets: Secrets = Secrets()) -> String {
        var words = ["curl"]
        if method == .head {
            words.append("--head")
        } else if method != .get {
            words += ["-X", quoted(method.rawValue)]
        }
        words.append(quoted(secrets.redacted(url)))
        for field in headers {
            words += ["-H", quoted("\(field.name): \(secrets.redacted(field.value, of: field.name))")]
        }
        if !body.isEmpty {
            let text = body.data.map {
                secrets.redacted($0, mediaType: headers["Content-Type"].flatMap(MediaType.init))
            }
            words += ["--data-raw", quoted(text ?? "(a stream)")]
        }
        return words.joined(separator: " ")
    }

    private func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }
}

extension RequestPlan {
    /// The final request as a curl command line, with the config's secrets redacted.
    public var curl: String { request.curl(hiding: secrets) }
}
