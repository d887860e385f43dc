internal import Foundation

/// Scalars.
extension JSONRun {
    @inline(__always)
    func bool(_ word: Int) throws -> Bool {
        switch index.kind(word) {
        case .true: true
        case .false: false
        default: try scalar(Bool.self, word)
        }
    }

    @inline(__always)
    func string(_ word: Int) throws -> String {
        let kind = index.kind(word)
        return kind == .string || kind == .escapedString ? text(word) : try scalar(String.self, word)
    }

    @inline(__always)
    func integer<I: FixedWidthInteger & JSONScalar>(_ type: I.Type, _ word: Int) throws -> I {
        if index.kind(word) == .number, let small = Self.smallInteger(bytes(word)), let value = I(exactly: small) {
            return value
        }
        return try scalar(type, word)
    }

    func double(_ word: Int) throws -> Double {
        if index.kind(word) == .number, let exact = Self.exactDouble(bytes(word)) { return exact }
        return try scalar(Double.self, word)
    }

    /// A `Float` is the nearest to the text, and not to the nearest `Double`; where that is exact, both are the same.
    func float(_ word: Int) throws -> Float {
        if index.kind(word) == .number, let small = Self.smallInteger(bytes(word)), abs(small) < 1 << 24, small != 0 {
            return Float(small)
        }
        return try scalar(Float.self, word)
    }

    /// The value of a number without a fraction and an exponent, of at most 18 digits.
    @inline(__always)
    private static func smallInteger(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = bytes[0] == UInt8(ascii: "-")
        guard bytes.count <= 18 else { return nil }
        var value: Int64 = 0
        for index in (isNegative ? 1 : 0)..<bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int64(digit)
        }
        return isNegative ? 0 &- value : value
    }

    /// The value of a number whose digits and power of ten are exact as a `Double`, so that one operation rounds correctly.
    private static func exactDouble(_ bytes: UnsafeRawBufferPointer) -> Double? {
        var index = bytes[0] == UInt8(ascii: "-") ? 1 : 0
        let isNegative = index == 1
        var (digits, scale) = (UInt64(0), 0)
        guard bytes.count <= 19 else { return nil }
        while index < bytes.count, case let digit = bytes[index] &- UInt8(ascii: "0"), digit <= 9 {
            digits = digits &* 10 &+ UInt64(digit)
            index &+= 1
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index &+= 1
            while index < bytes.count, case let digit = bytes[index] &- UInt8(ascii: "0"), digit <= 9 {
                digits = digits &* 10 &+ UInt64(digit)
                scale &+= 1
                index &+= 1
            }
        }
        guard index == bytes.count, digits <= 1 << 53, scale < powers.count else { return nil }
        let value = Double(digits) / powers[scale]
        return isNegative ? -value : value
    }

    private static let powers: [Double] = (0...22).map { power in (0..<power).reduce(1) { value, _ in value * 10 } }

    func date(_ word: Int) throws -> Date {
        switch options.dates {
        case .secondsSince1970 where index.kind(word) == .number:
            if let seconds = Self.exactDouble(bytes(word)) { return Date(timeIntervalSince1970: seconds) }
        case .custom(let format): return try formatted(format, word)
        default: break
        }
        return try scalar(Date.self, word)
    }

    func data(_ word: Int) throws -> Data {
        switch options.data {
        case .base64: return try scalar(Data.self, word)
        case .bytes: return Data(try decode([UInt8].self, word))
        case .custom(let format): return try formatted(format, word)
        }
    }

    private func formatted<Value>(_ format: JSONFormat<Value>, _ word: Int) throws -> Value {
        do {
            if let value = try format.decoding(value(word)) { return value }
        } catch let error as JSONError {
            throw failure(Value.self, error.reason, word)
        } catch is DecodingError {
            // Of a decoding within the closure, which knows no path.
        }
        throw index.kind(word) == .null ? mismatch(Value.self, .string, word) : unfit(Value.self, word)
    }

    /// Decodes what is not read directly: other forms of numbers, conversions, and errors.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    func scalar<S: JSONScalar>(_ type: S.Type, _ word: Int) throws -> S {
        let isTree = type == JSONValue.self || type == JSONObject.self
        let value =
            isTree || index.words[word] & 7 < 6 ? value(word) : index.kind(word) == .array ? .array([]) : .object([:])
        var found: S?
        do throws(JSONError) {
            found = try S.make(from: value, dates: options.dates)
            if found == nil { found = try? alternative(for: type, to: value) }
        } catch {
            found = try? alternative(for: type, to: value)
            guard found != nil else { throw failure(type, error.reason, word) }
        }
        guard let found else { throw unfit(type, word) }
        return found
    }

    /// Returns the scalar, converted from another type of JSON as far as the options allow, or `nil` if there is none.
    private func alternative<S: JSONScalar>(for type: S.Type, to value: JSONValue) throws(JSONError) -> S? {
        if options.readsJSONInStrings, type == JSONObject.self, case .string(let text) = value,
            let parsed = try? JSONValue(parsing: text)
        {
            return try S.make(from: options.dropsNulls ? parsed.withoutNulls : parsed, dates: options.dates)
        }
        if let names = options.floats, case .string(let text) = value, let number = names.number(of: text) {
            if let number = number as? S ?? Float(number) as? S { return number }
        }
        guard options.convertsScalars, let converted = value.converted(for: type) else { return nil }
        return try S.make(from: converted, dates: options.dates)
    }
}
