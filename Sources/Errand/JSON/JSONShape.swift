/// The required shape of a JSON value, which is checked on the bytes before anything is decoded.
///
/// ```swift
/// let shape: JSONShape = [
///     "id": .integer(in: 1...),
///     "name": .string(minimumLength: 1),
///     "state": .string(oneOf: ["open", "closed"]),
///     "nickname": .string.optional,
///     "deletedAt": .string.nullable,
///     "tags": [.string],
///     "owner": ["id": .integer],
/// ]
/// ```
///
/// A dictionary literal is an object with at least these members; an array literal is an array with elements of its one
/// shape. Members must exist exactly once and must not be null, unless their shape allows it.
public struct JSONShape: Sendable, Hashable {
    /// A rule for one value.
    indirect enum Rule: Sendable, Hashable {
        case any
        case null
        case bool
        case number
        case integer(ClosedRange<Int>)
        case string(lengths: ClosedRange<Int>, choices: [JSONName])
        case elements(JSONShape, counts: ClosedRange<Int>)
        case members([Member], allowsOthers: Bool)
        case values(JSONShape)
        case invalid(String)
    }

    /// A member of an object.
    struct Member: Sendable, Hashable {
        let name: JSONName
        let shape: JSONShape
    }

    let rule: Rule

    /// Whether the member may be absent.
    private(set) var isOptional = false

    /// Whether the value may be null.
    private(set) var isNullable = false

    private init(_ rule: Rule) { self.rule = rule }

    private init(_ members: [Member], allowsOthers: Bool) {
        let isAmbiguous = Table(keys: members.map(\.name)).count < members.count
        rule = isAmbiguous ? .invalid("its shape lists a member twice") : .members(members, allowsOthers: allowsOthers)
    }

    /// The same shape for a member that may be absent; if it exists, it must have the shape.
    public var optional: JSONShape {
        var copy = self
        copy.isOptional = true
        return copy
    }

    /// The same shape for a value that may be null.
    public var nullable: JSONShape {
        var copy = self
        copy.isNullable = true
        return copy
    }
}

extension JSONShape {
    /// Any value but null.
    public static let any = JSONShape(.any)

    /// A null.
    public static let null = JSONShape(.null)

    /// `true` or `false`, but not a number.
    public static let bool = JSONShape(.bool)

    /// Any number, but not a Boolean.
    public static let number = JSONShape(.number)

    /// A number without a fraction that fits an `Int`, such as `1.0` and `1e2`.
    public static let integer = JSONShape(.integer(.min ... .max))

    /// Any string.
    public static let string = JSONShape(.string(lengths: 0 ... .max, choices: []))

    /// An array of any elements, including nulls.
    public static let array = JSONShape(.elements(any.nullable, counts: 0 ... .max))

    /// An object with any members.
    public static let object = JSONShape(.members([], allowsOthers: true))

    /// Returns the shape of an integer in a range.
    ///
    /// - Parameter range: The allowed numbers, such as `1...` or `0..<10`.
    /// - Returns: The shape.
    public static func integer(in range: some RangeExpression<Int>) -> JSONShape {
        switch range {
        case let range as PartialRangeFrom<Int>: return JSONShape(.integer(range.lowerBound ... .max))
        case let range as PartialRangeThrough<Int>: return JSONShape(.integer(.min...range.upperBound))
        case let range as ClosedRange<Int>: return JSONShape(.integer(range))
        default:
            let half = range.relative(to: Int.min..<Int.max)
            if half.isEmpty { return JSONShape(.invalid("no integer is in the range of its shape")) }
            return JSONShape(.integer(half.lowerBound...half.upperBound.advanced(by: -1)))
        }
    }

    /// Returns the shape of a string of limited length.
    ///
    /// - Parameters:
    ///   - minimumLength: The minimum number of Unicode scalars.
    ///   - maximumLength: The maximum number of Unicode scalars.
    /// - Returns: The shape.
    public static func string(minimumLength: Int = 0, maximumLength: Int = .max) -> JSONShape {
        guard minimumLength <= maximumLength else {
            return JSONShape(.invalid("no string has the length that its shape requires"))
        }
        return JSONShape(.string(lengths: minimumLength...maximumLength, choices: []))
    }

    /// Returns the shape of a string that is one of several.
    ///
    /// - Parameter choices: The allowed strings, compared byte by byte after unescaping.
    /// - Returns: The shape.
    public static func string(oneOf choices: [String]) -> JSONShape {
        guard !choices.isEmpty else { return JSONShape(.invalid("its shape allows no string")) }
        return JSONShape(.string(lengths: 0 ... .max, choices: choices.map { JSONName($0) }))
    }

    /// Returns the shape of an array with elements of one shape.
    ///
    /// - Parameters:
    ///   - element: The shape of every element.
    ///   - minimumCount: The minimum number of elements.
    ///   - maximumCount: The maximum number of elements.
    /// - Returns: The shape.
    public static func array(of element: JSONShape, minimumCount: Int = 0, maximumCount: Int = .max) -> JSONShape {
        guard minimumCount <= maximumCount else {
            return JSONShape(.invalid("no array has the length that its shape requires"))
        }
        return JSONShape(.elements(element, counts: minimumCount...maximumCount))
    }

    /// Returns the shape of an object with these members and no others.
    ///
    /// - Parameter members: The names and shapes of all members.
    /// - Returns: The shape.
    public static func exactly(_ members: KeyValuePairs<String, JSONShape>) -> JSONShape {
        JSONShape(members.map { Member(name: JSONName($0), shape: $1) }, allowsOthers: false)
    }

    /// Returns the shape of an object that is used as a dictionary, with any names and values of one shape.
    ///
    /// - Parameter value: The shape of every value.
    /// - Returns: The shape.
    public static func values(_ value: JSONShape) -> JSONShape { JSONShape(.values(value)) }
}

extension JSONShape: ExpressibleByDictionaryLiteral {
    /// Creates the shape of an object with at least these members.
    ///
    /// - Parameter elements: The names and shapes.
    public init(dictionaryLiteral elements: (String, JSONShape)...) {
        self.init(elements.map { Member(name: JSONName($0.0), shape: $0.1) }, allowsOthers: true)
    }
}

extension JSONShape: ExpressibleByArrayLiteral {
    /// Creates the shape of an array with elements of one shape, or of any array if the literal is empty.
    ///
    /// If the literal contains more than one shape, every check throws an error.
    ///
    /// - Parameter elements: The shape of every element.
    public init(arrayLiteral elements: JSONShape...) {
        switch elements.count {
        case 0: self = .array
        case 1: self = .array(of: elements[0])
        default: self.init(.invalid("an array shape lists one shape, which all elements must have"))
        }
    }
}
