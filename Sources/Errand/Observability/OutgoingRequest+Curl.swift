internal import Foundation

extension OutgoingRequest {
    /// Returns the request as a curl command line, with secrets redacted so that it can be shared.
    ///
    /// The body of a file is read from the file, whose path is not redacted. Another body that cannot be part of the line,
    /// because it is made while it is sent or is neither JSON nor a form, is described in parentheses without quotes, which
    /// a shell rejects, so that nothing else is sent in its place.
    ///
    /// - Parameter secrets: What to redact in header fields, query and body.
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
            let value = secrets.redacted(field.value, of: field.name)
            // For curl, a field that ends in a colon is one to omit.
            words += ["-H", quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")]
        }
        if !body.isEmpty {
            words += arguments(hiding: secrets)
        }
        return words.joined(separator: " ")
    }

    /// The option for the body and its value.
    private func arguments(hiding secrets: Secrets) -> [String] {
        let type = headers["Content-Type"].flatMap(MediaType.init)
        switch body {
        case .empty: return []
        case .data(let data):
            guard let text = secrets.redactedText(data, mediaType: type) else {
                return ["--data-binary", "(\(data.count) bytes)"]
            }
            return ["--data-raw", quoted(text)]
        case .source(let source as FileSource): return ["--data-binary", quoted("@" + source.path)]
        case .source(let source):
            let name = type?.essence == "multipart/form-data" ? "a form" : "a stream"
            return ["--data-binary", "(\(name)\(source.byteCount.map { " of \($0) bytes" } ?? ""))"]
        }
    }

    private func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }
}

extension RequestPlan {
    /// The final request as a curl command line, with the config's secrets redacted.
    public var curl: String { request.curl(hiding: secrets) }
}
