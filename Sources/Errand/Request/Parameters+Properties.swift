internal import Foundation

extension Parameters {
    /// Creates parameters from the stored properties of an `Encodable` request, by the rules of ``Request/parameters``.
    init(propertiesOf request: some Request & Encodable, dates: ParameterEncoding.Dates) throws {
        var labels: [String: Any] = [:]
        var mirror = Mirror(reflecting: request) as Mirror?
        while let current = mirror {
            for child in current.children { child.label.map { labels[$0] = child.value } }
            mirror = current.superclassMirror
        }
        self.init()
        areOwnProperties = true
        var keys: [String: String] = [:]
        var repetition: String?
        let keyFilter = { (key: any CodingKey) -> String? in
            guard let name = Self.name(for: key, labels: labels) else { return nil }
            if let other = keys.updateValue(key.stringValue, forKey: name), other != key.stringValue,
                !Self.isNil(labels[other])
            {
                let both = "'\(other)' and '\(key.stringValue)'"
                repetition = "the properties \(both) are both sent as '\(name)'; rename one of them"
            }
            return name
        }
        let value = try Self.encoding(request, dates: dates, keyFilter: keyFilter)
        if let repetition { throw NetworkError(.unencodable(repetition)) }
        guard case .object(let members)? = value else {
            throw NetworkError(.parametersNotAnObject(request))
        }
        entries = members.map { ($0.name, .json($0.value)) }
    }

    #if DEBUG
    /// Returns the keys that the compiler synthesized for the properties of a request, sent or not, except those that are
    /// `nil`.
    static func synthesizedKeys(of request: some Request & Encodable) -> Set<String> {
        var names: Set<String> = []
        let keyFilter = { (key: any CodingKey) -> String? in
            if !(key is any RawRepresentable) { names.insert(key.stringValue) }
            return nil
        }
        // The send itself throws the error.
        _ = try? encoding(request, dates: .iso8601, keyFilter: keyFilter)
        return names
    }
    #endif

    /// Whether a property is `nil`, so that encoding another one of its name loses nothing.
    private static func isNil(_ value: Any?) -> Bool {
        let mirror = value.map { Mirror(reflecting: $0) }
        return mirror?.displayStyle == .optional && mirror?.children.isEmpty == true
    }

    /// Returns the name under which a property is sent, or `nil` if it is not sent.
    private static func name(for key: any CodingKey, labels: [String: Any]) -> String? {
        let name = key.stringValue
        guard let value = labels[name] else { return name }
        // Synthesized keys have no raw type. Keys with one are listed by the author, so they are sent.
        let isListed = key is any RawRepresentable
        if !isListed, let type = protocolMembers[name], type == Swift.type(of: value) { return nil }
        return name.count > 1 && name.first == "_" ? String(name.dropFirst()) : name
    }

    /// The members of `Request` that can be stored properties of an `Encodable` type.
    private static let protocolMembers: [String: Any.Type] = [
        "path": String.self, "tag": String.self, "usesCDN": Bool.self, "usesBaseHeaders": Bool.self,
        "usesBaseParameters": Bool.self, "allowsCellularAccess": Bool.self, "query": Parameters.self,
        "parameters": Parameters.self, "duplicateKey": String.self, "method": HTTPMethod.self,
        "headers": HTTPHeaders.self, "limits": Limits.self, "cachePolicy": CachePolicy.self,
    ]

    /// Returns the JSON of a parameter, omitting `nil` at every depth, or `nil` if the value itself is `nil`.
    fileprivate static func encoding(
        _ value: some Encodable,
        dates: ParameterEncoding.Dates,
        keyFilter: ((any CodingKey) -> String?)? = nil
    ) throws -> JSONValue? {
        var encoder = LosslessJSONEncoder()
        encoder.dates = dates
        do {
            return try encoder.value(of: value, .init(omitsNil: true, keyFilter: keyFilter))
        } catch let error as EncodingError {
            throw NetworkError(.unencodable(error.place), underlying: error)
        }
    }
}

// The types of members that an `Encodable` request can store, but not send.

extension HTTPHeaders: Encodable {
    /// Always throws `EncodingError`: header fields are not parameters, and may be secrets.
    public func encode(to encoder: any Encoder) throws { throw EncodingError.notAParameter(self, encoder) }
}

extension Limits: Encodable {
    /// Always throws `EncodingError`: limits are not parameters.
    public func encode(to encoder: any Encoder) throws { throw EncodingError.notAParameter(self, encoder) }
}

extension CachePolicy: Encodable {
    /// Always throws `EncodingError`: a policy is not a parameter.
    public func encode(to encoder: any Encoder) throws { throw EncodingError.notAParameter(self, encoder) }
}

extension EncodingError {
    fileprivate static func notAParameter(_ value: some Encodable, _ encoder: any Encoder) -> EncodingError {
        let reason = "\(type(of: value)) is not a parameter; compute the property, or omit it from CodingKeys"
        return .invalidValue(value, Context(codingPath: encoder.codingPath, debugDescription: reason))
    }
}

extension JSONValue {
    /// Creates the JSON of a parameter, omitting `nil` at every depth, or returns `nil` if the value itself is `nil`.
    init?(parameter value: some Encodable, dates: ParameterEncoding.Dates) throws {
        guard let value = try Parameters.encoding(value, dates: dates) else { return nil }
        self = value
    }
}

extension EncodingError {
    /// The type that cannot be encoded, and its path, without the value.
    var place: String {
        guard case .invalidValue(let value, let context) = self else { return "a value cannot be encoded" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return "a \(type(of: value)) cannot be encoded" + (path.isEmpty ? "" : ", at \(path)")
    }
}
