internal import Foundation

/// What a request selects of a stored response: all of it, the range that it requests, or nothing (RFC 9110, section 14.2;
/// RFC 9111, section 3.3).
enum RangeSelection: Sendable, Equatable {
    /// The complete stored response.
    case whole
    /// The bytes at these positions, of a content of this length.
    case part(Range<Int>, completeLength: Int)
    /// None: the content of this length has no byte of the range.
    case unsatisfiable(completeLength: Int)
    /// Bytes are missing; with these fields a request completes what is stored, if there are any.
    case incomplete(continuation: HTTPHeaders)

    /// Creates the selection of a GET request, or of any other request without a range.
    ///
    /// - Parameters:
    ///   - entry: The stored response.
    ///   - request: The header fields of the request.
    init(of entry: CacheEntry, by request: HTTPHeaders) {
        let parts = entry.parts
        guard let range = request["Range"].flatMap({ ByteRange($0) }) else {
            self = entry.statusCode == 206 ? .incomplete(continuation: parts?.continuation ?? [:]) : .whole
            return
        }
        // A field that names another content makes the range irrelevant (RFC 9110, section 13.1.5).
        let isOther = request["If-Range"].map { entry.validator?.matches(ifRange: $0) != true } ?? false
        guard entry.statusCode == 200 || entry.statusCode == 206 else {
            self = .whole
            return
        }
        if entry.statusCode == 200, isOther {
            self = .whole
            return
        }
        let length = entry.statusCode == 200 ? entry.body.count : parts?.completeLength
        // The positions of a range count encoded bytes, and the body has been decoded.
        guard !isOther, entry.headers.hasIdentityCoding, let length else {
            self = .incomplete(continuation: [:])
            return
        }
        guard let positions = range.positions(in: length) else {
            self = .unsatisfiable(completeLength: length)
            return
        }
        let isStored = entry.statusCode == 200 || parts?.data(at: positions) != nil
        self =
            isStored ? .part(positions, completeLength: length) : .incomplete(continuation: [:])
    }

    /// Whether a stored response can be used.
    var isAvailable: Bool { if case .incomplete = self { false } else { true } }
}

extension CacheEntry {
    /// The parts of an incomplete response, or `nil` if it is complete.
    var parts: PartialContent? {
        PartialContent(statusCode: statusCode, headers: headers, body: body, isWeak: isWeak)
    }

    /// The validator that shows that a content is the same, byte by byte; `nil` if there is none.
    var validator: StrongValidator? { isWeak ? nil : StrongValidator(headers) }

    /// Whether the response to a request for a part of this one can be the complete content.
    func mayBeReplaced(by response: RawResponse) -> Bool {
        guard let validator, let known = statusCode == 206 ? parts?.completeLength : body.count else {
            return !response.headers.statesPart
        }
        let length = Int64(response.body.count)
        return response.headers.mayBeComplete(length: length, insteadOf: validator.fieldValue, of: Int64(known))
    }

    /// Returns the response to a request that selects a part of this one, or `nil` if it has too little, or its URL is
    /// invalid (RFC 9110, sections 15.3.7 and 15.5.17).
    func response(for url: URL, by request: HTTPHeaders) -> RawResponse? {
        guard statusCode == 206 || request.contains("Range") else { return response(for: url) }
        guard var response = response(for: url) else { return nil }
        switch RangeSelection(of: self, by: request) {
        case .whole: return response
        case .incomplete: return nil
        case .unsatisfiable(let length):
            response.statusCode = 416
            response.headers["Content-Range"] = "bytes */\(length)"
            response.body = Data()
            response.headers["Content-Type"] = nil
        case .part(let positions, let length):
            response.statusCode = 206
            response.headers["Content-Range"] = ContentRange(positions, of: length).description
            let start = body.startIndex + positions.lowerBound
            // A copy: a small part must not keep the complete content in memory.
            response.body =
                statusCode == 200
                ? Data(body[start..<start + positions.count]) : parts?.data(at: positions).map { Data($0) } ?? Data()
        }
        response.headers["Content-Length"] = String(response.body.count)
        return response
    }

    /// The maximum size of parts that are combined: each new one rewrites them all.
    static let maximumPartsSize = 32 << 20

    /// Returns an incomplete response with the parts that an older one adds to it, or any other response unchanged (RFC
    /// 9111, section 3.4).
    ///
    /// If no byte is missing any more, the result is a complete response with the status 200. Parts of two resources are
    /// never combined: their validators may be equal by chance.
    ///
    /// - Returns: The response, or `nil` if the older one is complete, and seems to belong to another resource, or is encoded
    ///   and seems to be current.
    func completed(by older: CacheEntry?) -> CacheEntry? {
        guard let own = parts else { return self }
        var older = older
        if let entry = older, entry.location != location {
            // A part is stored only without a redirect, so its URL can differ by a signature only.
            let isSame = URL(reference: location).map(entry.isStored) ?? false
            if entry.statusCode == 200 {
                return entry.validator == own.validator ? nil : completed(by: nil)
            }
            if !isSame { older = nil }
        }
        if let older, older.statusCode == 200, !older.headers.hasIdentityCoding, !isKnownToDiffer(from: older) {
            return nil
        }
        let limit = max(Self.maximumPartsSize, older?.body.count ?? 0)
        let combined = older?.partsOrWhole?.combined(with: own)
        // A complete content is stored once.
        let all = combined.flatMap { $0.byteCount <= limit || $0.completeContent != nil ? $0 : nil }
        var result = self
        if all != nil, let older { result.headers = CacheControl.updating(older.headers, with: headers) }
        result.headers["Content-Range"] = nil
        // That of the response counts the bytes of its part.
        result.headers["Content-Length"] = nil
        if let content = (all ?? own).completeContent {
            result.statusCode = 200
            result.body = content
            result.headers["Content-Length"] = String(content.count)
        } else {
            result.body = (all ?? own).body
            for value in (all ?? own).fieldValues { result.headers.add("Content-Range", value) }
        }
        return result
    }

    /// Whether the dates of modification show that this response is of another content than an older one.
    ///
    /// Entity tags do not: two codings of one content have different ones (RFC 9110, section 8.8.3.3).
    private func isKnownToDiffer(from older: CacheEntry) -> Bool {
        guard let own = headers["Last-Modified"], let other = older.headers["Last-Modified"] else { return false }
        return own != other
    }

    /// The parts of an incomplete response, or a complete one as its only part.
    private var partsOrWhole: PartialContent? {
        guard statusCode == 200, !body.isEmpty else { return parts }
        var headers = headers
        headers["Content-Range"] = ContentRange(0..<body.count, of: body.count).description
        return PartialContent(statusCode: 206, headers: headers, body: body, isWeak: isWeak)
    }
}
