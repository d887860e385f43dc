public import Foundation

extension Payload {
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
            if let foundation { return try foundation.withoutJSON5.decode(type, from: value) }
            return try decoder.decode(type, from: value)
        } catch let error as DecodingError {
            let secrets = secrets?.value ?? .usual
            let names = path.names + (envelope?.dataNames ?? [])
            let isSecret = names.contains { secrets.isSecret(jsonKey: $0) }
            var detail = error.place(
                decoding: type,
                from: value,
                with: decoder,
                hiding: isSecret ? nil : secrets
            )
            if path.isPayload, root.count == data.count, let member = error.memberOfEnvelope(in: value) {
                detail +=
                    "; the body has a member '\(member)': if that is the payload, give the service an EnvelopeFilter"
            }
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
            guard error.isAboutPath else { throw NetworkError(.invalidJSON(error), underlying: error) }
            throw NetworkError(.path(error), underlying: error).with(note: "\(path)".shortened(to: 200))
        }
    }
}

extension NetworkError {
    /// Decodes the body of the response that caused the error, such as the problem details of a 422.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - path: The path from the body to the value.
    ///   - decoder: The decoder, or `nil` for a `JSONDecoder`.
    /// - Returns: The value, or `nil` if the error has no response.
    /// - Throws: ``NetworkError`` if the body is not JSON, was longer than ``maximumBodyByteCount``, or does not fit; or an
    ///   error of the type's own `init(from:)`.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        at path: JSONPath = .payload,
        decoder: (any DataDecoder)? = nil
    ) throws -> T? {
        guard let response else { return nil }
        var payload = Payload(response.body)
        if let decoder { payload.decoder = decoder }
        return try payload.decode(type, at: path)
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
        with decoder: any DataDecoder,
        hiding secrets: Secrets?
    ) -> String {
        guard case .dataCorrupted(let context) = self, context.codingPath.isEmpty,
            let foundation = decoder as? JSONDecoder
        else { return place(hiding: secrets) }
        var exact = JSONValueDecoder(userInfo: foundation.userInfo)
        switch foundation.keyDecodingStrategy {
        case .useDefaultKeys: exact.keys = .asWritten
        case .convertFromSnakeCase: exact.keys = .snakeCase
        default: return place(hiding: secrets)
        }
        do {
            _ = try exact.decode(type, from: json.validatedJSON)
        } catch DecodingError.dataCorrupted(let context) where context.underlyingError is UnfitNumber {
            return DecodingError.dataCorrupted(context).place(hiding: secrets)
        } catch {
            // This decoder fails for another reason than Foundation's.
        }
        return place(hiding: secrets)
    }

    /// The usual name of a payload that the top level of a body has in place of a member that is missing, or `nil`.
    fileprivate func memberOfEnvelope(in json: Data) -> String? {
        guard case .keyNotFound(_, let context) = self, context.codingPath.isEmpty,
            case .object(let members)? = try? JSONValue(parsing: json)
        else { return nil }
        return ["data", "result", "payload", "response"].first { members[$0] != nil }
    }

    /// The reason and the path, without any value of the body but a number that does not fit.
    ///
    /// - Parameter secrets: The names of the members whose numbers are left out, with all that is in them; `nil` for every
    ///   number.
    /// - Returns: Some words without a period.
    func place(hiding secrets: Secrets? = .usual) -> String {
        let (context, what): (Context?, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .valueNotFound(let type, let context): (context, "\(type) expected, null found")
            case .keyNotFound(let key, let context): (context, "no member '\(key.stringValue.shortened(to: 100))'")
            case .dataCorrupted(let context):
                (context, context.unfitNumber(hiding: secrets) ?? "the value does not fit")
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
    fileprivate func unfitNumber(hiding secrets: Secrets?) -> String? {
        guard let unfit = underlyingError as? UnfitNumber else { return nil }
        let isSecret = secrets.map { secrets in
            codingPath.contains { $0.intValue == nil && secrets.isSecret(jsonKey: $0.stringValue) }
        }
        let number = isSecret == false ? "the number \(unfit.text)" : "a number"
        return "\(number) does not fit \(unfit.type)"
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

/// A type that decodes values from bytes, such as `JSONDecoder`.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: JSON that passed the library's JSON guard.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, which is converted to a ``NetworkError``, or an error that reaches the caller
    ///   unchanged.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// Foundation's decoder, with the strategies that are set on it.
extension JSONDecoder: DataDecoder {}
