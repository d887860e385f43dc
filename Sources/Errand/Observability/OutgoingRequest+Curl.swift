internal import Foundation

extension OutgoingRequest {
    /// The request as a command line of curl, with secrets masked, so that it can be shown to others.
    ///
    /// - Parameter secrets: What is masked, in fields, query and body; a body that is neither JSON nor a form is told by
    ///   its size.
    /// - Returns: One line; every argument is quoted for a POSIX shell.
    public func curl(hiding secrets: Secrets = Secrets()) -> String {
        var words = ["curl"]
        if method == .head {
            words.append("--head")
        } else if method != .get {
            words += ["-X", quoted(method.rawValue)]
        }
        words.append(quoted(secrets.telling(url)))
        for field in headers {
            words += ["-H", quoted("\(field.name): \(secrets.telling(field.value, of: field.name))")]
        }
        if !body.isEmpty {
            let text = body.data.map { secrets.telling($0, mediaType: headers["Content-Type"].flatMap(MediaType.init)) }
            words += ["--data-raw", quoted(text ?? "(a stream)")]
        }
        return words.joined(separator: " ")
    }

    private func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }
}

extension RequestPlan {
    /// The final request as a command line of curl, with the secrets of the config masked.
    public var curl: String { request.curl(hiding: secrets) }
}
