internal import Foundation

extension OutgoingRequest {
    /// Returns the request as a curl command line that can be shared.
    ///
    /// It has the path as the request declares it, and only values whose names are listed as harmless.
    ///
    /// To send it, replace each mask. The body of a file is read from the file, whose path is shown. A text in parentheses
    /// without quotes, which a shell rejects, describes what cannot be part of the line:
    ///
    /// - a body that is made while it is sent, such as a multipart form
    /// - a body that is neither JSON nor a URL-encoded form
    /// - a body or another argument with control characters, which a terminal must not execute
    ///
    /// - Parameter secrets: The names whose values are shown.
    /// - Returns: One line. Every argument is quoted for a POSIX shell.
    public func curl(hiding secrets: Secrets = Secrets()) -> String {
        var words = ["curl"]
        if method == .head {
            words.append("--head")
        } else if method != .get {
            let isToken = method.rawValue.utf8.allSatisfy(\.isTokenCharacter)
            words += ["-X", isToken ? quoted(method.rawValue) : "(a method that is not valid)"]
        }
        words.append(quoted(notes.declared.map { secrets.redacted(url, path: $0.shown) } ?? secrets.redacted(url)))
        for field in headers {
            let value = secrets.redacted(field.value, of: field.name)
            // For curl, a field that ends in a colon is one to omit.
            let line = value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
            // A shell would execute a name with a parenthesis or a line break.
            let name = field.name.utf8.allSatisfy(\.isTokenCharacter) ? field.name : "a field"
            words += ["-H", line.isPrintable ? quoted(line) : "(\(name) with control characters)"]
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
            guard let text = secrets.redactedText(data, mediaType: type), text.isPrintable else {
                return ["--data-binary", "(\(data.count) bytes)"]
            }
            return ["--data-raw", quoted(text)]
        case .source(let source as FileSource):
            let path = "@" + source.path
            return ["--data-binary", path.isPrintable ? quoted(path) : "(a file with control characters in its path)"]
        case .source(let source):
            let name = type?.essence == "multipart/form-data" ? "a form" : "a stream"
            return ["--data-binary", "(\(name)\(source.byteCount.map { " of \($0) bytes" } ?? ""))"]
        }
    }

    private func quoted(_ text: String) -> String {
        "'" + text.escaping { $0 == UInt8(ascii: "'") ? #"'\''"# : nil } + "'"
    }
}

extension String {
    /// Whether the text has no control characters, line separators or bidirectional controls.
    fileprivate var isPrintable: Bool { !unicodeScalars.contains(where: \.breaksLines) }
}

extension RequestPlan {
    /// The final request as a curl command line, which shows the values that the config's ``Secrets`` list as harmless.
    public var curl: String { request.curl(hiding: secrets) }
}
