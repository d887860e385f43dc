import Errand
import Foundation

extension CassetteSecrets {
    mutating func text(_ text: String, _ names: CassetteSecretNames, depth: Int = 0) -> String {
        guard depth < 8, text.utf8.contains(where: { "\"=:>".utf8.contains($0) }) else { return text }
        return String(decoding: self.text(Array(text.utf8), names, depth), as: UTF8.self)
    }

    mutating func text(_ data: Data, _ names: CassetteSecretNames) -> Data { Data(text(Array(data), names, 0)) }

    /// Replaces what has a secret name in a text of any format: members of JSON, complete or not and in strings of others,
    /// `name=value`, `<name>value</name>`, and the users of URLs.
    private mutating func text(_ bytes: [UInt8], _ names: CassetteSecretNames, _ depth: Int) -> [UInt8] {
        var (result, copied, at) = ([UInt8](), 0, 0)
        // The name of the member whose value follows, and whether it is secret.
        var name: String?
        var secretNames: [String: Bool] = [:]
        // Whether each open object or array is below a secret name.
        var isBelow: [Bool] = []
        while at < bytes.count {
            let start = at
            var replacement: [UInt8]?
            switch bytes[at] {
            case 0x09...0x0D, 0x20:
                at += 1
                continue
            case UInt8(ascii: "\""):
                guard let end = Self.endOfString(in: bytes, from: at + 1) else { break }
                let content = Self.unescaped(bytes[at + 1..<end])
                at = min(bytes.count, end + 1)
                let next = Self.end(in: bytes, from: at) { !Self.isSpace($0) }
                if next < bytes.count, bytes[next] == UInt8(ascii: ":") {
                    (name, at) = (content, next + 1)
                    if secretNames[content] == nil { secretNames[content] = names.contains(content) }
                    continue
                }
                let isSecret =
                    name.map { secretNames[$0] == true || names.contains(refresh: $0, value: content) } == true
                    || isBelow.last == true && Self.looksLikeToken(content)
                let value = isSecret ? standIn(for: content) : text(content, names, depth: depth + 1)
                if value != content { replacement = Array("\"\(Self.escaped(value))".utf8) + bytes[end..<at] }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                isBelow.append(isBelow.last == true || name.map { secretNames[$0] == true } == true)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = isBelow.popLast()
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard let name, secretNames[name] == true else { break }
                at = Self.end(in: bytes, from: at) { !Self.isDigit($0) && !"+-.eE".utf8.contains($0) }
                let standIn = standIn(for: String(decoding: bytes[start..<at], as: UTF8.self))
                replacement = Array((uniform == nil ? standIn : "\"\(standIn)\"").utf8)
            case UInt8(ascii: "="), UInt8(ascii: ">"): (at, replacement) = pair(in: bytes, at: at, names)
            case UInt8(ascii: ":"): (at, replacement) = user(in: bytes, at: at)
            default: break
            }
            if at == start { at += 1 }
            name = nil
            if let replacement {
                result += bytes[copied..<start] + replacement
                copied = at
            }
        }
        return copied == 0 ? bytes : result + bytes[copied...]
    }

    /// Replaces a secret value after `=`, or after `>` if it is that of an element.
    private mutating func pair(
        in bytes: [UInt8],
        at mark: Int,
        _ names: CassetteSecretNames
    ) -> (end: Int, replacement: [UInt8]?) {
        let before = bytes[..<mark]
        let reversed = before.suffix(100).reversed().prefix {
            Self.isLetter($0) || Self.isDigit($0) || "_-.%[]".utf8.contains($0)
        }
        let name = String(decoding: Array(reversed.reversed()), as: UTF8.self)
        let isElement = bytes[mark] == UInt8(ascii: ">")
        guard !isElement || before.dropLast(reversed.count).last == UInt8(ascii: "<"),
            names.contains(name) || name.lowercased() == "refresh"
        else { return (mark, nil) }
        let quote = isElement ? nil : bytes[(mark + 1)...].first.flatMap { "\"'".utf8.contains($0) ? $0 : nil }
        let start = mark + (quote == nil ? 1 : 2)
        let end = Self.end(in: bytes, from: start) { byte in
            if let quote { return byte == quote }
            return isElement ? byte == UInt8(ascii: "<") : Self.isSpace(byte) || "&#<>\"\\".utf8.contains(byte)
        }
        let value = String(decoding: bytes[min(start, end)..<end], as: UTF8.self)
        let plain = isElement ? value : value.removingPercentEncoding ?? value
        guard plain.utf8.contains(where: { !Self.isSpace($0) }), names.contains(name, value: plain) else {
            return (mark, nil)
        }
        let standIn = standIn(for: plain)
        let shown = plain == value ? standIn : PercentEncoding.escapingComponent(standIn)
        let after = quote == nil ? end : min(bytes.count, end + 1)
        return (after, bytes[mark..<start] + Array(shown.utf8) + bytes[end..<after])
    }

    /// Replaces the user and the password after `://`.
    private mutating func user(in bytes: [UInt8], at colon: Int) -> (end: Int, replacement: [UInt8]?) {
        let start = colon + 3
        guard bytes[colon...].starts(with: "://".utf8) else { return (colon, nil) }
        let end = Self.end(in: bytes, from: start) { Self.isSpace($0) || "/?#<>\"\\".utf8.contains($0) }
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return (colon, nil) }
        let parts = bytes[start..<at].split(separator: UInt8(ascii: ":"), maxSplits: 1).map { part in
            let text = String(decoding: part, as: UTF8.self)
            return PercentEncoding.escapingComponent(standIn(for: text.removingPercentEncoding ?? text))
        }
        return (at, Array("://\(parts.joined(separator: ":"))".utf8))
    }

    // MARK: Bytes

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte >= 0x09 && byte <= 0x0D }

    private static func end(in bytes: [UInt8], from start: Int, where isEnd: (UInt8) -> Bool) -> Int {
        start < bytes.count ? bytes[start...].firstIndex(where: isEnd) ?? bytes.count : bytes.count
    }

    /// Returns the index of the quotation mark at the end of a string, the end of a text that ends in it, or `nil` if its line
    /// ends before.
    private static func endOfString(in bytes: [UInt8], from start: Int) -> Int? {
        var at = start
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
            if bytes[at] == UInt8(ascii: "\n") { return nil }
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(at, bytes.count)
    }

    /// Returns the content of a string of JSON, or the string itself if it is none.
    private static func unescaped(_ raw: ArraySlice<UInt8>) -> String {
        let text = String(decoding: raw, as: UTF8.self)
        guard raw.contains(UInt8(ascii: "\\")) else { return text }
        // What is no string of JSON is searched as it is.
        return (try? JSONValue(parsing: "\"\(text)\""))?.string ?? text
    }

    /// Returns a text as the content of a string of JSON.
    static func escaped(_ text: String) -> String {
        String(decoding: JSONValue.string(text).data.dropFirst().dropLast(), as: UTF8.self)
    }
}
