@testable import Errand

/// Makes random JSON texts, and damages them.
struct RandomJSON {
    var generator: SeededGenerator

    private static let names = ["id", "name", "é", "", "a b", "data", "code", "long member name 0123456789"]
    private static let strings = [
        "", "a", "hello, world", "quote \" and \\", "\n\r\t\u{8}\u{C}\u{1}", "Zoë 山田 😀", "01234567",
        "0123456789abcdef0123",
    ]
    private static let numbers = ["0", "-0", "1", "-17", "3.25", "1e5", "1E-7", "9007199254740993", "1e400", "0.10"]
    private static let fragments = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "\\u0000", "0", "-", ".", "e", "E+",
        "true", "nul",
        " ", "\n", "\u{0}", "\u{1F}", "é", "\u{10FFFF}", "\u{FEFF}", "]]]]", "[[[[", "/*", "'", "\u{7F}",
    ]

    init(name: String = #function) { generator = SeededGenerator(name: name) }

    mutating func value(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 10 : 7), using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2, 3: return .number(JSONNumber(pick(Self.numbers)) ?? 0)
        case 4, 5, 6: return .string(pick(Self.strings))
        case 7: return .array((0..<Int.random(in: 0..<6, using: &generator)).map { _ in value(depth: depth + 1) })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0..<6, using: &generator) {
                object.append(pick(Self.names), value(depth: depth + 1))
            }
            return .object(object)
        }
    }

    /// Changes, removes, inserts or repeats some bytes.
    mutating func damaged(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let index = Int.random(in: 0...text.count, using: &generator)
            let end = min(text.count, index + Int.random(in: 0...8, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: text.insert(contentsOf: pick(Self.fragments).utf8, at: index)
            case 1: text.insert(UInt8.random(in: 0 ... .max, using: &generator), at: index)
            case 2: text.removeSubrange(index..<end)
            case 3: text.insert(contentsOf: text[index..<end], at: index)
            case 4 where index < text.count: text[index] = UInt8.random(in: 0 ... .max, using: &generator)
            case 5: text.removeSubrange(index...)
            default: break
            }
        }
        return text
    }

    mutating func pick(_ choices: [String]) -> String { choices.randomElement(using: &generator) ?? "" }
}
