/// A value that contains secrets and represents itself only by its description, in `print`, string interpolation and `dump`.
///
/// The library's own types conform to it. Their properties remain accessible.
protocol SafeDescription: CustomStringConvertible, CustomReflectable {}

extension SafeDescription {
    /// The name of the type.
    public var description: String { "\(Self.self)" }

    /// A mirror with the description and no children.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: [description], ancestorRepresentation: .suppressed)
    }
}

extension Authentication: SafeDescription {}
extension Authorization: SafeDescription {}
extension BaseURL: SafeDescription {}
extension CacheEntry: SafeDescription {}
extension CookieJar: SafeDescription {}
extension DigestAuthentication: SafeDescription {}
extension HTTPHeaders: SafeDescription {}
extension JSONRPCCall: SafeDescription {}
extension JSONRPCResponses: SafeDescription {}
extension MultipartForm: SafeDescription {}
extension NetworkError: SafeDescription {}
extension RecentURLs: SafeDescription {}
extension RequestPlan: SafeDescription {}
extension ResponseCache: SafeDescription {}
extension ServiceError: SafeDescription {}
extension StoredEntry: SafeDescription {}
extension TransportResponse: SafeDescription {}

extension HTTPHeaders.Field: SafeDescription {
    /// The name without the value.
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
    /// Method, host and declared path, names of header fields, and the size of the body.
    public var description: String {
        "\(method) \(place) \(headers) \(body)"
    }
}

extension RawResponse: SafeDescription {
    /// Status, host and declared path, names of header fields, and the size of the body.
    public var description: String { "\(statusCode) from \(place) \(headers) \(bodyByteCount) bytes" }

    /// The host and the path that the request declares.
    var place: String { url.origin.authority + (declared?.shown ?? "") }
}

extension Response: SafeDescription {
    /// Status, host and declared path, the type of the model, and the size of the body.
    public var description: String {
        "\(statusCode) from \(raw.place): \(Model.self), \(raw.bodyByteCount) bytes\(source.isFromCache ? ", stored" : "")"
    }
}

extension Payload: SafeDescription {
    /// The number of bytes, and the media type if there is one.
    public var description: String { "\(data.count) bytes" + (mediaType.map { " of \($0.essence)" } ?? "") }
}

extension Redirect: SafeDescription {
    /// The status, and the origins of both URLs.
    public var description: String { "\(statusCode) from \(from.origin) to \(to.origin)" }
}

extension RequestContext: SafeDescription {
    /// Number, type, method, host and declared path, and the attempt once there is one.
    public var description: String {
        let place = url.map { " " + $0.origin.authority + (declared?.shown ?? "") } ?? ""
        return ("#\(id) \(typeName) \(method)\(place)" + (attempt > 0 ? ", attempt \(attempt)" : "")).oneLine
    }
}

extension Parameters: SafeDescription {
    /// The names without the values.
    public var description: String { "[\(names.joined(separator: ", "))]".oneLine }
}

extension Service: SafeDescription {
    /// The ID, and the base URL if there is one.
    public var description: String { (id + (self.baseURL.map { " at \($0)" } ?? "")).oneLine }
}

extension NetworkConfig: SafeDescription {}

extension AuthenticationChallenge: SafeDescription {
    /// The scheme and the names of the parameters, without their values.
    public var description: String {
        let names = token68 == nil ? parameters.keys.sorted() : ["token68"]
        return ([scheme] + names).joined(separator: " ").oneLine
    }
}

extension Cookie: SafeDescription {
    /// The name and the domain, without the value.
    public var description: String { "\(name) of \(domain)".oneLine }
}

extension GeneralRequest: SafeDescription {
    /// The method and the path, without the query, parameters, header fields and body.
    public var description: String { "\(method) \(DeclaredPath.shown(path))" }
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

extension Exchange: SafeDescription {
    /// The method, the host and the declared path, the purpose, the attempt, and the status or the failure.
    public var description: String { "\(method) \(request.place): \(words)".oneLine }

    /// The purpose, the attempt and the outcome.
    var words: String {
        if let failure { return "\(purpose) \(attempt): failed after \(duration.words): \(failure.words)" }
        return "\(purpose) \(attempt): \(statusCode.map { "\($0)" } ?? "no response") in \(duration.words)"
    }
}
