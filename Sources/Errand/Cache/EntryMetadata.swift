internal import Foundation

// The metadata of an entry, member by member in a fixed order: numbers with eight bytes, texts and lists behind their lengths
// with four. A general encoding would cost ten times as much as reading the file.

extension CacheEntry {
    /// Everything but the body.
    var metadata: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024)
        for text in [location, method.rawValue, variant, scope, user] { bytes.append(text: text) }
        let numbers = [
            Int64(statusCode), requested.microseconds, received.microseconds, Int64(version), isWeak ? 1 : 0,
        ]
        for number in numbers { bytes.append(number: number) }
        bytes.append(headers) { ($0.name, $0.value) }
        bytes.append(vary) { ($0.name, $0.digest) }
        guard !outline.isEmpty else { return bytes }
        for number in [outline.place, outline.count, outline.replacedCount] {
            bytes.append(number: UInt16(clamping: number))
        }
        bytes.append(outline.names.sorted()) { ($0, "") }
        return bytes
    }

    /// Reads ``metadata``, or returns `nil` if the bytes are something else.
    init?(metadata: UnsafeRawBufferPointer, body: Data) {
        var reader = MetadataReader(bytes: metadata)
        guard let location = reader.text(), let method = reader.text(), let variant = reader.text(),
            let scope = reader.text(), let user = reader.text(),
            let status = reader.number(Int64.self), let requested = reader.number(Int64.self),
            let received = reader.number(Int64.self), let version = reader.number(Int64.self),
            let weak = reader.number(Int64.self),
            let headers = reader.pairs({ HTTPHeaders.Field(name: $0, value: $1) }),
            let vary = reader.pairs({ VaryField(name: $0, digest: $1) })
        else { return nil }
        var outline = CredentialOutline()
        if !reader.isAtEnd {
            guard let place = reader.number(UInt16.self), let count = reader.number(UInt16.self),
                let replacedCount = reader.number(UInt16.self), let names = reader.pairs({ name, _ in name }),
                reader.isAtEnd
            else { return nil }
            outline = CredentialOutline(
                names: Set(names),
                place: Int(place),
                count: Int(count),
                replacedCount: Int(replacedCount)
            )
        }
        self.init(
            method: method == "GET" ? .get : HTTPMethod(rawValue: method),
            location: location,
            statusCode: Int(clamping: status),
            headers: HTTPHeaders(headers),
            body: body,
            requested: Date(microseconds: requested),
            received: Date(microseconds: received),
            version: Int(clamping: version),
            variant: variant,
            scope: scope,
            user: user,
            vary: vary,
            isWeak: weak == 1,
            outline: outline
        )
    }
}

extension Date {
    // 64 bits on watches too, where an `Int` has 32.
    var microseconds: Int64 {
        let (seconds, attoseconds) = timeSince1970.components
        return seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
    }

    fileprivate init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1e6) }
}

extension [UInt8] {
    fileprivate mutating func append(number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func append(text: String) {
        append(number: UInt32(clamping: text.utf8.count))
        append(contentsOf: text.utf8)
    }

    fileprivate mutating func append<Item>(_ list: some Collection<Item>, pair: (Item) -> (String, String)) {
        append(number: UInt32(clamping: list.count))
        for element in list {
            let (first, second) = pair(element)
            append(text: first)
            append(text: second)
        }
    }
}

private struct MetadataReader {
    let bytes: UnsafeRawBufferPointer
    private var place = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        let size = MemoryLayout<Number>.size
        guard bytes.count - place >= size else { return nil }
        defer { place += size }
        return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: type))
    }

    mutating func text() -> String? {
        guard let count = number(UInt32.self), count <= bytes.count - place else { return nil }
        defer { place += Int(count) }
        return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[place..<place + Int(count)]), as: UTF8.self)
    }

    mutating func pairs<Pair>(_ make: (String, String) -> Pair) -> [Pair]? {
        // Each has two lengths at least.
        guard let count = number(UInt32.self), count <= (bytes.count - place) / 8 else { return nil }
        var pairs: [Pair] = []
        pairs.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let first = text(), let second = text() else { return nil }
            pairs.append(make(first, second))
        }
        return pairs
    }
}
