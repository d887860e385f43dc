internal import Foundation

/// The ordered names and values of a request, which a ``ParameterEncoding`` puts into a query or a body.
///
/// A literal accepts any `Encodable & Sendable` value, also as an Optional:
/// `["page": page, "q": optional, "tags": ["a", "b"]]`. `nil` is not sent, at any depth; a JSON null is
/// `JSONValue.null`. A nested dictionary is sorted by name, and a set by its elements.
public struct Parameters: Sendable, ExpressibleByDictionaryLiteral {
    enum Content: Sendable {
        /// A value of the caller, which is converted to JSON once the encoding, and so the style of its dates, is
        /// known.
        case plain(any Encodable & Sendable)
        /// A stored property, already converted to JSON.
        case json(JSONValue)
    }

    var entries: [(name: String, value: Content)]

    /// Whether these are the stored properties of the request, which are sent only if the request has no body of its
    /// own.
    var areOwnProperties = false

    /// Creates empty parameters.
    public init() { entries = [] }

    /// Creates parameters from name-value pairs, preserving their order.
    ///
    /// Omits `nil` values. If a name repeats, the last value wins. Names are compared byte by byte: two spellings of "é" are
    /// different names.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }

    /// Creates parameters from pairs, preserving their order and repeated names: `a=1&b=2&a=3`.
    ///
    /// Omits `nil` values. Repeated names can be sent in a query or a form; for JSON and property lists the request is
    /// rejected with ``NetworkError/Reason/unencodable(_:)``.
    public init(pairs: [(String, (any Encodable & Sendable)?)]) {
        entries = pairs.compactMap { name, value in
            value.flatMap { isNil($0) ? nil : (name, .plain($0)) }
        }
    }

    /// Creates parameters from a dictionary, sorted by name.
    public init(_ dictionary: [String: any Encodable & Sendable]) {
        self.init()
        for (name, value) in dictionary.sortedUnspecialized(by: { $0.key < $1.key }) {
            entries.append((name, .plain(value)))
        }
    }

    /// Creates parameters from the members that a value encodes, preserving their order.
    ///
    /// - Parameters:
    ///   - value: A value that encodes itself as an object.
    ///   - dates: The style of dates in it.
    /// - Throws: The error of the value's `encode(to:)`, or ``NetworkError`` if the value is not an object.
    public init(encoding value: some Encodable, dates: ParameterEncoding.Dates = .iso8601) throws {
        self.init()
        guard case .object(let members) = try JSONValue(parameter: value, dates: dates) else {
            throw NetworkError(.parametersNotAnObject(value))
        }
        entries = members.map { ($0.name, .json($0.value)) }
    }

    /// The value for a name, or `nil` if there is none; the first if the name is repeated.
    ///
    /// Setting `nil` removes all values of the name. Setting a value replaces all of them, at the position of the first.
    public subscript(name: String) -> (any Encodable & Sendable)? {
        get {
            let exact = JSONExactName(name)
            return switch entries.first(where: { JSONExactName($0.name) == exact })?.value {
            case .plain(let value): value
            case .json(let value): value
            case nil: nil
            }
        }
        set {
            let exact = JSONExactName(name)
            let place = entries.firstIndex { JSONExactName($0.name) == exact }
            var kept = entries.filter { JSONExactName($0.name) != exact }
            if let newValue, !isNil(newValue) { kept.insert((name, .plain(newValue)), at: place ?? kept.count) }
            entries = kept
        }
    }

    /// Whether there is nothing to send.
    public var isEmpty: Bool { entries.isEmpty }

    /// The names, in order.
    public var names: [String] { entries.map(\.name) }

    /// The names, for comparisons.
    var exactNames: Table<JSONExactName, Void> { Table(keys: entries.map { JSONExactName($0.name) }) }

    /// Returns these parameters merged over others: they override values of equal names, in the same positions.
    func over(_ base: Parameters) -> Parameters {
        guard !base.isEmpty else { return self }
        let own = exactNames
        var merged = self
        merged.entries = []
        var placed = Table<JSONExactName, Void>()
        for entry in base.entries {
            let name = JSONExactName(entry.name)
            if own[name] == nil {
                merged.entries.append(entry)
            } else if placed[name] == nil {
                placed[name] = ()
                merged.entries += entries.filter { JSONExactName($0.name) == name }
            }
        }
        merged.entries += entries.filter { placed[JSONExactName($0.name)] == nil }
        return merged
    }

    /// Returns the values as JSON, omitting `nil` at every depth.
    func values(dates: ParameterEncoding.Dates) throws -> [(name: String, value: JSONValue)] {
        try entries.compactMap { entry in
            switch entry.value {
            case .json(let value): return (entry.name, value)
            case .plain(let value): return try JSONValue(parameter: value, dates: dates).map { (entry.name, $0) }
            }
        }
    }
}

/// Whether a value in an existential is an empty Optional.
private func isNil(_ value: any Encodable) -> Bool {
    (value as? any NilCheckable)?.isNil ?? false
}

private protocol NilCheckable { var isNil: Bool { get } }
extension Optional: NilCheckable { fileprivate var isNil: Bool { if case nil = self { true } else { false } } }

extension Parameters: Encodable {
    /// Encodes the parameters as an object, so that they can be nested in other parameters.
    ///
    /// - Throws: `EncodingError` if a name is repeated, or the error of a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        var names = Set<String>()
        for (name, value) in entries {
            guard names.insert(name).inserted else {
                let path = container.codingPath + [Name(stringValue: name)]
                throw EncodingError.invalidValue(
                    self,
                    EncodingError.Context(codingPath: path, debugDescription: "the name is repeated")
                )
            }
            switch value {
            case .plain(let value): try container.encode(value, forKey: Name(stringValue: name))
            case .json(let value): try container.encode(value, forKey: Name(stringValue: name))
            }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
