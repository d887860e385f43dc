internal import Foundation

/// A value that contains secrets and represents itself only by its description, in `print`, string interpolation and `dump`.
///
/// The library's own types conform to it. Their properties remain accessible.
protocol SafeDescription: CustomStringConvertible, CustomReflectable {}

extension SafeDescription {
    /// A mirror with the description and no children.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: [description], ancestorRepresentation: .suppressed)
    }
}

extension URL {
    /// Host, port and path, never user information, query, fragment or the value of a parameter of the path.
    var place: String { place(hiding: AppliedCredential()) }

    /// Returns the same without what a session has added to the path.
    func place(hiding credential: AppliedCredential) -> String {
        authority + URLParts.redacting(parametersOf: credential.masking(path: path()))
    }

    /// Host and port.
    var authority: String { bracketedHost + (port.map { ":\($0)" } ?? "") }
}

extension HTTPHeaders: SafeDescription {}

extension HTTPHeaders.Field: SafeDescription {
    /// The name without the value, which may be a secret.
    public var description: String { name.oneLine }
}

extension OutgoingBody: SafeDescription {
    /// The number of bytes.
    public var description: String {
        switch byteCount {
        case nil: "a body of unknown size"
        case 0: "no body"
        case let count?: "\(count) bytes"
        }
    }
}

extension OutgoingRequest: SafeDescription {
    /// Method, host and path, names of header fields, and the size of the body.
    public var description: String { "\(method) \(url.place(hiding: credential)) \(headers) \(body)" }
}

extension RawResponse: SafeDescription {
    /// Status, host and path, names of header fields, and the size of the body.
    public var description: String { "\(statusCode) from \(place) \(headers) \(bodyByteCount) bytes" }

    /// Host, port and path, without a secret.
    var place: String { url.place(hiding: credential) }
}

extension TransportResponse: SafeDescription {
    /// Status and names of header fields.
    public var description: String { "\(statusCode) \(headers)" }
}

extension Response: SafeDescription {
    /// Status, host and path, the type of the model, and the size of the body.
    public var description: String {
        "\(statusCode) from \(raw.place): \(Model.self), \(raw.bodyByteCount) bytes\(source.isFromCache ? ", stored" : "")"
    }
}

extension Payload: SafeDescription {
    /// The number of bytes, and the media type if there is one.
    public var description: String { "\(data.count) bytes" + (mediaType.map { " of \($0.essence)" } ?? "") }
}

extension Redirect: SafeDescription {
    /// The status, and host and path of both URLs.
    public var description: String {
        "\(statusCode) from \(from.place(hiding: credential)) to \(to.place(hiding: credential))"
    }
}

extension RequestContext: SafeDescription {
    /// Number, type, method, host and path, and the attempt once there is one.
    public var description: String {
        let place = url.map { " " + $0.place } ?? ""
        return ("#\(id) \(typeName) \(method)\(place)" + (attempt > 0 ? ", attempt \(attempt)" : "")).oneLine
    }
}

extension Parameters: SafeDescription {
    /// The names without the values, which may be secrets.
    public var description: String { "[\(names.joined(separator: ", "))]".oneLine }
}

extension RequestBody: SafeDescription {
    /// The kind of body.
    public var description: String {
        switch content {
        case .automatic: "made of the parameters"
        case .empty: "empty"
        case .data(_, let type): "data" + (type.map { " of \($0)" } ?? "")
        case .form: "a form"
        case .source(_, let type): "a source of \(type)"
        case .file(_, let type): "a file of \(type)"
        case .multipart(let form): "\(form)"
        }
    }
}

extension MultipartForm: SafeDescription {
    /// The number of parts.
    public var description: String { "a form of \(count) \(count == 1 ? "part" : "parts")" }
}

extension CacheIdentity: SafeDescription {
    /// What is declared, without the variant and the user.
    public var description: String {
        var parts = ["version \(version)"]
        if !variant.isEmpty { parts.append("a variant") }
        if !user.isEmpty { parts.append("a user") }
        if !ignoredParameters.isEmpty { parts.append("without \(ignoredParameters.sorted().joined(separator: ", "))") }
        if !headers.isEmpty { parts.append("with \(headers.sorted().joined(separator: ", "))") }
        if allowsAnyMethod { parts.append("any method") }
        return parts.joined(separator: ", ").oneLine
    }
}

extension Service: SafeDescription {
    /// The ID, and the base URL if there is one.
    public var description: String { (id + (self.baseURL.map { " at \($0)" } ?? "")).oneLine }
}

extension NetworkConfig: SafeDescription {
    /// The base URL if there is one.
    public var description: String { "config" + (self.baseURL.map { " for \($0)" } ?? "") }
}

extension BaseURL: SafeDescription {}

extension RecentURLs: SafeDescription {
    /// No URL, because a path may contain a secret.
    var description: String { "recent URLs" }
}

extension Authorization: SafeDescription {}
extension AuthenticationChallenge: SafeDescription {
    /// The scheme and the names of the parameters, without their values.
    public var description: String {
        let names = token68 == nil ? parameters.keys.sorted() : ["token68"]
        return ([scheme] + names).joined(separator: " ").oneLine
    }
}

extension Cookie: SafeDescription {
    /// The name, the domain and the path, without the value.
    public var description: String { "\(name) of \(domain)\(path)".oneLine }
}

extension CookieJar: SafeDescription {
    /// The number of cookies.
    public var description: String { "\(cookies.count) cookies" }
}

extension Digest: SafeDescription {
    /// The scheme, without the user and the password.
    public var description: String { "Digest" }
}

extension Authentication: SafeDescription {}

extension JSONRPCResponses: SafeDescription {
    /// The number of responses.
    public var description: String { "\(count) \(count == 1 ? "response" : "responses")" }
}

extension IdempotencyKey: SafeDescription {
    /// Whether there is a key and who makes it, without the key.
    public var description: String {
        switch source {
        case .absent: "absent"
        case .automatic: "made for each send"
        case .value: "given"
        }
    }
}
extension NetworkError: SafeDescription {}
extension ServiceError: SafeDescription {}
extension RequestPlan: SafeDescription {}

extension GeneralRequest: SafeDescription {
    /// The method and the path, without the query, parameters, header fields and body.
    public var description: String { "\(method) \(URLParts.redacted(path))".oneLine }
}

extension JSONRPCCall: SafeDescription {
    /// The name of the method, without the arguments.
    public var description: String { "call of \(method)".oneLine }
}

extension CacheEntry: SafeDescription {
    /// The method, the URL without its query, the status and the number of bytes.
    public var description: String {
        "\(method) \(URLParts.redacted(location)) → \(statusCode), \(body.count) bytes".oneLine
    }
}

extension StoredEntry: SafeDescription {
    /// The method, the URL without its query, the status and the number of bytes in the store.
    public var description: String {
        "\(head.method) \(URLParts.redacted(head.location)) → \(head.statusCode), \(byteCount) bytes".oneLine
    }
}

extension ResponseCache: SafeDescription {
    /// Where it stores responses.
    public var description: String {
        "cache \([memory == nil ? nil : "in memory", disk == nil ? nil : "on disk"].compactMap(\.self).joined(separator: " and "))"
    }
}
