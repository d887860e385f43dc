internal import Foundation

/// Puts parameters into the query, or into a body in one of the formats.
struct ParameterPlacement {
    let body: RequestBody
    let method: HTTPMethod
    let encoding: ParameterEncoding
    /// Whether the service or the config declares the format, for those methods that don't use the query by default.
    var isInherited = false

    /// Whether parameters that are not the body go into the query.
    private var isQuery: Bool {
        encoding.format == .query || (encoding.format == .automatic || isInherited) && method.putsParametersInQuery
    }

    /// Whether the request's own parameters go into the query, which also holds beside a body of its own.
    var putsParametersInQuery: Bool { isQuery || !body.isAutomatic }

    /// The place for the parameters of the config and the service.
    ///
    /// They never go into a body of the request's own. They don't go into the query in its place either, because
    /// servers and proxies log it.
    var placeOfBaseParameters: BaseParameterPlace { isQuery ? .query : body.isAutomatic ? .body : .bodyIsOwn }

    /// Encodes the parameters.
    ///
    /// - Parameters:
    ///   - values: The parameters, including base parameters.
    ///   - parts: The URL, to whose query they are appended if they go there.
    /// - Returns: The body, and its `Content-Type` if it has one.
    /// - Throws: ``NetworkError`` if the format cannot represent a value, or the error from encoding the body.
    func place(
        _ values: [(name: String, value: JSONValue)],
        in parts: inout URLParts
    ) throws -> (body: OutgoingBody, type: String?) {
        if putsParametersInQuery { parts.append(encodedQuery: encoding.encodedPairs(values)) }
        switch body.content {
        case .automatic: break
        case .empty: return (.empty, nil)
        case .data(let result, let type): return (.data(try data(result)), type)
        case .source(let source, let type): return (.source(source), type)
        case .file(let url, let type):
            let file = try FileSource(url)
            if file.byteCount == 0, method.putsParametersInQuery { return (.empty, nil) }
            return (.source(file), type)
        case .multipart(let form):
            let body = try MultipartBody(form)
            return (.source(body), body.contentType)
        case .form(let parameters, let formEncoding):
            let pairs = formEncoding.encodedPairs(try parameters.values(dates: formEncoding.dates))
            return (.data(Data(pairs.utf8)), Self.formType)
        }
        if values.isEmpty || isQuery { return (.empty, nil) }
        switch encoding.format {
        case .inherited, .automatic, .query, .json:
            try rejectRepeatedNames(in: values, comparedAs: JSONExactName.init)
            return (.data(JSONValue.object(JSONObject(values.map { ($0.name, $0.value) })).data), "application/json")
        case .form:
            return (.data(Data(encoding.encodedPairs(values).utf8)), Self.formType)
        case .propertyList:
            try rejectRepeatedNames(in: values, comparedAs: \.self)
            return (.data(try propertyList(values)), "application/x-plist")
        }
    }

    private static let formType = "application/x-www-form-urlencoded"

    private func data(_ result: Result<Data, any Error>) throws -> Data {
        do {
            return try result.get()
        } catch let error as EncodingError {
            throw NetworkError(.unencodable(error.place), underlying: error)
        }
    }

    private func rejectRepeatedNames<Key: Hashable>(
        in values: [(name: String, value: JSONValue)],
        comparedAs key: (String) -> Key
    ) throws(NetworkError) {
        var names = Set<Key>()
        for (name, _) in values where !names.insert(key(name)).inserted {
            throw NetworkError(
                .unencodable("the parameter '\(name)' is repeated, which only a query or a form can represent")
            )
        }
    }

    private func propertyList(_ values: [(name: String, value: JSONValue)]) throws -> Data {
        var object: [String: Any] = [:]
        for (name, value) in values { object[name] = try value.propertyList(at: name) }
        return try PropertyListSerialization.data(fromPropertyList: object, format: .xml, options: 0)
    }
}

/// The place for the parameters of the config and the service.
enum BaseParameterPlace: String, Sendable {
    case absent = ""
    case query = "in the query"
    case body = "in the body"
    case bodyIsOwn = "not sent: the request has a body of its own"
    case withheld = "withheld: another origin"

    var isSent: Bool { self == .query || self == .body }
}

extension JSONValue {
    /// Returns the value as property-list objects; a property list has no null.
    fileprivate func propertyList(at path: String) throws -> Any {
        switch self {
        case .null: throw NetworkError(.unencodable("a property list has no null, at \(path)"))
        case .bool(let flag): return flag
        case .string(let text): return text
        case .number(let number):
            if let integer = number.int { return integer }
            if let integer = number.uint64 { return integer }
            guard let double = number.double, number.isRepresented(by: double) else {
                throw NetworkError(
                    .unencodable("a property list cannot represent the number at \(path) exactly; send it as a String")
                )
            }
            return double
        case .array(let elements): return try elements.map { try $0.propertyList(at: path) }
        case .object(let members):
            var object: [String: Any] = [:]
            for member in members { object[member.name] = try member.value.propertyList(at: "\(path).\(member.name)") }
            return object
        }
    }
}

extension JSONNumber {
    /// Whether the number is the value of a `Double`, or its shortest form, such as 0.1.
    fileprivate func isRepresented(by double: Double) -> Bool {
        // No `Double` has more than 767 digits.
        JSONNumber(double) == self || JSONNumber(String(format: "%.766e", double)) == self
    }
}
