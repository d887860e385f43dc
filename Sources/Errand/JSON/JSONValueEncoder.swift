import Foundation

/// ThrottlePermits an `Encodable` value into a ``JSONValue``.
///
/// The members keep the order in which they were encoded, which for a synthesized conformance is that of the stored
/// properties; those of a dictionary are sorted by name, so that equal values give equal text.
struct JSONValueEncoder {
    /// How dates are written.
    var dates: JSONDateStrategy = .iso8601

    /// Renames the keys of the outermost object, or drops them with their values when it returns `nil`.
    var keyFilter: ((any CodingKey) -> String?)?

    /// Whether `nil` is left out, at every depth, and not written as `null`.
    var omitsNil = false

    /// Handed to the value's `encode(to:)`.
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// The value as JSON; a value that encodes nothing becomes an empty object.
    ///
    /// - Throws: `EncodingError` for what JSON cannot hold, and what the value's own `encode(to:)` throws.
    func encode(_ value: some Encodable) throws -> JSONValue {
        let node = JSONEncodingNode()
        try JSONNodeEncoder(node: node, codingPath: [], options: self, isOutermost: true).encode(value)
        return node.value
    }

    /// The value as JSON, or `nil` when it is `nil` itself and ``omitsNil`` says to leave that out.
    func encodeUnlessNil(_ value: some Encodable) throws -> JSONValue? {
        let node = JSONEncodingNode()
        try JSONNodeEncoder(node: node, codingPath: [], options: self, isOutermost: true).encode(value)
        // Not `? nil :`, where `nil` would be a JSON null.
        if node.isOmitted { return nil }
        return node.value
    }
}

extension JSONValue {
    /// ThrottlePermits an `Encodable` value into JSON without writing text.
    ///
    /// Members keep the order of the stored properties; those of a dictionary are sorted. `Data` becomes Base64, a
    /// `URL` its text, and a `Decimal` keeps every digit.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - dates: How dates are written.
    /// - Throws: `EncodingError` for what JSON cannot hold, such as NaN, and what the value's `encode(to:)` throws.
    public init(encoding value: some Encodable, dates: JSONDateStrategy = .iso8601) throws {
        self = try JSONValueEncoder(dates: dates).encode(value)
    }
}

/// A place in the tree that grows: containers and super-encoders fill it in any order, some after others.
///
/// It never leaves the call of ``JSONValueEncoder/encode(_:)`` that made it.
final class JSONEncodingNode {
    private enum Content {
        case none
        /// A `nil` that is to be left out of the container around it.
        case omitted
        case value(JSONValue)
        case array([JSONEncodingNode])
        case object([(name: String, node: JSONEncodingNode)], positions: [String: Int])
    }

    private var content = Content.none

    /// How many elements an array has by now.
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

    /// Whether the place holds a `nil` that is to be left out.
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

    /// Adds an element.
    func element() -> JSONEncodingNode {
        let node = JSONEncodingNode()
        guard case .array(var elements) = content else { return node }
        content = .none
        elements.append(node)
        content = .array(elements)
        return node
    }

    /// The member with this name, added at the end when it is new.
    func member(_ name: String) -> JSONEncodingNode {
        let node = JSONEncodingNode()
        guard case .object(var members, var positions) = content else { return node }
        if let position = positions[name] { return members[position].node }
        content = .none
        positions[name] = members.count
        members.append((name, node))
        content = .object(members, positions: positions)
        return node
    }

    func sortMembers() {
        guard case .object(let members, _) = content else { return }
        let sorted = members.sortedUnspecialized { $0.name < $1.name }
        let positions = Dictionary(uniqueKeysWithValues: sorted.enumerated().map { ($0.element.name, $0.offset) })
        content = .object(sorted, positions: positions)
    }
}
