public import Foundation

/// The part of a body that becomes a model: what a ``ResponseFilter`` hands on to a ``ResponseFormatter``.
///
/// A view on the body's bytes; unwrapping an envelope and walking a path copy nothing.
public struct Payload: Sendable {
    /// The bytes; a slice of ``root`` where a filter unwrapped them, so mind its `startIndex`.
    public let data: Data

    /// The whole body.
    public internal(set) var root: Data

    /// What stood around the bytes; `nil` unless a filter opened an envelope.
    public internal(set) var envelope: Envelope?

    /// The media type of the answer; `nil` when it states none.
    public var mediaType: MediaType? { contentType.flatMap(MediaType.init) }

    /// The value of the `Content-Type` field; looked up and taken apart only by who asks.
    var contentType: String? {
        get { ownContentType ?? headers?["Content-Type"] }
        set { ownContentType = newValue }
    }

    private var ownContentType: String?

    /// The fields of the answer, where the payload names no type of its own.
    var headers: HTTPHeaders?

    /// Whether the JSON guard has read the bytes already, or they were found by it.
    var isGuarded: Bool

    /// How ``decode(_:at:)`` makes values of JSON.
    var decoder: any DataDecoder = Self.defaultDecoder
    private static let defaultDecoder: any DataDecoder = JSONDecoder()

    /// A payload of these bytes, which need not be JSON.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - root: The whole body, for paths that begin with `~`; `nil` means the same bytes.
    ///   - mediaType: `nil` means that of the answer.
    public init(_ data: Data, root: Data? = nil, mediaType: MediaType? = nil) {
        self.init(data, root: root ?? data, contentType: mediaType?.description, isGuarded: false)
    }

    init(_ data: Data, root: Data, contentType: String?, isGuarded: Bool) {
        self.data = data
        self.root = root
        ownContentType = contentType
        self.isGuarded = isGuarded
    }

    /// Decodes JSON, any number of times.
    ///
    /// - Parameters:
    ///   - type: What to decode; an Optional takes `null`.
    ///   - path: The way from the payload to the value.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` when the bytes are not JSON, the path leads nowhere or the value does not fit; what
    ///   the type's own `init(from:)` throws beside `DecodingError` is thrown unchanged.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        let value = try node(at: path)
        do {
            if let lossless = decoder as? LosslessJSONDecoder {
                // Not from the bytes, which it would validate once more.
                return try lossless.decode(type, from: value.validatedJSON)
            }
            if type == JSONValue.self, let tree = value.validatedJSON as? T { return tree }
            return try decoder.decode(type, from: value)
        } catch let error as DecodingError {
            throw NetworkError(.model(type: String(describing: type), detail: error.place), underlying: error)
        }
    }

    /// The bytes of the value at a path: a slice where the value stands in the body, new ones where a range or a `*`
    /// put it together.
    func node(at path: JSONPath) throws -> Data {
        do {
            guard !path.isPayload else {
                if !isGuarded { try JSONGuard.check(data) }
                return data
            }
            let text = try path.get().anchor == .root ? root : data
            if !isGuarded { try JSONGuard.check(text) }
            let match = text.withUnsafeBytes { bytes in
                Result { () throws(JSONError) in try path.range(in: bytes) }
            }
            switch try match.get() {
            case .range(let range): return text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound]
            case .assembled(let bytes): return Data(bytes)
            }
        } catch {
            throw NetworkError(error.isAboutPath ? .path(error) : .invalidJSON(error), underlying: error)
        }
    }

    /// The bytes as text, by the charset of the media type; UTF-8 when it names none.
    ///
    /// - Throws: ``NetworkError`` when the charset is unknown or the bytes do not fit it.
    public func text() throws -> String {
        guard let charset = mediaType?.charset, charset != "utf-8", charset != "utf8" else {
            guard let text = String(validating: data, as: UTF8.self) else {
                throw NetworkError(.model(type: "String", detail: "the bytes are not UTF-8"))
            }
            return text
        }
        // Some encodings are only names on some platforms: they cannot even spell a letter there.
        guard let encoding = String.Encoding(charset: charset), "a".data(using: encoding) != nil else {
            throw NetworkError(.model(type: "String", detail: "the charset '\(charset)' is not known"))
        }
        guard let text = String(data: data, encoding: encoding) else {
            throw NetworkError(.model(type: "String", detail: "the bytes are not \(charset)"))
        }
        return text
    }
}

/// Reads a body before anything decodes it: Foundation's decoder can be made to trap by a hostile one.
enum JSONGuard {
    /// What is refused.
    enum Strictness: Sendable {
        /// What follows guards itself, or decodes nothing.
        case nothing
        /// Code of the user's own follows, which may decode the body or read something that is no JSON at all: only
        /// what could end the process is refused.
        case traps
        /// Whatever is not JSON.
        case everything

        /// What the reader of the body makes necessary: the formatter behind a filter that passes it on, else the filter.
        init(_ filter: any ResponseFilter, before formatter: some ResponseFormatter) {
            if type(of: filter) != PassthroughFilter.self {
                self = filter.guardsItself ? .nothing : .traps
            } else if formatter.readsJSON {
                self = .everything
            } else {
                self = formatter.guardsItself ? .nothing : .traps
            }
        }
    }

    /// Returns whether the body is known to be sound JSON.
    static func check(_ data: Data, against strictness: Strictness) throws(JSONError) -> Bool {
        guard strictness != .nothing else { return false }
        do throws(JSONError) {
            try check(data)
            return true
        } catch {
            if strictness == .traps, !isTooDeep(error), !mayNestTooDeep(data) { return false }
            throw error
        }
    }

    private static func isTooDeep(_ error: JSONError) -> Bool {
        if case .tooDeep = error.reason { true } else { false }
    }

    /// Whether a decoder that reads on where the guard stops could still find more levels than Foundation survives.
    ///
    /// Foundation takes byte order marks, UTF-16 and trailing commas, and looks into strings and numbers only later. So
    /// all brackets count, in a body that begins like JSON in any encoding.
    private static func mayNestTooDeep(_ data: Data) -> Bool {
        guard let first = data.first(where: { !" \t\r\n".utf8.contains($0) }),
            [0x5B, 0x7B, 0x00, 0xEF, 0xFE, 0xFF].contains(first)
        else { return false }
        var count = 0
        for byte in data where byte == 0x5B || byte == 0x7B { count += 1 }
        return count > 512
    }

    static func check(_ data: Data) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(JSONError) in try JSONScanner.validate(bytes) }
        }
        _ = try result.get()
    }
}

extension Data {
    /// The value of bytes that have been validated.
    var validatedJSON: JSONValue { withUnsafeBytes { JSONValue(validated: 0..<$0.count, in: $0) } }
}

extension JSONError {
    /// Whether the text is sound and the path leads nowhere in it.
    var isAboutPath: Bool {
        switch reason {
        case .missing, .null, .typeMismatch, .indexOutOfRange, .pathSyntax: true
        default: false
        }
    }
}

extension DecodingError {
    /// Where and what, without any value of the body.
    var place: String {
        let (context, what): (Context?, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .valueNotFound(let type, let context): (context, "\(type) expected, null found")
            case .keyNotFound(let key, let context): (context, "no member '\(key.stringValue)'")
            case .dataCorrupted(let context): (context, "the value does not fit")
            @unknown default: (nil, "the value does not fit")
            }
        let path = (context?.codingPath ?? []).map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return path.isEmpty ? what : "\(what) at \(path.drop { $0 == "." })"
    }
}

extension String.Encoding {
    /// The encoding of a charset name in lower case (IANA), or `nil` when it is not among those known here.
    init?(charset: String) {
        switch charset {
        case "utf-8", "utf8": self = .utf8
        case "us-ascii", "ascii": self = .ascii
        case "iso-8859-1", "latin1": self = .isoLatin1
        case "iso-8859-2", "latin2": self = .isoLatin2
        case "windows-1250", "cp1250": self = .windowsCP1250
        case "windows-1251", "cp1251": self = .windowsCP1251
        case "windows-1252", "cp1252": self = .windowsCP1252
        case "windows-1253", "cp1253": self = .windowsCP1253
        case "windows-1254", "cp1254": self = .windowsCP1254
        case "utf-16": self = .utf16
        case "utf-16le": self = .utf16LittleEndian
        case "utf-16be": self = .utf16BigEndian
        case "utf-32": self = .utf32
        case "utf-32le": self = .utf32LittleEndian
        case "utf-32be": self = .utf32BigEndian
        case "shift_jis", "shift-jis", "sjis": self = .shiftJIS
        case "euc-jp": self = .japaneseEUC
        case "iso-2022-jp": self = .iso2022JP
        case "macintosh": self = .macOSRoman
        default: return nil
        }
    }
}
