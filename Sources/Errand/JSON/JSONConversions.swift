extension JSONValue {
    /// The same value in another JSON type, for a type that cannot be read from this one; `nil` where nothing is the same.
    func converted(for scalar: any JSONScalarDecodable.Type) -> JSONValue? {
        switch scalar {
        case is String.Type: return text.map(JSONValue.string)
        case is Bool.Type: return flag.map(JSONValue.bool)
        case is any JSONNumeric.Type:
            guard case .string(let text) = self else { return nil }
            return JSONNumber(text).map(JSONValue.number)
        default: return nil
        }
    }

    /// A number as it is written, and a Boolean.
    private var text: String? {
        switch self {
        case .number(let number): number.text
        case .bool(let flag): flag ? "true" : "false"
        default: nil
        }
    }

    /// The numbers 0 and 1, and these and the two words as strings.
    private var flag: Bool? {
        switch self {
        case .number(let number): ["0": false, "1": true][number.int.map(String.init) ?? ""]
        case .string(let text): ["0": false, "1": true, "false": false, "true": true][text.lowercased()]
        default: nil
        }
    }

    /// Without members that are null, at every depth; elements of arrays stay.
    var withoutNulls: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.withoutNulls))
        case .object(let members):
            .object(JSONObject(members.lazy.filter { !$0.value.isNull }.map { ($0.name, $0.value.withoutNulls) }))
        default: self
        }
    }
}
