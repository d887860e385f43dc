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

    /// Whether the response has no content by its status or method: JSON that is `null`, and no bytes.
    var isAbsent = false

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
    ///   - type: What to decode; an Optional takes `null`, and a response that has no content (204, 205, to HEAD).
    ///   - path: The way from the payload to the value.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` when the bytes are not JSON, the path leads nowhere or the value does not fit; what
    ///   the type's own `init(from:)` throws beside `DecodingError` is thrown unchanged.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        // An Optional of no content is nil, whatever the path; any other type is decoded from null.
        let value = isAbsent && type is any OptionalModel.Type ? Self.nullText : try node(at: path)
        do {
            let foundation = decoder as? JSONDecoder
            if foundation == nil, let lossless = decoder as? LosslessJSONDecoder {
                // Not from the bytes, which it would validate once more.
                return try lossless.decode(type, from: value.validatedJSON)
            }
            if type == JSONValue.self, let tree = value.validatedJSON as? T { return tree }
            return try foundation?.withoutJSON5.decode(type, from: value) ?? decoder.decode(type, from: value)
        } catch let error as DecodingError {
            let detail = error.place(decoding: type, from: value, with: decoder)
            throw NetworkError(.model(type: String(describing: type), detail: detail), underlying: error)
        }
    }

    /// The bytes of the value at a path: a slice where the value stands in the body, new ones where a range or a `*`
    /// put it together.
    func node(at path: JSONPath) throws -> Data {
        do {
            let data = isAbsent && data.isEmpty ? Self.nullText : data
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

    /// The bytes, indexed from 0: those of the body itself if they are the whole of it, else a copy, which does not keep
    /// the rest of the body in memory.
    var bytes: Data { data.startIndex == 0 && data.count == root.count ? data : Data(data) }

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
        do {
            guard let known = Charset(charset) else { throw Charset.Failure.unknown }
            return try known.text(of: data)
        } catch {
            let isUnknown = error as? Charset.Failure == .unknown
            let detail = isUnknown ? "the charset '\(charset)' is not known" : "the bytes are not \(charset)"
            throw NetworkError(.model(type: "String", detail: detail))
        }
    }
}

extension Data {
    /// The value of bytes that have been validated.
    @inline(never)
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

/// An Optional, in code that does not know of what.
private protocol OptionalModel {}

extension Optional: OptionalModel {}

extension DecodingError {
    /// Where and what, without any value of the body but a number that does not fit.
    ///
    /// Foundation's decoder says neither of such a number: it is looked for by decoding once more.
    fileprivate func place<T: Decodable>(
        decoding type: T.Type,
        from json: Data,
        with decoder: any DataDecoder
    ) -> String {
        guard case .dataCorrupted(let context) = self, context.codingPath.isEmpty,
            let foundation = decoder as? JSONDecoder
        else { return place }
        var exact = JSONValueDecoder(userInfo: foundation.userInfo)
        switch foundation.keyDecodingStrategy {
        case .useDefaultKeys: exact.keys = .asWritten
        case .convertFromSnakeCase: exact.keys = .snakeCase
        default: return place
        }
        do {
            _ = try exact.decode(type, from: json.validatedJSON)
        } catch DecodingError.dataCorrupted(let context) where context.underlyingError is UnfitNumber {
            return DecodingError.dataCorrupted(context).place
        } catch {
            // What this decoder minds is not what Foundation's did.
        }
        return place
    }

    /// Where and what, without any value of the body but a number that does not fit.
    var place: String {
        let (context, what): (Context?, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .valueNotFound(let type, let context): (context, "\(type) expected, null found")
            case .keyNotFound(let key, let context): (context, "no member '\(key.stringValue.shortened(to: 100))'")
            case .dataCorrupted(let context): (context, context.unfitNumber ?? "the value does not fit")
            @unknown default: (nil, "the value does not fit")
            }
        // The keys are a server's; so are their number and length.
        let keys = (context?.codingPath ?? []).prefix(50)
        let path = keys.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue.shortened(to: 100))" }.joined()
        return path.isEmpty ? what : "\(what) at \(path.drop { $0 == "." })"
    }
}

extension DecodingError.Context {
    /// The number that does not fit; `nil` when it is something else, without its digits where they may be a secret.
    fileprivate var unfitNumber: String? {
        guard let unfit = underlyingError as? UnfitNumber else { return nil }
        let name = codingPath.last { $0.intValue == nil }?.stringValue
        let isSecret = name.map { Secrets.usual.isSecret(jsonKey: $0) } ?? false
        return isSecret ? "a number does not fit \(unfit.type)" : "the number \(unfit.text) does not fit \(unfit.type)"
    }
}

extension JSONDecoder {
    /// This decoder, or one like it that reads no JSON5.
    ///
    /// Foundation's scanner for JSON5 can be made to trap, also by valid JSON such as `1e-999999999999999999999`. What is
    /// decoded here has been validated as JSON.
    fileprivate var withoutJSON5: JSONDecoder {
        guard allowsJSON5 else { return self }
        let copy = JSONDecoder()
        copy.dateDecodingStrategy = dateDecodingStrategy
        copy.dataDecodingStrategy = dataDecodingStrategy
        copy.nonConformingFloatDecodingStrategy = nonConformingFloatDecodingStrategy
        copy.keyDecodingStrategy = keyDecodingStrategy
        copy.userInfo = userInfo
        return copy
    }
}
