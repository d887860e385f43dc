import Errand
import Foundation

/// The secrets of a cassette, each with a stand-in of the same type and length.
///
/// A secret is replaced in its place, and wherever it occurs if it looks like a token.
struct CassetteSecrets: Sendable {
    /// The number of stand-ins that were tried, those of an earlier recording included.
    private(set) var count: Int
    /// The secrets, with the stand-in of each.
    private(set) var standIns: [String: String] = [:]
    private var used: Set<String> = []
    /// The spellings that are replaced wherever they occur, long ones first.
    private var spellings: [(secret: Data, standIn: Data)] = []

    /// What takes the place of every secret, to compare requests without them, or `nil` for stand-ins.
    let uniform: String?

    init(count: Int, uniform: String? = nil) { (self.count, self.uniform) = (count, uniform) }

    /// Replaces the secrets of an entry, and those of others that it contains.
    mutating func replace(in entry: inout CassetteEntry, named names: CassetteSecretNames) {
        if let secrets = entry.request._secretPathTexts {
            entry.request.url = url(entry.request.url, secrets)
            entry.request._secretPathTexts = secrets.map { standIn(for: $0) }
        }
        entry.request.url = text(entry.request.url, names)
        entry.request.headers = entry.request.headers.map { field($0, names) }
        entry.request.queryString = entry.request.queryString.map { pair in
            let isSecret = names.contains(pair.name, value: pair.value)
            let value = isSecret ? standIn(for: pair.value) : text(pair.value, names)
            return CassetteEntry.Pair(name: pair.name, value: value)
        }
        entry.set(requestBody: body(entry.requestBody, entry.request.postData?.mimeType ?? "", names))
        entry.response.headers = entry.response.headers.map { field($0, names) }
        var ofResponse = names
        ofResponse.isOfResponse = true
        entry.set(body(entry.responseBody, entry.response.content.mimeType, ofResponse))
        replaceKnown(in: &entry)
    }

    /// Replaces the secrets of other entries that an entry contains.
    func replaceKnown(in entry: inout CassetteEntry) {
        func replaced(_ text: String) -> String { String(decoding: known(Data(text.utf8)), as: UTF8.self) }
        func replaced(_ pair: CassetteEntry.Pair) -> CassetteEntry.Pair {
            .init(name: pair.name, value: replaced(pair.value))
        }
        guard !spellings.isEmpty else { return }
        entry.request.url = replaced(entry.request.url)
        entry.request.headers = entry.request.headers.map(replaced)
        entry.request.queryString = entry.request.queryString.map(replaced)
        entry.set(requestBody: known(entry.requestBody))
        entry.response.headers = entry.response.headers.map(replaced)
        entry.set(known(entry.responseBody))
    }

    private func known(_ bytes: Data) -> Data {
        spellings.reduce(into: bytes) { bytes, spelling in
            var start = bytes.startIndex
            while let range = bytes.range(of: spelling.secret, in: start..<bytes.endIndex) {
                bytes.replaceSubrange(range, with: spelling.standIn)
                start = range.lowerBound + spelling.standIn.count
            }
        }
    }

    // MARK: Places

    /// Replaces marked secrets in the components of a path, a short one only if it is a complete component.
    private mutating func url(_ url: String, _ secrets: [String]) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        let components = url[..<end].split(separator: "/", omittingEmptySubsequences: false).enumerated().map {
            index,
            part in
            // Scheme and host come first.
            index < 3
                ? String(part)
                : secrets.reduce(String(part)) { part, secret in
                    let sent = PercentEncoding.escapingComponent(secret)
                    guard part == sent || sent.utf8.count >= 4 else { return part }
                    return part.replacing(sent, with: PercentEncoding.escapingComponent(standIn(for: secret)))
                }
        }
        return components.joined(separator: "/") + url[end...]
    }

    private mutating func field(_ pair: CassetteEntry.Pair, _ names: CassetteSecretNames) -> CassetteEntry.Pair {
        var pair = pair
        guard names.contains(header: pair.name) else {
            pair.value = text(pair.value, names)
            return pair
        }
        switch pair.name.lowercased() {
        case "authorization", "proxy-authorization":
            let parts = pair.value.split(separator: " ", maxSplits: 1).map(String.init)
            if let (user, password) = MockAuthorization(pair.value).basic {
                // The password alone may be somewhere else.
                let standIns = "\(standIn(for: user)):\(standIn(for: password))"
                pair.value = "\(parts[0]) \(Data(standIns.utf8).base64EncodedString())"
            } else {
                pair.value = parts.count == 2 ? "\(parts[0]) \(standIn(for: parts[1]))" : standIn(for: pair.value)
            }
        case "cookie": pair.value = pair.value.split(separator: ";").map { cookie(String($0)) }.joined(separator: ";")
        case "set-cookie":
            pair.value = pair.value.split(separator: ";", omittingEmptySubsequences: false).map { part in
                Self.lines(String(part)).map { setCookie($0) }.joined(separator: ",")
            }.joined(separator: ";")
        default: pair.value = standIn(for: pair.value)
        }
        return pair
    }

    /// Returns the lines that a comma joined before the name of a cookie; dates and values contain commas too.
    private static func lines(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).reduce(into: []) { lines, piece in
            // The end of base64 is no value.
            let isLine = lines.isEmpty || piece.drop { $0 != "=" }.contains { $0 != "=" }
            if isLine { lines.append(String(piece)) } else { lines[lines.count - 1] += ",\(piece)" }
        }
    }

    private mutating func cookie(_ text: String) -> String {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return parts.count == 2 ? "\(parts[0])=\(standIn(for: parts[1]))" : text
    }

    private static let cookieAttributes: Set<String> = ["path", "domain", "expires", "max-age", "samesite", "priority"]

    private mutating func setCookie(_ text: String) -> String {
        let name = text.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces).lowercased()
        return Self.cookieAttributes.contains(name) ? text : cookie(text)
    }

    private mutating func body(_ body: Data, _ type: String, _ names: CassetteSecretNames) -> Data {
        guard let parts = MockFormItem.parts(of: body, contentType: type) else { return text(body, names) }
        var (result, start) = (Data(), body.startIndex)
        for part in parts {
            let content = Data("\r\n\r\n".utf8) + part.data
            guard let range = body.range(of: content + Data("\r\n--".utf8), in: start..<body.endIndex) else { continue }
            result += body[start..<range.lowerBound + 4]
            let isSecret = names.contains(part.name, value: part.value)
            result += isSecret ? Data(standIn(for: part.value).utf8) : text(part.data, names)
            start = range.lowerBound + content.count
        }
        return result + body[start...]
    }

    // MARK: Stand-ins

    /// Whether a text looks like a token, and so is replaced wherever it occurs.
    ///
    /// It has no spaces, is no date and no URL, and is long or mixes letters and digits. A stand-in looks like a token if its
    /// secret does.
    static func looksLikeToken(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let (hasLetters, hasDigits) = (bytes.contains { isLetter($0) }, bytes.contains(where: isDigit))
        guard bytes.count >= 8, !bytes.contains(where: { $0 <= 0x20 }), !text.contains("://") else { return false }
        let isDate = [0, 1, 2, 3, 5, 6].allSatisfy { isDigit(bytes[$0]) } && bytes[4] == UInt8(ascii: "-")
        return !isDate && (hasLetters && hasDigits || bytes.count >= 20 && (hasLetters || hasDigits))
    }

    /// Returns what takes the place of a secret: letters for letters, digits for digits, other characters as they are.
    mutating func standIn(for secret: String) -> String {
        if secret.isEmpty { return secret }
        if let standIn = standIns[secret] { return standIn }
        let standIn = uniform ?? newStandIn(for: secret)
        standIns[secret] = standIn
        used.insert(standIn)
        if Self.looksLikeToken(secret) {
            for spelling in [{ $0 }, { PercentEncoding.escapingComponent($0) }, Self.escaped] as [(String) -> String] {
                let pair = (secret: Data(spelling(secret).utf8), standIn: Data(spelling(standIn).utf8))
                if !spellings.contains(where: { $0.secret == pair.secret }) { spellings.append(pair) }
            }
            spellings.sort { $0.secret.count > $1.secret.count }
        }
        return standIn
    }

    private mutating func newStandIn(for secret: String) -> String {
        var standIn = secret
        for attempt in 0..<60 {
            count &+= 1
            standIn = Self.standIn(for: secret, number: count, isFree: attempt >= 20)
            // Of short secrets there may be more than stand-ins.
            let isUsed = attempt < 40 && (used.contains(standIn) || standIns[standIn] != nil)
            if standIn != secret, !isUsed { break }
        }
        return standIn
    }

    /// Returns a stand-in by its number.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - number: The number of the stand-in.
    ///   - isFree: Whether a number may be larger than the secret, and symbols may become letters.
    /// - Returns: The stand-in, which may be the secret itself.
    private static func standIn(for secret: String, number: Int, isFree: Bool) -> String {
        var random = SplitMix64(state: UInt64(truncatingIfNeeded: number))
        let bytes = Array(secret.utf8)
        let isSymbols = isFree && !bytes.contains { isLetter($0) || isDigit($0) }
        let isHexadecimal = bytes.allSatisfy { !isLetter($0) || isLetter($0, upTo: "f") }
        let isNumber = bytes.contains(where: isDigit) && bytes.allSatisfy { isDigit($0) || "+-.eE".utf8.contains($0) }
        let first = bytes.firstIndex(where: isDigit)
        let letters: UInt8 = isHexadecimal && !isSymbols ? 6 : 26
        let standIn = bytes.enumerated().map { index, byte -> UInt8 in
            let choice = UInt8(truncatingIfNeeded: random.next() >> 32)
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard isNumber else { return UInt8(ascii: "1") + choice % 9 }
                // No larger than the secret, which may be the largest integer, and without a zero before it.
                let most = isFree ? 9 : byte - UInt8(ascii: "0")
                let least = min(most, index == first && bytes.count > 1 ? 1 : 0)
                return UInt8(ascii: "0") + least + choice % (most - least + 1)
            case _ where isNumber: return byte
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): return UInt8(ascii: "A") + choice % letters
            case _ where isLetter(byte) || isSymbols: return UInt8(ascii: "a") + choice % letters
            default: return byte
            }
        }
        return String(decoding: standIn, as: UTF8.self)
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    /// Whether a byte is a letter, or one of a character that is not ASCII, which becomes a letter.
    static func isLetter(_ byte: UInt8, upTo last: Unicode.Scalar = "z") -> Bool {
        byte >= 0x80 || (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: last)
    }
}
