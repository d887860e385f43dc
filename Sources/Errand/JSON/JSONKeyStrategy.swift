internal import Foundation

/// Which property a member of an object is for.
@nonexhaustive
public enum JSONKeyStrategy: Sendable {
    /// The one of the same name.
    case asWritten
    /// `first_name` is for `firstName`, by the rules of `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase`.
    case snakeCase
    /// The one whose name the closure makes of the member's.
    case converted(@Sendable (String) -> String)

    /// Whether names stay what they are.
    var isTrivial: Bool { if case .asWritten = self { true } else { false } }

    /// The members under the names of their properties.
    func renaming(_ members: JSONObject) -> JSONObject {
        switch self {
        case .asWritten: members
        case .snakeCase: JSONObject(members.map { (Self.camelCase($0.name), $0.value) })
        case .converted(let convert): JSONObject(members.map { (convert($0.name), $0.value) })
        }
    }

    /// Underscores at either end stay; a name without one inside is left alone.
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

/// A dictionary, whose keys come from the text and are no properties.
protocol JSONKeyedByText {}

extension Dictionary: JSONKeyedByText where Key == String {}
