import Foundation

/// Encodes an `Encodable` value as a ``JSONValue``.
///
/// Members keep the order in which they were encoded, which for a synthesized conformance is the order of the stored
/// properties. The members of a dictionary are sorted by name, and the elements of a set by their text, so that equal
/// values result in equal text.
struct JSONValueEncoder {
    /// The format of dates.
    var dates: JSONDateStrategy = .iso8601

    /// Renames the keys of the outermost object, or drops them with their values if it returns `nil`.
    var keyFilter: ((any CodingKey) -> String?)?

    /// Whether `nil` is omitted at every depth with its name or key, instead of encoded as `null`.
    var omitsNil = false

    /// The user info that is passed to the value's `encode(to:)`.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Returns the value as JSON; a value that encodes nothing becomes an empty object.
    ///
    /// - Throws: `EncodingError` for what JSON cannot represent, or an error of the value's own `encode(to:)`.
    func encode(_ value: some Encodable) throws -> JSONValue {
        let node = JSONEncodingNode()
        try JSONNodeEncoder(node: node, codingPath: [], options: self, isOutermost: true).encode(value)
        return node.value
    }

    /// Returns the value as JSON, or `nil` if it is `nil` itself and ``omitsNil`` is `true`.
    func encodeUnlessNil(_ value: some Encodable) throws -> JSONValue? {
        let node = JSONEncodingNode()
        try JSONNodeEncoder(node: node, codingPath: [], options: self, isOutermost: true).encode(value)
        // Not `? nil :`, where `nil` would be a JSON null.
        if node.isOmitted { return nil }
        return node.value
    }
}

extension JSONValue {
    /// Creates a value by encoding an `Encodable` value without writing text.
    ///
    /// Members keep the order of the stored properties; the members of a dictionary and the elements of a set are sorted.
    /// `Data` is encoded as Base64, a `URL` as its text, and a `Decimal` keeps every digit.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - dates: The format of dates.
    /// - Throws: `EncodingError` for what JSON cannot represent, such as NaN, or an error of the value's `encode(to:)`.
    public init(encoding value: some Encodable, dates: JSONDateStrategy = .iso8601) throws {
        self = try JSONValueEncoder(dates: dates).encode(value)
    }
}

/// A node of the tree during encoding, which containers and super-encoders fill in any order.
///
/// It is not used after the call of ``JSONValueEncoder/encode(_:)`` that created it.
final class JSONEncodingNode {
    private enum Content {
        case none
        /// A `nil` that is omitted from its container.
        case omitted
        case value(JSONValue)
        case array([JSONEncodingNode])
        case object([(name: String, node: JSONEncodingNode)], positions: [JSONExactName: Int])
    }

    private var content = Content.none

    /// The current number of elements of an array.
    var count: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }

    /// The finished value.
    var value: JSONValue {
        switch content {
        case .none: .object([:])
        case .omitted: .null
        case .value(let value): value
        case .array(let elements): .array(elements.compactMap { $0.isOmitted ? nil : .some($0.value) })
        case .object(let members, _):
            .object(JSONObject(members.compactMap { $0.node.isOmitted ? nil : ($0.name, $0.node.value) }))
        }
    }

    /// Whether the node is a `nil` that is omitted.
    var isOmitted: Bool { if case .omitted = content { true } else { false } }

    func set(_ value: JSONValue) { content = .value(value) }

    func setNil(omitting: Bool) { content = omitting ? .omitted : .value(.null) }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    func becomeObject() {
        if case .object = content { return }
        content = .object([], positions: [:])
    }

    /// Adds and returns an element.
    func element() -> JSONEncodingNode {
        let node = JSONEncodingNode()
        guard case .array(var elements) = content else { return node }
        content = .none
        elements.append(node)
        content = .array(elements)
        return node
    }

    /// Returns the member with a name, which is added at the end if it is new.
    func member(_ name: String) -> JSONEncodingNode {
        let node = JSONEncodingNode()
        guard case .object(var members, var positions) = content else { return node }
        if let position = positions[JSONExactName(name)] { return members[position].node }
        content = .none
        positions[JSONExactName(name)] = members.count
        members.append((name, node))
        content = .object(members, positions: positions)
        return node
    }

    /// Sorts members by name, and elements by their text.
    ///
    /// - Parameter isOfPairs: Whether the elements are keys, each followed by its value. If a value is omitted, its key
    ///   is omitted, too; otherwise the next key would take the place of the value.
    func sort(inPairs isOfPairs: Bool) {
        switch content {
        case .object(let members, _):
            let sorted = members.sortedUnspecialized { $0.name < $1.name }
            let positions = Dictionary(
                uniqueKeysWithValues: sorted.enumerated().map { (JSONExactName($0.element.name), $0.offset) }
            )
            content = .object(sorted, positions: positions)
        case .array(let elements):
            let length = isOfPairs ? 2 : 1
            let groups = stride(from: 0, to: elements.count, by: length).map { start in
                let group = elements[start..<min(start + length, elements.count)]
                return (text: group.map { $0.value.description }.joined(separator: ","), group: group)
            }
            let kept = isOfPairs ? groups.filter { $0.group.last?.isOmitted != true } : groups
            if isOfPairs { for pair in kept where pair.group.first?.isOmitted == true { pair.group.first?.set(.null) } }
            content = .array(kept.sortedUnspecialized { $0.text < $1.text }.flatMap(\.group))
        case .none, .omitted, .value: break
        }
    }
}
