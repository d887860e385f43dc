internal import Foundation

extension DecodingError {
    /// Returns the reason and the path, without any value of the body.
    ///
    /// Foundation's decoder reports neither for a number that does not fit, so it is found by decoding again.
    func place<T: Decodable>(
        decoding type: T.Type,
        from json: Data,
        with decoder: any DataDecoder
    ) -> String {
        // Another decoder may have read something else.
        guard decoder is JSONDecoder || decoder is LosslessJSONDecoder else { return place() }
        var advice = ""
        if let foundation = decoder as? JSONDecoder, let exact = foundation.exact {
            switch self {
            case .dataCorrupted(let context) where context.codingPath.isEmpty:
                if case .dataCorrupted(let context)? = exact.failure(decoding: type, from: json),
                    context.underlyingError is UnfitNumber
                {
                    return DecodingError.dataCorrupted(context).place()
                }
            case .typeMismatch(let expected, _) where expected == Double.self:
                // A Date is read from a number by one strategy and from a string by another, so a failure proves nothing.
                if (try? exact.decode(type, from: json)) != nil {
                    advice = "; a Date in ISO 8601 needs a LosslessJSONDecoder, or a JSONDecoder with that strategy"
                }
            default: break
            }
        }
        return place(in: json) + advice
    }

    /// The usual name of a payload that the top level of a body has in place of a member that is missing, or `nil`.
    func memberOfEnvelope(in json: Data) -> String? {
        guard case .keyNotFound(_, let context) = self, context.codingPath.isEmpty,
            case .object(let members)? = try? JSONValue(parsing: json)
        else { return nil }
        return ["data", "result", "payload", "response"].first { members[$0] != nil }
    }

    /// The reason and the path, without any value of the body.
    ///
    /// In the path, the keys of a dictionary come from the server.
    ///
    /// - Parameter json: The validated bytes that were decoded, or `nil` if they are not known.
    /// - Returns: A fragment without a period.
    func place(in json: Data? = nil) -> String {
        let what =
            switch self {
            case .typeMismatch(let type, let context):
                "expected \(Self.words(for: type))" + Self.found(context.codingPath, in: json)
            case .valueNotFound(let type, _): "expected \(Self.words(for: type)), found null"
            case .keyNotFound(let key, _): "no member '\(key.stringValue.shortened(to: 100))'"
            default:
                (context?.underlyingError as? UnfitNumber).map { "a number does not fit \($0.type)" }
                    ?? "the value does not fit"
            }
        // The keys come from the server, so their number and length are limited.
        let keys = (context?.codingPath ?? []).prefix(50)
        let path = keys.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue.shortened(to: 100))" }.joined()
        return path.isEmpty ? what : "\(what) at \(path.drop { $0 == "." })"
    }

    private var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }

    /// Returns the JSON type that a decoder expects for a type, or the type's name.
    private static func words(for type: any Any.Type) -> String {
        switch type {
        case is any FixedWidthInteger.Type: "an integer"
        case is any BinaryFloatingPoint.Type, is Decimal.Type, is JSONNumber.Type: JSONType.number.phrase
        case is String.Type: JSONType.string.phrase
        case is Bool.Type: JSONType.bool.phrase
        case is [String: Any].Type, is [String: JSONValue].Type, is JSONObject.Type: JSONType.object.phrase
        case is [Any].Type, is [JSONValue].Type: JSONType.array.phrase
        default: "\(type)"
        }
    }

    /// Returns what is at a coding path of validated bytes, after a comma, or nothing if its names are not the JSON's.
    private static func found(_ codingPath: [any CodingKey], in json: Data?) -> String {
        let steps = codingPath.map { key in
            key.intValue.map(JSONPath.Step.element) ?? .member(JSONName(key.stringValue))
        }
        let type = json?.withUnsafeBytes { bytes -> JSONType? in
            guard case .range(let range)? = try? JSONPath(steps: steps).range(in: bytes) else { return nil }
            return bytes[range].first { !" \t\r\n".utf8.contains($0) }.flatMap(JSONType.init)
        }
        return type.flatMap(\.self).map { ", found \($0.phrase)" } ?? ""
    }
}

extension JSONDecoder {
    /// A decoder with the same keys whose errors have more details, or `nil` if there is none.
    fileprivate var exact: LosslessJSONDecoder? {
        var exact = LosslessJSONDecoder()
        exact.userInfo = userInfo
        switch keyDecodingStrategy {
        case .useDefaultKeys: exact.keys = .asWritten
        case .convertFromSnakeCase: exact.keys = .snakeCase
        default: return nil
        }
        return exact
    }
}

extension LosslessJSONDecoder {
    /// Returns the error of decoding a type from validated bytes, or `nil` if there is none, or one of another kind.
    fileprivate func failure<T: Decodable>(decoding type: T.Type, from json: Data) -> DecodingError? {
        do {
            _ = try decode(type, from: json)
            return nil
        } catch {
            return error as? DecodingError
        }
    }
}
