internal import Foundation

extension Payload {
    /// Decodes JSON; can be called any number of times.
    ///
    /// - Parameters:
    ///   - type: The type to decode; an Optional accepts `null`, and an accepted response without content.
    ///   - path: The path from the payload to the value.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` if the bytes are not JSON, the path does not exist or the value does not fit. An
    ///   error of the type's own `init(from:)` other than `DecodingError` is thrown unchanged.
    public func decode<T: Decodable>(_ type: T.Type, at path: JSONPath = .payload) throws -> T {
        // Without content, an Optional is nil, whatever the path; any other type is decoded from null.
        let value = isAbsent && type is any OptionalModel.Type ? Self.nullText : try node(at: path)
        do {
            if let own = decoding.own {
                if path.isPayload, let (index, word) = indexed,
                    let model = try own.decode(type, word, of: index, noting: reads)
                {
                    return model
                }
                return try own.decode(type, from: value, noting: reads, after: before(value))
            }
            if type == JSONValue.self, let tree = value.validatedJSON as? T { return tree }
            if let foundation = decoder as? JSONDecoder {
                return try foundation.withoutJSON5.decode(type, from: value)
            }
            return try decoder.decode(type, from: value)
        } catch let error as DecodingError {
            var detail = absence(at: path) ?? error.place()
            if path.isPayload, root.count == data.count, let member = error.memberOfEnvelope(in: value) {
                detail +=
                    "; the body has a member '\(member)': if that is the payload, give the service an EnvelopeFilter"
            }
            throw NetworkError(.model(type: String(describing: type), detail: detail), underlying: error)
        }
    }

    /// What precedes a value in the body, or `nil` if the value is not a part of it.
    private func before(_ value: Data) -> Data? {
        let offset = root.withUnsafeBytes { root in
            value.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) &- UInt(bitPattern: root.baseAddress) }
        }
        return offset < root.count ? root.prefix(Int(offset)) : nil
    }

    /// Why there is nothing to decode, and what to do, or `nil` if there is something.
    private func absence(at path: JSONPath) -> String? {
        if isAbsent { return "the response has no content; the model may be an Optional or Void" }
        guard isMissing, path.isPayload, let envelope else { return nil }
        return "the envelope has no member '\(envelope.dataPath)'; the model may be an Optional or Void"
    }

    /// Returns the bytes of the value at a path: a slice if the value is contiguous in the body, or new ones if it was
    /// assembled by a range or a `*`.
    func node(at path: JSONPath) throws -> Data {
        do {
            let data = isAbsent && data.isEmpty ? Self.nullText : data
            guard !path.isPayload else { return isGuarded ? data : try JSONGuard.check(data) ?? data }
            var text = try path.get().anchor == .root ? root : data
            if !isGuarded { text = try JSONGuard.check(text) ?? text }
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
    ///   - decoder: The decoder, or `nil` for that of the request's service or config.
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
        if let decoder = decoder ?? details.value.decoder { payload.decoder = decoder }
        return try payload.decode(type, at: path)
    }
}

/// An Optional, for code that does not know the wrapped type.
private protocol OptionalModel {}

extension Optional: OptionalModel {}

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
