internal import Foundation

extension OutgoingRequest {
    /// Returns the request as a curl command line that can be shared.
    ///
    /// It has the path as the request declares it, and only values whose names are listed as harmless; to send it, replace each
    /// mask. With `nil`, it has every value, and sends the same request as it is printed.
    ///
    /// The body of a file is read from the file, whose path is shown. A text in parentheses without quotes, which a shell
    /// rejects, describes what cannot be part of the line:
    ///
    /// - a body that is made while it is sent, such as a multipart form
    /// - a body that is neither JSON nor a URL-encoded form, or that is not text if every value is shown, or that has 100 KiB
    /// - a body or another argument with control characters, which a terminal must not execute
    ///
    /// - Parameter secrets: The names whose values are shown, or `nil` for all values, which must not be shared.
    /// - Returns: One line, except for a body with line breaks. Every argument is quoted for a POSIX shell.
    public func curl(hiding secrets: Secrets? = Secrets()) -> String {
        var words = ["curl"]
        // All but what curl sets itself.
        let headers = headers.filter { field in
            secrets != nil || !Self.reservedHeaders.contains { $0.isSameFieldName(as: field.name) }
        }
        if method == .head {
            words.append("--head")
        } else if method != .get {
            let isToken = method.rawValue.utf8.allSatisfy(\.isTokenCharacter)
            words += ["-X", isToken ? quoted(method.rawValue) : "(a method that is not valid)"]
        }
        if secrets == nil { words += exactly(headers) }
        words.append(quoted(secrets.map(shownURL) ?? url.withoutFragment.absoluteString))
        for field in headers {
            let value = secrets?.redacted(field.value, of: field.name) ?? field.value
            // For curl, a field that ends in a colon is one to omit.
            let line = value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
            // A shell would execute a name with a parenthesis or a line break.
            let name = field.name.utf8.allSatisfy(\.isTokenCharacter) ? field.name : "a field"
            words += ["-H", line.isPrintable ? quoted(line) : "(\(name) with control characters)"]
        }
        if !body.isEmpty || secrets == nil && statesLength { words += arguments(hiding: secrets) }
        return words.joined(separator: " ")
    }

    /// The options without which curl would change the URL, or add header fields.
    private func exactly(_ headers: [HTTPHeaders.Field]) -> [String] {
        let text = url.absoluteString
        var words: [String] = []
        if text.contains(where: "[]{}".contains) { words.append("--globoff") }
        if text.contains("/.") { words.append("--path-as-is") }
        let added = ["Accept", "User-Agent"] + (statesLength || !body.isEmpty ? ["Content-Type", "Expect"] : [])
        for name in added where !headers.contains(where: { $0.name.isSameFieldName(as: name) }) {
            words += ["-H", "'\(name):'"]
        }
        return words
    }

    /// Whether a length of 0 is stated (RFC 9110, section 8.6).
    private var statesLength: Bool { [.post, .put, .patch].contains(method) }

    /// The option for the body and its value.
    private func arguments(hiding secrets: Secrets?) -> [String] {
        let type = headers["Content-Type"].flatMap(MediaType.init)
        switch body {
        case .empty: return ["--data-raw", "''"]
        case .data(let data):
            let text = secrets.map { $0.redactedText(data, mediaType: type) } ?? String(validating: data, as: UTF8.self)
            // Within quotes, line breaks and tabs stand for themselves.
            let isPrintable = { (scalar: Unicode.Scalar) in
                !scalar.breaksLines || secrets == nil && (scalar == "\n" || scalar == "\t")
            }
            guard let text, text.utf8.count < 100 << 10, text.unicodeScalars.allSatisfy(isPrintable) else {
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
