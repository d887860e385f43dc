public import Foundation

/// The values that logs, curl commands, plans and errors show: only values whose names are listed as harmless.
extension Secrets {
    /// Returns whether the values of a header field, parameter or JSON member of this name are shown.
    package func isShown(_ name: String) -> Bool {
        Self.harmless.contains(name.lowercased()) || shown.contains { $0.isSameFieldName(as: name) }
    }

    /// Returns a value, masked unless the name of its header field or parameter is listed.
    public func redacted(_ value: String, of name: String) -> String { isShown(name) ? value : Self.mask }

    /// Returns the scheme and the host of a URL, a mask in place of its path, and its query with the values masked.
    ///
    /// A URL does not show which part of its path was declared; see ``RequestContext/shownURL``.
    public func redacted(_ url: URL) -> String {
        let path = url.path()
        return redacted(url, path: path.isEmpty || path == "/" ? path : "/" + Self.mask)
    }

    /// Returns a URL with a path that is shown in place of its own.
    func redacted(_ url: URL, path: String) -> String {
        url.origin.description + path + (url.query().map { "?" + redacted(pairs: $0) } ?? "")
    }

    /// Returns a query or form with its values masked, and its pairs without a value.
    public func redacted(pairs: String) -> String {
        pairs.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let name = pair.prefix { $0 != "=" }
            if isShown(String(name)) { return String(pair) }
            // Nothing but the padding of Base64 follows a token.
            let isName = pair[name.endIndex...].contains { $0 != "=" }
            return isName ? "\(name)=\(Self.mask)" : pair.isEmpty ? "" : Self.mask
        }.joined(separator: "&")
    }

    /// Returns a JSON value with the names of its members, and its strings, numbers and other scalars masked.
    ///
    /// The elements of an array have the name of the array. Recursion is bounded by the depth that the parser allows.
    public func redacted(_ value: JSONValue) -> JSONValue { redacted(value) { isShown($0) } }

    /// Returns the body of an error response: ``redacted(_:)-(JSONValue)`` with the words that services explain errors with, and the
    /// lists of texts in its member `errors`.
    func redacted(error value: JSONValue) -> JSONValue {
        let shown = redacted(value) { name in
            isShown(name) || Self.wordsOfErrors.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
        }
        // Rails and Laravel have texts for each field.
        guard case .object(var members) = shown, var fields = members["errors"]?.object else { return shown }
        for (name, texts) in value["errors"]?.object ?? [:] where texts.array?.allSatisfy({ $0.string != nil }) == true
        {
            fields[name] = texts
        }
        members["errors"] = .object(fields)
        return .object(members)
    }

    private func redacted(_ value: JSONValue, in isShown: Bool = false, _ shows: (String) -> Bool) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map { redacted($0, in: isShown, shows) })
        case .object(let members):
            .object(JSONObject(members.map { ($0.name, redacted($0.value, in: shows($0.name), shows)) }))
        default: isShown ? value : .string(Self.mask)
        }
    }

    /// The members of the bodies of errors, without `_` and `-`: of RFC 9457 and RFC 6749, and of large services.
    private static let wordsOfErrors: Set<String> = [
        "code", "detail", "errcode", "errmsg", "error", "errorcode", "errordescription", "errormessage", "errors",
        "field", "message", "msg", "param", "reason", "resource", "status", "statuscode", "title", "type",
    ]

    /// Returns a body as logs and recordings show it, or `nil` if there is none: JSON and forms with their values masked, anything
    /// else, and what is not complete, as its size.
    package func shown(_ body: Exchange.Body, _ headers: HTTPHeaders, isError: Bool = false) -> JSONValue? {
        if body.byteCount == 0 { return nil }
        let type = headers["Content-Type"].flatMap(MediaType.init)
        if body.isComplete, type?.isJSON == true, let value = try? JSONValue(parsing: body.bytes) {
            return isError ? redacted(error: value) : redacted(value)
        }
        if body.isComplete, let text = redactedText(body.bytes, mediaType: type) { return .string(text) }
        let size = body.byteCount.map { "\($0) bytes" } ?? "a body of unknown size"
        return .string("(\(size)\(type.map { " of \($0.essence)" } ?? ""))")
    }

    /// Returns a body as text: JSON and forms with their values masked, anything else as its size.
    public func redacted(_ body: Data, mediaType: MediaType?) -> String {
        redactedText(body, mediaType: mediaType) ?? "\(body.count) bytes"
    }

    /// Returns JSON or a form with its values masked, or `nil` for a body of another type.
    func redactedText(_ body: Data, mediaType: MediaType?) -> String? {
        if body.isEmpty { return "" }
        if mediaType?.isJSON == true, let value = try? JSONValue(parsing: body) { return redacted(value).description }
        if mediaType?.essence == "application/x-www-form-urlencoded" {
            return redacted(pairs: String(decoding: body, as: UTF8.self))
        }
        return nil
    }
}

extension RequestContext {
    /// The URL as logs show it: scheme, host, the path as the request declares it, and the query with its values masked, or
    /// `nil` until it is formed.
    public var shownURL: String? { shownURL(by: secrets) }

    package func shownURL(by secrets: Secrets) -> String? {
        url.map { secrets.redacted($0, path: declared?.shown ?? "") }
    }
}
