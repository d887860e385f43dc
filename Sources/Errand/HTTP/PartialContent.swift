internal import Foundation

/// Parts of one content, which are combined only if a strong validator shows that they belong together (RFC 9110, section
/// 15.3.7.3; RFC 9111, section 3.4).
///
/// A pure value for everything that continues where it was interrupted: it checks `Content-Range`, rejects weak
/// validators, and never contains bytes of two contents.
struct PartialContent: Sendable, Equatable {
    /// A contiguous part.
    fileprivate struct Part: Sendable, Equatable {
        var start: Int
        var data: Data
        var positions: Range<Int> { start..<start + data.count }
    }

    /// The maximum number of parts that don't adjoin.
    static let maximumCount = 32

    /// The parts in order, which neither overlap nor adjoin.
    private var parts: [Part]
    /// The length of the complete content.
    let completeLength: Int
    /// The validator that further parts must have, or `nil` if no part can be added.
    let validator: StrongValidator?

    /// Reads the part that a response with the status 206 contains, or the parts of several such responses.
    ///
    /// Several parts have one `Content-Range` line each, in order, and are concatenated in the body.
    ///
    /// - Returns: `nil` if the response contains no part that can be reused: if a length is unknown or differs from the body's,
    ///   or the content is encoded, because a `Content-Range` counts encoded bytes and the body has been decoded.
    init?(statusCode: Int, headers: HTTPHeaders, body: Data, isWeak: Bool = false) {
        guard statusCode == 206, headers.hasIdentityCoding else { return nil }
        let lines = headers.values(for: "Content-Range")
        guard !lines.isEmpty, lines.count <= Self.maximumCount else { return nil }
        var parts: [Part] = []
        var (length, used) = (Int?.none, 0)
        for line in lines {
            guard let range = ContentRange(line), let complete = range.completeLength, length ?? complete == complete,
                range.positions.count <= body.count - used,
                range.positions.lowerBound > parts.last?.positions.upperBound ?? -1
            else { return nil }
            let start = body.startIndex + used
            parts.append(Part(start: range.positions.lowerBound, data: body[start..<start + range.positions.count]))
            (length, used) = (complete, used + range.positions.count)
        }
        guard let length, used == body.count else { return nil }
        (self.parts, completeLength) = (parts, length)
        validator = isWeak ? nil : StrongValidator(headers)
    }

    /// The positions of the parts, in order.
    var positions: [Range<Int>] { parts.map(\.positions) }

    /// The number of bytes of all parts.
    var byteCount: Int { parts.reduce(0) { $0 + $1.data.count } }

    /// The complete content, or `nil` if bytes are missing.
    var completeContent: Data? { parts.count == 1 ? data(at: 0..<completeLength) : nil }

    /// The values of the `Content-Range` lines, one for each part.
    var fieldValues: [String] { positions.map { ContentRange($0, of: completeLength).description } }

    /// The concatenated parts.
    var body: Data { parts.count == 1 ? parts[0].data : parts.reduce(into: Data()) { $0.append($1.data) } }

    /// Returns the bytes at these positions, or `nil` if any of them is missing.
    func data(at positions: Range<Int>) -> Data? {
        guard
            let part = parts.first(where: {
                $0.start <= positions.lowerBound && positions.lowerBound < $0.positions.upperBound
            }),
            positions.upperBound <= part.positions.upperBound
        else { return nil }
        let start = part.data.startIndex + (positions.lowerBound - part.start)
        return part.data[start..<start + positions.count]
    }

    /// The fields of a request for the missing bytes, or `nil` if they are not contiguous or no strong validator protects
    /// them.
    ///
    /// The server responds with the missing bytes only if the content is still the same, and otherwise with the complete new
    /// content (RFC 9110, section 13.1.5).
    var continuation: HTTPHeaders? {
        guard let validator, let missing else { return nil }
        let end = missing.upperBound == completeLength ? "" : "\(missing.upperBound - 1)"
        return ["Range": "bytes=\(missing.lowerBound)-\(end)", "If-Range": validator.fieldValue]
    }

    /// The missing bytes, or `nil` if none are missing or they are not contiguous.
    private var missing: Range<Int>? {
        switch parts.count {
        case 1 where parts[0].start == 0:
            parts[0].data.count < completeLength ? parts[0].data.count..<completeLength : nil
        case 1 where parts[0].positions.upperBound == completeLength: 0..<parts[0].start
        case 2 where parts[0].start == 0 && parts[1].positions.upperBound == completeLength:
            parts[0].positions.upperBound..<parts[1].start
        default: nil
        }
    }

    /// Returns these parts with the parts of a newer response, or `nil` if they don't belong to the same content.
    ///
    /// They do if both have the same strong validator and complete length, and agree on all bytes that both contain.
    ///
    /// - Parameter newer: The parts of the newer response.
    /// - Returns: All parts.
    func combined(with newer: PartialContent) -> PartialContent? {
        guard let validator, validator == newer.validator, completeLength == newer.completeLength else { return nil }
        var result = self
        for part in newer.parts { guard result.insert(part) else { return nil } }
        return result.parts.count <= Self.maximumCount ? result : nil
    }

    /// Inserts a part, and returns whether it agrees with the others.
    private mutating func insert(_ new: Part) -> Bool {
        let first = parts.firstIndex { $0.positions.upperBound >= new.start } ?? parts.endIndex
        let end = parts[first...].firstIndex { $0.start > new.positions.upperBound } ?? parts.endIndex
        let touched = parts[first..<end]
        guard let head = touched.first, let tail = touched.last else {
            parts.insert(new, at: first)
            return true
        }
        for part in touched {
            let common = part.positions.clamped(to: new.positions)
            guard common.isEmpty || part.bytes(at: common) == new.bytes(at: common) else { return false }
        }
        var joined = Part(start: min(head.start, new.start), data: Data())
        if head.start < new.start { joined.data.append(head.bytes(at: head.start..<new.start)) }
        joined.data.append(new.data)
        if tail.positions.upperBound > new.positions.upperBound {
            joined.data.append(tail.bytes(at: new.positions.upperBound..<tail.positions.upperBound))
        }
        parts.replaceSubrange(first..<end, with: [joined])
        return true
    }
}

extension PartialContent.Part {
    /// The bytes at these positions, which the part must contain.
    fileprivate func bytes(at positions: Range<Int>) -> Data {
        let start = data.startIndex + (positions.lowerBound - self.start)
        return data[start..<start + positions.count]
    }
}

/// The header fields of a response that claims to be complete by its status.
extension HTTPHeaders {
    /// Whether a `Content-Range` in bytes states that the content is not complete.
    ///
    /// It has a meaning for the status 206 only (RFC 9110, section 14.4), but some servers send a part with 200. Other units, such
    /// as `items 0-24/319`, are about what the content lists.
    var statesPart: Bool {
        values(for: "Content-Range").contains { value in
            let text = value.lowercased()
            guard text.hasPrefix("bytes"), !text.hasPrefix("bytes */") else { return false }
            guard let range = ContentRange(value), let length = range.completeLength else { return true }
            return range.positions != 0..<length
        }
    }

    /// Whether the response to a request for a part can be the complete content, by all that is known of it.
    ///
    /// Nothing may state a part. A content with the same validator, or without one, has the known length, because one strong
    /// validator has one content (RFC 9110, section 8.8.1).
    ///
    /// - Parameters:
    ///   - length: The length of the content, or `nil` if it is not known.
    ///   - validator: The strong validator of the requested content.
    ///   - knownLength: The length of that content, or `nil` if it is not known.
    /// - Returns: Whether nothing that is known contradicts it.
    func mayBeComplete(length: Int64?, insteadOf validator: String, of knownLength: Int64?) -> Bool {
        guard !statesPart else { return false }
        if let own = StrongValidator(self)?.fieldValue, own.hasPrefix("\"") == validator.hasPrefix("\""),
            !own.utf8.elementsEqual(validator.utf8)
        {
            return true
        }
        return length != nil && length == knownLength
    }
}
