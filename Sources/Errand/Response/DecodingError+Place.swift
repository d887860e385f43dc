internal import Foundation

extension DecodingError {
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
    /// - Returns: A fragment without a period.
    func place() -> String {
        let what =
            switch self {
            case .typeMismatch(let type, let context):
                "expected \(Self.words(for: type))" + ((context.underlyingError as? JSONError)?.found ?? "")
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
}

extension JSONError {
    /// What the library's decoder found in place of another type, after a comma.
    fileprivate var found: String? {
        if case .typeMismatch(_, let found) = reason { ", found \(found)" } else { nil }
    }
}
