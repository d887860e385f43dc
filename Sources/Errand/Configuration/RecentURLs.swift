internal import Foundation

/// The URLs that requests of a config were last built with, so that a request that is sent again does not parse its URL again.
///
/// Parsing takes a tenth of the work of a send beside its transport. Each type of request has one place, which it may share with
/// other types, and longer URLs have none, so the memory is bounded.
final class RecentURLs: Sendable {
    /// A URL below a base URL, and the texts that it was made from.
    final class Entry: Sendable {
        let base: BaseURL
        let declared: DeclaredPath
        /// The base URL and the path, joined.
        let place: URLParts
        /// The same with the query of the request.
        let parts: URLParts
        let url: URL

        init(base: BaseURL, declared: DeclaredPath, place: URLParts, parts: URLParts, url: URL) {
            (self.base, self.declared, self.place, self.parts, self.url) = (base, declared, place, parts, url)
        }

        /// Whether it was made from a path with the same bytes; canonically equivalent texts are not the same URL.
        func hasPath(_ other: String) -> Bool {
            // What is canonically equivalent to ASCII, as these paths are, has more bytes.
            declared.text == other && declared.text.utf8.count == other.utf8.count
        }
    }

    private static let count = 16
    /// The maximum number of bytes of a path and a query.
    private static let maximumSize = 2_048

    private let entries = Lock([Entry?](repeating: nil, count: count))

    init() {}

    /// The latest entry of a type of requests, or of another type with the same place; `nil` if there is none.
    subscript(type: ObjectIdentifier) -> Entry? {
        get { entries.withLock { $0[Self.place(of: type)] } }
        set {
            if let newValue,
                newValue.declared.text.utf8.count + (newValue.parts.query ?? "").utf8.count > Self.maximumSize
                    || !newValue.declared.text.utf8.allSatisfy({ $0 < 0x80 })
            {
                return
            }
            let old = entries.withLock { entries in
                let place = Self.place(of: type)
                defer { entries[place] = newValue }
                return entries[place]
            }
            // Released outside of the lock.
            withExtendedLifetime(old) {}
        }
    }

    /// The upper bits of a product, which depend on all bits of the address.
    private static func place(of type: ObjectIdentifier) -> Int {
        let address = UInt64(UInt(bitPattern: type))
        return Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }
}
