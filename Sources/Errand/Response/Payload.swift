public import Foundation

/// The part of a body that becomes a model: the output of a ``ResponseFilter`` and the input of a
/// ``ResponseFormatter``.
///
/// It is a view on the body's bytes; unwrapping an envelope and following a path copy nothing.
public struct Payload: Sendable {
    /// The bytes, which are a slice of ``root`` if a filter unwrapped them; `startIndex` may not be 0.
    public let data: Data

    /// The whole body.
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

    /// Whether the response has no content because of its status or method; it is read as JSON `null`, or as no bytes.
    var isAbsent = false

    /// The decoder that ``decode(_:at:)`` uses.
    var decoder: any DataDecoder = Self.defaultDecoder
    private static let defaultDecoder: any DataDecoder = JSONDecoder()

    /// Creates a payload from bytes, which need not be JSON.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - root: The whole body, for paths that begin with `~`, or `nil` for the same bytes.
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

    /// Decodes JSON; can be called any number of times.
    ///
    /// - Parameters:
    ///   - type: The type to decode; an Optional accepts `null`, and a response without content (204, 205, to HEAD).
    ///   - path: The path from the payload to the value.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` if the bytes are not JSON, the path does not exist or the value does not fit. An
    ///   error of the type's own `init(from:)` other than `DecodingError` is thrown unchanged.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        // Without content, an Optional is nil, whatever the path; any other type is decoded from null.
        let value = isAbsent && type is any OptionalModel.Type ? Self.nullText : try node(at: path)
        do {
            let foundation = decoder as? JSONDecoder
            if foundation == nil, let lossless = decoder as? LosslessJSONDecoder {
                // Decoding from the bytes would validate them again.
                return try lossless.decode(type, from: value.validatedJSON)
            }
            if type == JSONValue.self, let tree = value.validatedJSON as? T { return tree }
            return try foundation?.withoutJSON5.decode(type, from: value) ?? decoder.decode(type, from: value)
        } catch let error as DecodingError {
            let detail = error.place(decoding: type, from: value, with: decoder)
            throw NetworkError(.model(type: String(describing: type), detail: detail), underlying: error)
        }
    }

    /// Returns the bytes of the value at a path: a slice if the value is contiguous in the body, or new ones if it was
    /// assembled by a range or a `*`.
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

    /// The bytes, indexed from 0: the body itself if they are all of it, or else a copy, which does not keep the rest
    /// of the body in memory.
    var bytes: Data { data.startIndex == 0 && data.count == root.count ? data : Data(data) }

    /// Returns the bytes as text in the charset of the media type, or UTF-8 if it has none.
    ///
    /// - Throws: ``NetworkError`` if the charset is unknown or the bytes are not valid in it.
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
    /// The value of validated bytes.
    @inline(never)
    var validatedJSON: JSONValue { withUnsafeBytes { JSONValue(validated: 0..<$0.count, in: $0) } }
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

/// An Optional, for code that does not know the wrapped type.
private protocol OptionalModel {}

extension Optional: OptionalModel {}

extension DecodingError {
    /// Returns the reason and the path, without any value of the body but a number that does not fit.
    ///
    /// Foundation's decoder reports neither for such a number, so it is found by decoding again.
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
            // This decoder fails for another reason than Foundation's.
        }
        return place
    }

    /// The reason and the path, without any value of the body but a number that does not fit.
    var place: String {
        let (context, what): (Context?, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .valueNotFound(let type, let context): (context, "\(type) expected, null found")
            case .keyNotFound(let key, let context): (context, "no member '\(key.stringValue.shortened(to: 100))'")
            case .dataCorrupted(let context): (context, context.unfitNumber ?? "the value does not fit")
            @unknown default: (nil, "the value does not fit")
            }
        // The keys come from the server, so their number and length are limited.
        let keys = (context?.codingPath ?? []).prefix(50)
        let path = keys.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue.shortened(to: 100))" }.joined()
        return path.isEmpty ? what : "\(what) at \(path.drop { $0 == "." })"
    }
}

extension DecodingError.Context {
    /// The number that does not fit, without its digits if they may be secret, or `nil` for another error.
    fileprivate var unfitNumber: String? {
        guard let unfit = underlyingError as? UnfitNumber else { return nil }
        let name = codingPath.last { $0.intValue == nil }?.stringValue
        let isSecret = name.map { Secrets.usual.isSecret(jsonKey: $0) } ?? false
        return isSecret ? "a number does not fit \(unfit.type)" : "the number \(unfit.text) does not fit \(unfit.type)"
    }
}

extension JSONDecoder {
    /// This decoder, or if it allows JSON5, a copy that doesn't.
    ///
    /// Foundation's scanner for JSON5 can trap, even on valid JSON such as `1e-999999999999999999999`. What is decoded
    /// here has been validated as JSON.
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
