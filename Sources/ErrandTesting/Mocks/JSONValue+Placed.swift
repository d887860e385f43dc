import Errand

extension JSONValue {
    /// Returns a JSON in which a path leads to this value, and which is the outer one everywhere else.
    func placed(at steps: ArraySlice<JSONPath.Step>, in outer: JSONValue?) throws -> JSONValue {
        guard let step = steps.first else { return self }
        let rest = steps.dropFirst()
        switch step {
        case .member(let name):
            var object = outer?.object ?? JSONObject()
            object[name.text] = try placed(at: rest, in: object[name.text])
            return .object(object)
        case .element(let index):
            guard abs(index) < 1_000 else {
                throw MockEncodingError("an index of a path is too large for a mock: \(index)")
            }
            var elements = [JSONValue](repeating: .null, count: index < 0 ? -index : index + 1)
            elements[index < 0 ? 0 : index] = try placed(at: rest, in: nil)
            return .array(elements)
        case .range(let start, _):
            guard abs(start) < 1_000 else {
                throw MockEncodingError("an index of a path is too large for a mock: \(start)")
            }
            guard rest.isEmpty, let array else { throw MockEncodingError("a range of a path leads to an array") }
            return .array([JSONValue](repeating: .null, count: max(0, start)) + array)
        case .anArray: return try placed(at: rest, in: outer)
        case .every:
            guard let array else { throw MockEncodingError("a path with * leads to an array") }
            return .array(try array.map { try $0.placed(at: rest, in: nil) })
        case .json: return .string(try placed(at: rest, in: nil).description)
        }
    }
}
