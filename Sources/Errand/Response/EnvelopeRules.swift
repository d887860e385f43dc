internal import Foundation

extension EnvelopeFilter {
    /// What makes an answer a success.
    public enum Success: Sendable, Hashable, ExpressibleByArrayLiteral {
        /// One of these codes; `1` and `"1"` are two.
        case codes(Set<ServiceCode>)
        /// A code that reads like one of these texts, in whatever case: `["1", "ok"]` takes `1`, `"1"` and `"OK"`.
        case texts(Set<String>)
        /// An accepted status, whatever the code.
        case status

        /// These codes.
        public init(arrayLiteral codes: ServiceCode...) { self = .codes(Set(codes)) }

        /// Whether a code means success; `nil` where no code does.
        func contains(_ code: ServiceCode) -> Bool? {
            switch self {
            case .codes(let codes): codes.contains(code)
            case .texts(let texts):
                texts.contains(code.description) || texts.contains { $0.lowercased() == code.description.lowercased() }
            case .status: nil
            }
        }
    }

    /// What an answer without a code is.
    public enum MissingCode: Sendable, Hashable {
        /// No envelope, and an error.
        case fails
        /// An envelope all the same, which counts by its status.
        case countsByStatus
        /// No envelope: the whole body is the payload, also when it is no object.
        case isPayload
    }

    /// What a success without data is.
    public enum MissingData: Sendable, Hashable {
        /// A success whose payload is `null`.
        case isNull
        /// An error.
        case fails
        /// A success whose payload is the whole body.
        case isPayload
    }

    /// Values of the data that some services send in place of `null`.
    public struct EmptyData: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int
        /// Takes the bits.
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

        /// Whether a value is one of these; looks at few bytes, and never into anything that has content.
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
