internal import Foundation

/// What the response to a download does to the bytes that were received earlier.
///
/// A pure decision by RFC 9110, sections 14.2 to 15.3.7: bytes of two contents are never combined.
enum DownloadStep: Sendable, Hashable {
    /// The content continues the bytes.
    case append
    /// The content is complete, and replaces the bytes.
    case replace
    /// The bytes are complete already.
    case complete
    /// The bytes don't belong to the content, or nothing confirms it; the request is sent again without a range.
    case discard
    /// The response belongs to no request of this download.
    case reject(NetworkError.Reason)

    /// - Parameters:
    ///   - statusCode: The status of the response.
    ///   - headers: The header fields of the response.
    ///   - isAtPlace: Whether the response comes from the place that the earlier bytes came from.
    ///   - offset: The first position that was requested, or `nil` if all of the content was.
    ///   - record: What is known of the earlier bytes.
    init(statusCode: Int, headers: HTTPHeaders, isAtPlace: Bool, after offset: Int64?, of record: DownloadRecord?) {
        guard !Self.hasNoContent(statusCode) else {
            self = .reject(.status(statusCode))
            return
        }
        guard let offset, let record, let validator = record.validator else {
            let range = headers["Content-Range"] ?? "none"
            self = statusCode == 206 || headers.statesPart ? .reject(.unexpectedRange(range)) : .replace
            return
        }
        switch statusCode {
        case 206:
            let ranges = headers.values(for: "Content-Range")
            guard ranges.count == 1, let range = ContentRange(ranges[0]), headers.hasIdentityCoding,
                isAtPlace, Self.hasValidator(validator, headers),
                Int64(range.positions.lowerBound) == offset,
                // Without it, nothing shows where the content ends.
                let length = range.completeLength.map(Int64.init), record.length ?? length == length
            else {
                self = .discard
                return
            }
            self = .append
        case 416:
            let isSame = isAtPlace && Self.mayHaveValidator(validator, headers)
            self = isSame && Self.length(headers) == offset && record.length ?? offset == offset ? .complete : .discard
        case 200, 203:
            let length = headers.hasIdentityCoding ? headers["Content-Length"].flatMap(DownloadRecord.length) : nil
            let isComplete = headers.mayBeComplete(length: length, insteadOf: validator, of: record.length)
            self = isComplete ? .replace : .discard
        // What is there is worth more than what no request for a part can be answered with.
        default: self = .reject(.status(statusCode))
        }
    }

    /// Whether a response that may be accepted has no content of the resource (RFC 9110, sections 15.3.3, 15.3.5, 15.3.6 and
    /// 15.4.5).
    static func hasNoContent(_ statusCode: Int) -> Bool { [202, 204, 205, 304].contains(statusCode) }

    /// Whether a response has the validator.
    ///
    /// Without one, a server may have ignored `If-Range`.
    private static func hasValidator(_ validator: String, _ headers: HTTPHeaders) -> Bool {
        let field = validator.hasPrefix("\"") ? "ETag" : "Last-Modified"
        let values = headers.values(for: field)
        return values.count == 1 && values[0].utf8.elementsEqual(validator.utf8)
    }

    /// Whether a response without content, which need not have a validator, has no other one.
    private static func mayHaveValidator(_ validator: String, _ headers: HTTPHeaders) -> Bool {
        let isTag = validator.hasPrefix("\"")
        let (tags, dates) = (headers.values(for: "ETag"), headers.values(for: "Last-Modified"))
        return isTag ? tags.isEmpty || tags == [validator] : tags.isEmpty && (dates.isEmpty || dates == [validator])
    }

    /// The complete length that a response with status 416 declares (RFC 9110, section 15.5.17).
    private static func length(_ headers: HTTPHeaders) -> Int64? {
        let ranges = headers.values(for: "Content-Range")
        guard ranges.count == 1, ranges[0].lowercased().hasPrefix("bytes */") else { return nil }
        return Int64(ranges[0].dropFirst(8))
    }
}
