/// A canonical form of a request's field: two values with the same form have the same meaning (RFC 9111, section 4.1).
enum NormalizedField {
    /// Returns the form of a field's value, or `nil` if the request doesn't have the field.
    ///
    /// Several lines of the field are combined, and white space around their commas is removed. For the fields of content
    /// negotiation, empty members, case, order, and how a weight is written, don't count either (RFC 9110, section 12.5).
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - headers: The header fields of the request.
    /// - Returns: The form, in which two values with the same meaning are equal.
    static func value(of name: String, in headers: HTTPHeaders) -> String? {
        guard let value = headers[name] else { return nil }
        if name.isSameFieldName(as: "Cookie") || name.isSameFieldName(as: "Authorization") { return value }
        guard negotiating.contains(where: { $0.isSameFieldName(as: name) }) else {
            let comma = UInt8(ascii: ",")
            return value.utf8.contains(comma) ? FieldCursor.parts(of: value, at: comma).joined(separator: ",") : value
        }
        return list(value)
    }

    private static let negotiating = ["Accept", "Accept-Language", "Accept-Encoding", "Accept-Charset"]

    private static func list(_ value: String) -> String {
        // Most values are a single lowercase token.
        if value.utf8.allSatisfy({ $0.isTokenCharacter && !$0.isUppercase || $0 == UInt8(ascii: "/") }) { return value }
        var seen: Set<String> = []
        let members = FieldCursor.parts(of: value, at: UInt8(ascii: ",")).filter { !$0.isEmpty }
        let choices = members.map(Choice.init).filter { seen.insert($0.text).inserted }
        return choices.sortedUnspecialized { one, other in
            one.weight == other.weight ? one.text < other.text : one.weight > other.weight
        }.map(\.text).joined(separator: ",")
    }

    /// One alternative with its weight.
    private struct Choice {
        let text: String
        let weight: Int

        init(_ member: String) {
            let parts = FieldCursor.parts(of: member, at: UInt8(ascii: ";"))
            var texts = [parts[0].lowercased()]
            var weight: Int?
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = pair[0].lowercased()
                // Text after a weight belongs to it, so the weight then keeps its place. No field can contain the separator, so
                // no invalid weight equals it.
                if name == "q", pair.count == 2, weight == nil, let found = Choice.weight(pair[1]) {
                    weight = found
                    if found < 1000 || part != parts.last { texts.append("q\u{1}\(found)") }
                } else {
                    texts.append(pair.count == 2 ? "\(name)=\(pair[1])" : name)
                }
            }
            (text, self.weight) = (texts.joined(separator: ";"), weight ?? 1000)
        }

        /// Reads a weight in thousandths, or returns `nil` if it is invalid (RFC 9110, section 12.4.2).
        private static func weight(_ text: Substring) -> Int? {
            let bytes = Array(text.utf8)
            guard (1...5).contains(bytes.count), bytes[0] == 0x30 || bytes[0] == 0x31,
                bytes.count == 1 || bytes[1] == UInt8(ascii: ".")
            else { return nil }
            var (weight, unit) = (Int(bytes[0] - 0x30) * 1000, 100)
            for byte in bytes.dropFirst(2) {
                guard (0x30...0x39).contains(byte) else { return nil }
                weight += Int(byte - 0x30) * unit
                unit /= 10
            }
            return weight <= 1000 ? weight : nil
        }
    }
}

extension UInt8 {
    fileprivate var isUppercase: Bool { (0x41...0x5A).contains(self) }
}
