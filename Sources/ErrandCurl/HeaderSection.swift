#if os(Linux)
internal import Errand
internal import Foundation

/// The header section of a response, while its lines arrive.
///
/// An interim section is replaced by the next one. Trailers only count toward the size of the final one.
struct HeaderSection {
    private(set) var statusCode = 0
    /// Whether the section of the final response is complete.
    private(set) var isFinal = false
    /// The `Content-Length`, or `nil` without one, or if the framing is chunked.
    private(set) var contentLength: Int64?
    /// The content codings in the order in which they were applied, in lower case; what is no coding is left out.
    private(set) var codings: [String] = []

    /// Enough for most responses.
    private static let usualByteCount = 512

    private var fields: [UInt8] = []
    private var isChunked = false
    /// Whether the version of HTTP marks the end of the content by a frame.
    private var isFramed = false
    /// Whether a status line has begun a section that has not ended.
    private var hasBegun = false
    /// The size of the names and values of the section, and of trailers.
    private var byteCount = 0
    /// The size of all lines that have arrived, including interim sections.
    private var receivedByteCount = 0

    /// Adds a line as it was received, with its end.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - limit: The maximum size of all names and values of a section. All sections together may have four times that
    ///     size and 64 KiB more.
    /// - Returns: The reason why the response is rejected, or `nil`.
    mutating func add(_ line: UnsafeRawBufferPointer, limit: Int) -> NetworkError.Reason? {
        receivedByteCount += line.count
        if (receivedByteCount - 64 << 10) / 4 > limit { return .headerSectionTooLarge }
        if isFinal {
            byteCount += line.count
            return byteCount > limit ? .headerSectionTooLarge : nil
        }
        // A line that ends otherwise is read differently by different programs (RFC 9112, section 2.2).
        guard line.count >= 2, line[line.count - 2] == .carriageReturn, line[line.count - 1] == .lineFeed else {
            return .malformedHeader
        }
        let content = UnsafeRawBufferPointer(rebasing: line[..<(line.count - 2)])
        if content.isEmpty { return end() }
        let reason = content.isStatusLine ? begin(content) : addField(content)
        if let reason { return reason }
        return byteCount > limit ? .headerSectionTooLarge : nil
    }

    /// Whether the end of the content is marked, other than by the end of the connection (RFC 9112, section 6.3).
    var marksEnd: Bool { contentLength != nil || isChunked || isFramed }

    /// Whether the content is not that of a success.
    var isOfError: Bool { statusCode / 100 != 2 }

    /// Whether the response is a redirect with a body.
    var isRedirect: Bool { [301, 302, 303, 307, 308].contains(statusCode) && contentLength != 0 }

    /// The fields in their order, which are read on first access.
    var headers: HTTPHeaders { HTTPHeaders(reading: { [fields] in Self.parse(fields) }) }

    private mutating func begin(_ line: UnsafeRawBufferPointer) -> NetworkError.Reason? {
        guard !hasBegun else { return .malformedHeader }
        hasBegun = true
        let digits = line.drop { $0 != .space }.drop { $0 == .space }.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isDigit) else { return .malformedStatusLine }
        statusCode = digits.reduce(0) { $0 * 10 + Int($1 - .zero) }
        (contentLength, isChunked, codings) = (nil, false, [])
        isFramed = line.starts(with: "HTTP/2".utf8) || line.starts(with: "HTTP/3".utf8)
        fields.removeAll(keepingCapacity: true)
        fields.reserveCapacity(Self.usualByteCount)
        byteCount = 0
        return statusCode < 100 ? .malformedStatusLine : nil
    }

    private mutating func end() -> NetworkError.Reason? {
        // No request asks for another protocol, so no response would follow 101.
        guard hasBegun, statusCode != 101 else { return .malformedStatusLine }
        hasBegun = false
        isFinal = statusCode >= 200
        if isChunked { contentLength = nil }
        return nil
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) -> NetworkError.Reason? {
        // RFC 9112, section 2.2, for a carriage return within a line.
        guard hasBegun, !line.has(0), !line.has(.carriageReturn) else { return .malformedHeader }
        if line[0] == .space || line[0] == .tab {
            // RFC 9112, section 5.2: a continuation belongs to the line before it.
            guard !fields.isEmpty else { return .malformedHeader }
            byteCount += line.trimmed.count
            fields[fields.count - 1] = .space
            fields.append(contentsOf: line)
            fields.append(.lineFeed)
            return nil
        }
        var colon = 0
        while colon < line.count, line[colon] != .colon {
            guard line[colon] > .space, line[colon] != 0x7F else { return .malformedHeader }
            colon += 1
        }
        guard colon > 0, colon < line.count else { return .malformedHeader }
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        fields.append(contentsOf: line)
        fields.append(.lineFeed)
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])
        byteCount += name.count + value.trimmed.count
        return note(name, value)
    }

    /// Notes the fields that determine how the body is read.
    private mutating func note(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> NetworkError.Reason?
    {
        switch name.count {
        case 14 where name.isName("content-length"): return noteLength(value)
        case 16 where name.isName("content-encoding"):
            codings += Self.tokens(value).filter { ContentCoding.registered.contains($0) }
            return nil
        case 17 where name.isName("transfer-encoding"):
            // Other codings would be decoded by libcurl, without limits; no request offers them (RFC 9112, section 7).
            let codings = Self.tokens(value).filter { $0 != "identity" }
            guard codings.isEmpty || codings == ["chunked"] && !isChunked else { return .malformedHeader }
            isChunked = isChunked || !codings.isEmpty
            return nil
        default: return nil
        }
    }

    /// RFC 9110, section 8.6: a list of equal numbers is one, everything else is invalid.
    private mutating func noteLength(_ value: UnsafeRawBufferPointer) -> NetworkError.Reason? {
        for part in value.split(separator: .comma, omittingEmptySubsequences: false) {
            guard let length = Self.number(part), contentLength ?? length == length else {
                return .invalidContentLength
            }
            contentLength = length
        }
        return nil
    }

    /// Returns the number that digits between spaces state, or `nil` if there is none or it is too large.
    private static func number(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int64? {
        var number: Int64?
        var hasEnded = false
        for byte in bytes {
            if byte == .space || byte == .tab {
                hasEnded = number != nil
                continue
            }
            guard byte.isDigit, !hasEnded else { return nil }
            let (product, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeToo) = product.addingReportingOverflow(Int64(byte - .zero))
            guard !isTooLarge, !isTooLargeToo else { return nil }
            number = sum
        }
        return number
    }

    private static func tokens(_ value: UnsafeRawBufferPointer) -> [String] {
        String(decoding: value, as: UTF8.self).lowercased().split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private static func parse(_ bytes: [UInt8]) -> [HTTPHeaders.Field] {
        bytes.withUnsafeBytes { bytes in
            var (fields, start) = ([HTTPHeaders.Field](), 0)
            while let end = bytes[start...].firstIndex(of: .lineFeed) {
                if let colon = bytes[start..<end].firstIndex(of: .colon) {
                    fields.append(
                        HTTPHeaders.Field(name: text(bytes[start..<colon]), value: text(bytes[(colon + 1)..<end]))
                    )
                }
                start = end + 1
            }
            return fields
        }
    }

    /// Text without spaces at both ends, in UTF-8, or else in ISO 8859-1, which has a character for each byte (RFC 9110, section 5.5).
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes).trimmed
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var isStatusLine: Bool { baseAddress.map { count > 4 && memcmp($0, "HTTP/", 5) == 0 } ?? false }

    /// The bytes without spaces at both ends.
    fileprivate var trimmed: UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while start < end, self[start] == .space || self[start] == .tab { start += 1 }
        while end > start, self[end - 1] == .space || self[end - 1] == .tab { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    fileprivate func has(_ byte: UInt8) -> Bool { baseAddress.map { memchr($0, Int32(byte), count) != nil } ?? false }

    /// Whether this is a name that is given in lower case.
    fileprivate func isName(_ name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount && (0..<count).allSatisfy { self[$0] | 0x20 == name.utf8Start[$0] }
    }
}

extension UInt8 {
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let tab = UInt8(ascii: "\t")
    fileprivate static let comma = UInt8(ascii: ",")
    fileprivate static let colon = UInt8(ascii: ":")
    fileprivate static let zero = UInt8(ascii: "0")
    fileprivate var isDigit: Bool { self >= .zero && self <= .zero + 9 }
}
#endif
