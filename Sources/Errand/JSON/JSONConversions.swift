extension JSONValue {
    /// Returns the same value in another JSON type, for a type that cannot be decoded from this one, or `nil` if there
    /// is none.
    func converted(for scalar: any JSONScalar.Type) -> JSONValue? {
        switch scalar {
        case is String.Type: return text.map(JSONValue.string)
        case is Bool.Type: return flag.map(JSONValue.bool)
        case is any JSONNumeric.Type:
            guard case .string(let text) = self else { return nil }
            return JSONNumber(text).map(JSONValue.number)
        default: return nil
        }
    }

    /// The text of a number as written, or of a Boolean.
    private var text: String? {
        switch self {
        case .number(let number): number.text
        case .bool(let flag): flag ? "true" : "false"
        default: nil
        }
    }

    /// The Boolean of the numbers 0 and 1, or of the strings `0`, `1`, `false` and `true` in any case.
    private var flag: Bool? {
        switch self {
        case .number(let number): ["0": false, "1": true][number.int.map(String.init) ?? ""]
        case .string(let text): ["0": false, "1": true, "false": false, "true": true][text.lowercased()]
        default: nil
        }
    }

    /// The value without members that are null, at every depth; array elements are kept.
    var withoutNulls: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.withoutNulls))
        case .object(let members):
            .object(JSONObject(members.lazy.filter { !$0.value.isNull }.map { ($0.name, $0.value.withoutNulls) }))
        default: self
        }
    }
}
