internal import Foundation

// The metadata of an entry as one line of JSON. It is written and read here only, member by member in a fixed order,
// because a general decoder would cost ten times as much as reading the file. What does not match exactly was not
// written here.

extension CacheEntry {
    /// Everything but the body, as JSON in UTF-8.
    var metadata: [UInt8] {
        var json = MetadataWriter()
        json.add("{\"url\":", location)
        json.add(",\"method\":", method.rawValue)
        json.add(",\"status\":", statusCode)
        json.add(",\"requested\":", requested.microseconds)
        json.add(",\"received\":", received.microseconds)
        json.add(",\"version\":", version)
        json.add(",\"variant\":", variant)
        json.add(",\"scope\":", scope)
        if !user.isEmpty { json.add(",\"user\":", user) }
        json.add(",\"headers\":", headers.map { ($0.name, $0.value) })
        json.add(",\"vary\":", vary.map { ($0.name, $0.digest) })
        if isWeak { json.add(",\"weak\":", 1) }
        json.bytes.append(UInt8(ascii: "}"))
        return json.bytes
    }

    /// Reads ``metadata``, or returns `nil` if the bytes are something else.
    init?(metadata: UnsafeRawBufferPointer, body: Data) {
        var json = MetadataReader(bytes: metadata)
        guard json.take("{\"url\":"), let location = json.string(),
            json.take(",\"method\":"), let method = json.string(),
            json.take(",\"status\":"), let status = json.integer().flatMap({ Int(exactly: $0) }),
            json.take(",\"requested\":"), let requested = json.integer(),
            json.take(",\"received\":"), let received = json.integer(),
            json.take(",\"version\":"), let version = json.integer().flatMap({ Int(exactly: $0) }),
            json.take(",\"variant\":"), let variant = json.string(),
            json.take(",\"scope\":"), let scope = json.string(),
            let user = json.take(",\"user\":") ? json.string() : "",
            json.take(",\"headers\":"), let headers = json.pairs({ HTTPHeaders.Field(name: $0, value: $1) }),
            json.take(",\"vary\":"), let vary = json.pairs({ VaryField(name: $0, digest: $1) }),
            let weak = json.take(",\"weak\":") ? json.integer() : 0,
            json.take("}"), json.isAtEnd
        else { return nil }
        self.init(
            method: method == "GET" ? .get : HTTPMethod(rawValue: method),
            location: location,
            statusCode: status,
            headers: HTTPHeaders(headers),
            body: body,
            requested: Date(microseconds: requested),
            received: Date(microseconds: received),
            version: version,
            variant: variant,
            scope: scope,
            user: user,
            vary: vary,
            isWeak: weak == 1
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

private struct MetadataWriter {
    var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(1024) }

    mutating func add(_ label: StaticString, _ value: some FixedWidthInteger) {
        bytes.append(contentsOf: label.bytes)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func add(_ label: StaticString, _ value: String) {
        bytes.append(contentsOf: label.bytes)
        add(value)
    }

    mutating func add(_ label: StaticString, _ pairs: [(String, String)]) {
        bytes.append(contentsOf: label.bytes)
        bytes.append(UInt8(ascii: "["))
        for (place, pair) in pairs.enumerated() {
            bytes.append(contentsOf: (place == 0 ? "[" : ",[").utf8)
            add(pair.0)
            bytes.append(UInt8(ascii: ","))
            add(pair.1)
            bytes.append(UInt8(ascii: "]"))
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func add(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case ..<0x20: bytes.append(contentsOf: "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

private struct MetadataReader {
    let bytes: UnsafeRawBufferPointer
    var place = 0

    var isAtEnd: Bool { place == bytes.count }

    mutating func take(_ text: StaticString) -> Bool {
        let wanted = text.bytes
        guard bytes.count - place >= wanted.count else { return false }
        for index in 0..<wanted.count where bytes[place &+ index] != wanted[index] { return false }
        place += wanted.count
        return true
    }

    mutating func integer() -> Int64? {
        let isNegative = take("-")
        let start = place
        var value: Int64 = 0
        while place < bytes.count, (0x30...0x39).contains(bytes[place]) {
            let (product, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(Int64(bytes[place] - 0x30))
            if isLarge || isLarger { return nil }
            value = sum
            place += 1
        }
        return place == start ? nil : isNegative ? -value : value
    }

    mutating func string() -> String? {
        guard take("\"") else { return nil }
        let start = place
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                defer { place += 1 }
                return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
            case UInt8(ascii: "\\"): return escapedString(from: start)
            default: place &+= 1
            }
        }
        return nil
    }

    private mutating func escapedString(from start: Int) -> String? {
        var text = Array(bytes[start..<place])
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                if take("u00") {
                    guard bytes.count - place >= 2,
                        let high = JSONScanner.hexadecimalValue(bytes[place]),
                        let low = JSONScanner.hexadecimalValue(bytes[place + 1])
                    else { return nil }
                    text.append(UInt8(high << 4 | low))
                    place += 2
                } else {
                    guard place < bytes.count else { return nil }
                    text.append(bytes[place])
                    place += 1
                }
            default: text.append(byte)
            }
        }
        return nil
    }

    mutating func pairs<Pair>(_ make: (String, String) -> Pair) -> [Pair]? {
        guard take("[") else { return nil }
        var pairs: [Pair] = []
        if take("]") { return pairs }
        pairs.reserveCapacity(12)
        repeat {
            guard take("["), let first = string(), take(","), let second = string(), take("]") else { return nil }
            pairs.append(make(first, second))
        } while take(",")
        return take("]") ? pairs : nil
    }
}
