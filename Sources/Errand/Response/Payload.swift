public import Foundation

/// The part of a body that becomes a model: the output of a ``ResponseFilter`` and the input of a
/// ``ResponseFormatter``.
///
/// It is a view on the body's bytes; unwrapping an envelope and following a path copy nothing.
public struct Payload: Sendable {
    /// The bytes, which are a slice of ``root`` if a filter unwrapped them; `startIndex` may not be 0.
    public let data: Data

    /// The complete body.
    public internal(set) var root: Data

    /// The members around the bytes, or `nil` if no filter unwrapped an envelope.
    public internal(set) var envelope: Envelope?

    /// The media type of the response, or `nil` if it has none.
    public var mediaType: MediaType? { contentType.flatMap(MediaType.init) }

    /// The value of the `Content-Type` field, which is looked up and parsed only on access.
    var contentType: String? {
        get { ownContentType ?? headers?["Content-Type"] }
        set { ownContentType = newValue }
    }

    private var ownContentType: String?

    /// The header fields of the response, used if the payload has no type of its own.
    var headers: HTTPHeaders?

    /// Whether the JSON guard has checked the bytes, or they were found by it.
    var isGuarded: Bool

    /// The index in which the bytes are the value of a word, for the first ``decode(_:at:)``.
    var indexed: (index: JSONIndexed, word: Int)?

    /// A record of what ``decode(_:at:)`` reads, or `nil` if nobody needs it.
    var reads: JSONReads?

    /// Whether the response has no content; it is read as JSON `null`, or as no bytes.
    var isAbsent = false

    /// Whether the envelope has no data, for which the payload is `null`.
    var isMissing = false

    /// The result of a receiver for a body that is not in memory, or the receiver itself if the body is in memory; `nil` for a
    /// request without a receiver.
    var received: (any Sendable)?

    /// How ``decode(_:at:)`` decodes.
    var decoding = Decoding.usual
    /// The decoder that ``decode(_:at:)`` uses.
    var decoder: any DataDecoder {
        get { decoding.decoder }
        set { decoding = Decoding(newValue) }
    }

    /// A decoder behind one reference, because each response has it.
    final class Decoding: Sendable {
        let decoder: any DataDecoder
        /// The decoder, if it is the library's.
        let own: LosslessJSONDecoder?

        /// The library default.
        static let usual = Decoding(LosslessJSONDecoder())

        init(_ decoder: any DataDecoder) {
            (self.decoder, own) = (decoder, decoder as? LosslessJSONDecoder)
        }
    }

    /// Creates a payload from bytes, which need not be JSON.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - root: The complete body, for paths that begin with `~`, or `nil` for the same bytes.
    ///   - mediaType: The media type, or `nil` for the response's.
    public init(_ data: Data, root: Data? = nil, mediaType: MediaType? = nil) {
        self.init(data, root: root ?? data, contentType: mediaType?.description, isGuarded: false)
    }

    init(_ data: Data, root: Data, contentType: String?, isGuarded: Bool) {
        self.data = data
        self.root = root
        ownContentType = contentType
        self.isGuarded = isGuarded
    }

    /// The bytes, indexed from 0: the body itself if they are all of it, or else a copy, which does not keep the rest
    /// of the body in memory.
    var bytes: Data { data.startIndex == 0 && data.count == root.count ? data : Data(data) }

    /// Returns the bytes as text in the charset of the media type, or UTF-8 if it has none, without a byte order mark.
    ///
    /// - Throws: ``NetworkError`` if the charset is unknown or the bytes are not valid in it.
    public func text() throws -> String { try Charset.text(of: data, in: mediaType?.charset) }
}

extension Data {
    /// The value of validated bytes.
    @inline(never)
    var validatedJSON: JSONValue { (try? JSONValue(parsing: self, maximumDepth: JSONDepth.maximum)) ?? .null }
}

extension JSONError {
    /// Whether the text is valid and the path does not exist in it.
    var isAboutPath: Bool {
        switch reason {
        case .missing, .null, .typeMismatch, .indexOutOfRange, .pathSyntax: true
        default: false
        }
    }
}
