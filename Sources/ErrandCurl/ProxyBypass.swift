#if os(Linux)
internal import Foundation

/// The hosts that are reached without a proxy.
///
/// It is decided here for each request, because libcurl 7.88 compares IPv6 addresses as text, does not support their
/// ranges, and accepts `*` only as the entire list.
struct ProxyBypass: Sendable {
    /// One entry of the list.
    enum Rule: Sendable, Hashable {
        case all
        /// A name in lower case, with its subdomains.
        case name(String)
        /// The addresses that begin with the same bits.
        case range(Address, bitCount: Int)

        /// Reads an entry; `nil` if it names no host.
        init?(_ text: String) {
            // Without characters that C would read as the end of an address.
            guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { return nil }
            if text == "*" {
                self = .all
                return
            }
            if let slash = text.firstIndex(of: "/") {
                let digits = text[text.index(after: slash)...].utf8
                guard let address = Address(written: String(text[..<slash])), 1...3 ~= digits.count,
                    digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                    let bitCount = Int(String(decoding: digits, as: UTF8.self)), bitCount <= address.bytes.count * 8
                else { return nil }
                self = .range(address, bitCount: bitCount)
                return
            }
            if let address = Address(text) {
                self = .range(address, bitCount: address.bytes.count * 8)
                return
            }
            let name = text.hasPrefix(".") ? String(text.dropFirst()) : text
            guard !name.contains(where: { "*,:@?#[]%\\".contains($0) }),
                // A name that is not ASCII is compared in the form that is sent.
                let host = URL(string: "http://\(name)/")?.host(percentEncoded: false)?.withoutRoot, !host.isEmpty
            else { return nil }
            self = .name(host)
        }
    }

    /// The bytes of an IP address.
    struct Address: Sendable, Hashable {
        let bytes: [UInt8]

        /// Reads an address in its usual form (`inet_pton`).
        init?(written text: String) {
            var (four, six) = (in_addr(), in6_addr())
            if inet_pton(AF_INET, text, &four) == 1 {
                bytes = withUnsafeBytes(of: four) { [UInt8]($0) }
            } else if inet_pton(AF_INET6, text, &six) == 1 {
                bytes = withUnsafeBytes(of: six) { [UInt8]($0) }
            } else {
                return nil
            }
        }

        /// Reads an address in any form that a URL may have, such as `127.1`, without brackets and zone.
        init?(_ text: String) {
            if let usual = Address(written: text) {
                self = usual
                return
            }
            var four = in_addr()
            guard inet_aton(text, &four) != 0 else { return nil }
            bytes = withUnsafeBytes(of: four) { [UInt8]($0) }
        }

        /// Whether the first bits equal another address's of the same kind.
        func hasPrefix(of other: Address, bitCount: Int) -> Bool {
            guard bytes.count == other.bytes.count else { return false }
            let (whole, rest) = (bitCount / 8, bitCount % 8)
            guard bytes[..<whole] == other.bytes[..<whole] else { return false }
            return rest == 0 || (bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0
        }
    }

    private let rules: [Rule]

    /// Creates the hosts of a list, whose entries are valid.
    init(_ list: [String]) { rules = list.compactMap(Rule.init) }

    /// Whether the host of a URL is one of them.
    func includes(_ url: URL) -> Bool {
        guard !rules.isEmpty, let text = url.host(percentEncoded: false) else { return false }
        let name = text.withoutRoot
        let address = Address(String(name.trimmingCharacters(in: ["[", "]"]).prefix { $0 != "%" }))
        return rules.contains { rule in
            switch rule {
            case .all: true
            case .name(let parent): address == nil && (name == parent || name.hasSuffix(".\(parent)"))
            case .range(let start, let bitCount): address?.hasPrefix(of: start, bitCount: bitCount) == true
            }
        }
    }
}
#endif
