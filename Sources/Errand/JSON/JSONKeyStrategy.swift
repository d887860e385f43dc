internal import Foundation

/// The mapping of an object's member names to properties.
@nonexhaustive
public enum JSONKeyStrategy: Sendable {
    /// Names are not changed.
    case asWritten
    /// `first_name` is mapped to `firstName`, by the rules of `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase`.
    case snakeCase
    /// The closure returns the property's name for the member's name.
    case converted(@Sendable (String) -> String)

    /// Whether names are not changed.
    var isTrivial: Bool { if case .asWritten = self { true } else { false } }

    /// Returns the members under the names of their properties.
    func renaming(_ members: JSONObject) -> JSONObject {
        switch self {
        case .asWritten: members
        case .snakeCase: JSONObject(members.map { (Self.camelCase($0.name), $0.value) })
        case .converted(let convert): JSONObject(members.map { (convert($0.name), $0.value) })
        }
    }

    /// Converts a name to camel case, keeping underscores at either end; a name with none inside is not changed.
    static func camelCase(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
            return name
        }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }
}

/// A dictionary; its keys come from the text and are not properties.
protocol JSONKeyedByText {}

extension Dictionary: JSONKeyedByText where Key == String {}
