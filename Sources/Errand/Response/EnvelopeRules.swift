internal import Foundation

extension EnvelopeFilter {
    /// The rule that determines whether a response is a success.
    public enum Success: Sendable, Hashable, ExpressibleByArrayLiteral {
        /// Any of these codes; `1` and `"1"` are different.
        case codes(Set<ServiceCode>)
        /// A code whose text is one of these, ignoring case: `["1", "ok"]` matches `1`, `"1"` and `"OK"`.
        case texts(Set<String>)
        /// An accepted status, whatever the code.
        case status

        /// Creates a rule from success codes.
        public init(arrayLiteral codes: ServiceCode...) { self = .codes(Set(codes)) }

        /// Returns whether a code indicates success, or `nil` if codes don't determine it.
        func contains(_ code: ServiceCode) -> Bool? {
            switch self {
            case .codes(let codes): codes.contains(code)
            case .texts(let texts):
                texts.contains(code.description) || texts.contains { $0.lowercased() == code.description.lowercased() }
            case .status: nil
            }
        }
    }

    /// How a response without a code is treated.
    public enum MissingCode: Sendable, Hashable {
        /// It is not an envelope, which is an error.
        case fails
        /// It is an envelope, whose success the status determines.
        case countsByStatus
        /// It is not an envelope: the complete body is the payload, even if it is not an object.
        case isPayload
    }

    /// How a success without data is treated.
    public enum MissingData: Sendable, Hashable {
        /// It is a success whose payload is `null`.
        case isNull
        /// It is an error.
        case fails
        /// It is a success whose payload is the complete body.
        case isPayload
    }

    /// The values of the data that some services send in place of `null`.
    public struct EmptyData: OptionSet, Sendable, Hashable {
        /// The raw bits.
        public let rawValue: Int
        /// Creates a set from raw bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The string `""`.
        public static let string = EmptyData(rawValue: 1)
        /// The array `[]`.
        public static let array = EmptyData(rawValue: 2)
        /// The object `{}`.
        public static let object = EmptyData(rawValue: 4)
        /// The Boolean `false`.
        public static let `false` = EmptyData(rawValue: 8)
        /// The number `0`.
        public static let zero = EmptyData(rawValue: 16)

        /// Whether a value is one of these; reads only a few bytes, and no value that has content.
        func contains(_ payload: Payload) -> Bool {
            guard !isEmpty, let first = payload.data.first, let last = payload.data.last else { return false }
            let isHollow = payload.data.dropFirst().dropLast().allSatisfy { $0 <= 0x20 }
            return switch first {
            case UInt8(ascii: "\""): contains(.string) && payload.data.count == 2
            case UInt8(ascii: "["): contains(.array) && isHollow
            case UInt8(ascii: "{"): contains(.object) && isHollow
            case UInt8(ascii: "f"): contains(.false)
            case UInt8(ascii: "0"): contains(.zero) && last == first && payload.data.count == 1
            default: false
            }
        }
    }
}
