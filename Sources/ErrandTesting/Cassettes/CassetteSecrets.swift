import Errand
import Foundation

/// Which values of a cassette are secret, by their names.
struct CassetteSecretNames: Sendable, Equatable {
    /// The lists of agents and of the cassette.
    var lists: [Secrets]
    /// Whether the names are those of a response, whose `code` is that of an envelope, and not one for a login.
    var isOfResponse = false

    func contains(header name: String) -> Bool { lists.contains { $0.isSecret(header: name) } }
    func contains(_ name: String) -> Bool {
        !(isOfResponse && name.lowercased() == "code") && lists.contains { $0.isSecret(queryName: name) }
    }
}

/// The secrets of a cassette, each with a stand-in of the same type and length that takes its place everywhere.
struct CassetteSecrets: Sendable {
    /// The length from which a secret is replaced wherever it occurs, and not only in its place.
    private static let distinctLength = 6

    /// The number of stand-ins, those of an earlier recording included.
    private(set) var count: Int
    private var standIns: [String: String] = [:]
    private var known: Set<String> = []
    /// The spellings that are replaced wherever they occur, with their stand-ins, long ones first.
    private var distinct: [(spelling: String, standIn: String)] = []

    /// What takes the place of every secret, to compare requests without them, or `nil` for stand-ins.
    private let uniform: String?

    init(count: Int, uniform: String? = nil) { (self.count, self.uniform) = (count, uniform) }

    /// Replaces the secrets of an entry, and those of others that it contains.
    mutating func replace(in entry: inout CassetteEntry, named names: CassetteSecretNames) {
        // The first time to find them: an entry may contain a secret before the place that shows that it is one.
        var unused = entry
        replace(in: &unused, names)
        replace(in: &entry, names)
    }

    /// Replaces the secrets of other entries that an entry contains.
    mutating func replaceKnown(in entry: inout CassetteEntry) { replace(in: &entry, nil) }

    private mutating func replace(in entry: inout CassetteEntry, _ names: CassetteSecretNames?) {
        if names != nil, let secrets = entry.request._secretPathTexts {
            for secret in secrets {
                let sent = PercentEncoding.escapingComponent(secret)
                let standIn = PercentEncoding.escapingComponent(standIn(for: secret))
                entry.request.url = entry.request.url.replacing(sent, with: standIn)
            }
            entry.request._secretPathTexts = secrets.map { standIn(for: $0) }
        }
        entry.request.url = url(entry.request.url, names)
        entry.request.headers = entry.request.headers.map { field($0, names) }
        entry.request.queryString = entry.request.queryString.map { pair in
            CassetteEntry.Pair(name: pair.name, value: value(pair.value, isSecret: names?.contains(pair.name) == true))
        }
        entry.set(requestBody: body(entry.requestBody, entry.request.postData?.mimeType ?? "", names))
        entry.response.headers = entry.response.headers.map { field($0, names) }
        var ofResponse = names
        ofResponse?.isOfResponse = true
        entry.set(body(entry.responseBody, entry.response.content.mimeType, ofResponse))
    }

    // MARK: Places

    private mutating func field(_ pair: CassetteEntry.Pair, _ names: CassetteSecretNames?) -> CassetteEntry.Pair {
        var pair = pair
        guard names?.contains(header: pair.name) == true else {
            pair.value = pair.value.contains("?") ? url(pair.value, names) : value(pair.value, isSecret: false)
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
            // Several lines may have been joined by commas, which dates contain too.
            pair.value = pair.value.split(separator: ";", omittingEmptySubsequences: false).map { part in
                part.split(separator: ",", omittingEmptySubsequences: false).map { setCookie(String($0)) }
                    .joined(separator: ",")
            }.joined(separator: ";")
        default: pair.value = standIn(for: pair.value)
        }
        return pair
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

    private mutating func url(_ text: String, _ names: CassetteSecretNames?) -> String {
        let start = text.firstIndex(of: "?") ?? text.endIndex
        let end = text[start...].firstIndex { $0 == "#" || $0 == ">" } ?? text.endIndex
        var place = String(text[..<start])
        if names != nil, let at = place.lastIndex(of: "@"), let scheme = place.range(of: "://"),
            scheme.upperBound <= at,
            !place[scheme.upperBound..<at].contains("/")
        {
            let user = place[scheme.upperBound..<at].split(separator: ":", maxSplits: 1).map {
                standIn(for: String($0))
            }
            place.replaceSubrange(scheme.upperBound..<at, with: user.joined(separator: ":"))
        }
        let query = text[start..<end].isEmpty ? "" : "?" + form(String(text[start..<end].dropFirst()), names)
        return value(place, isSecret: false) + query + value(String(text[end...]), isSecret: false)
    }

    private mutating func form(_ text: String, _ names: CassetteSecretNames?) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0].removingPercentEncoding ?? parts[0]
            guard parts.count == 2 else { return value(String(pair), isSecret: false) }
            guard names?.contains(name) == true else { return "\(parts[0])=\(value(parts[1], isSecret: false))" }
            let plain = parts[1].replacing("+", with: " ").removingPercentEncoding ?? parts[1]
            return "\(parts[0])=\(PercentEncoding.escapingComponent(standIn(for: plain)))"
        }.joined(separator: "&")
    }

    private mutating func body(_ body: Data, _ type: String, _ names: CassetteSecretNames?) -> Data {
        guard !body.isEmpty else { return body }
        if let json = try? JSONValue(parsing: body) {
            let replaced = value(json, isSecret: false, names)
            return replaced == json ? body : replaced.data
        }
        guard let text = String(validating: body, as: UTF8.self) else { return bytes(body) }
        if type.lowercased().contains("urlencoded") { return Data(form(text, names).utf8) }
        for item in MockFormItem.parts(of: body, contentType: type) ?? [] where names?.contains(item.name) == true {
            _ = standIn(for: item.value)
        }
        return Data(value(text, isSecret: false).utf8)
    }

    /// Replaces what occurs in bytes that are no text.
    private func bytes(_ body: Data) -> Data {
        distinct.reduce(into: body) { body, secret in
            let (spelling, standIn) = (Data(secret.spelling.utf8), Data(secret.standIn.utf8))
            var start = body.startIndex
            while let range = body.range(of: spelling, in: start..<body.endIndex) {
                body.replaceSubrange(range, with: standIn)
                start = range.lowerBound + standIn.count
            }
        }
    }

    private mutating func value(_ json: JSONValue, isSecret: Bool, _ names: CassetteSecretNames?) -> JSONValue {
        switch json {
        case .object(let object):
            return .object(
                JSONObject(
                    object.map { member in
                        let isSecret = isSecret || names?.contains(member.name) == true
                        return (name: member.name, value: value(member.value, isSecret: isSecret, names))
                    }
                )
            )
        case .array(let elements): return .array(elements.map { value($0, isSecret: isSecret, names) })
        case .string(let text): return .string(value(text, isSecret: isSecret))
        case .number(let number) where isSecret:
            return JSONNumber(standIn(for: number.text)).map(JSONValue.number) ?? json
        default: return json
        }
    }

    private mutating func value(_ text: String, isSecret: Bool) -> String {
        if isSecret { return standIn(for: text) }
        return distinct.reduce(text) {
            $1.spelling.utf8.count > $0.utf8.count ? $0 : $0.replacing($1.spelling, with: $1.standIn)
        }
    }

    // MARK: Stand-ins

    /// Returns what takes the place of a secret: letters for letters, digits for digits, other characters as they are.
    private mutating func standIn(for secret: String) -> String {
        if known.contains(secret) || secret.isEmpty { return secret }
        if let standIn = standIns[secret] { return standIn }
        count += 1
        let standIn = uniform ?? Self.standIn(for: secret, number: count)
        standIns[secret] = standIn
        known.insert(standIn)
        if secret.utf8.count >= Self.distinctLength {
            let spellings = Set([secret, PercentEncoding.escapingComponent(secret)])
            distinct += spellings.map { ($0, $0 == secret ? standIn : PercentEncoding.escapingComponent(standIn)) }
            distinct.sort { $0.spelling.utf8.count > $1.spelling.utf8.count }
        }
        return standIn
    }

    private static func standIn(for secret: String, number: Int) -> String {
        var random = SplitMix64(state: UInt64(number))
        let isHexadecimal = secret.utf8.allSatisfy { !isLetter($0) || isLetter($0, upTo: "f") }
        let bytes = secret.utf8.map { byte -> UInt8 in
            let choice = UInt8(truncatingIfNeeded: random.next() >> 32)
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt8(ascii: "1") + choice % 9
            case UInt8(ascii: "a")...UInt8(ascii: "z"): return UInt8(ascii: "a") + choice % (isHexadecimal ? 6 : 26)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): return UInt8(ascii: "A") + choice % (isHexadecimal ? 6 : 26)
            case 0x80...: return UInt8(ascii: "a") + choice % 26
            default: return byte
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8, upTo last: Unicode.Scalar = "z") -> Bool {
        let small = byte | 0x20
        return byte < 0x80 && small >= UInt8(ascii: "a") && small <= UInt8(ascii: last)
    }
}
