/// What a JSON value must look like, checked on the bytes before anything is decoded.
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
/// A dictionary literal is an object with at least these members, an array literal with one shape an array all of
/// whose elements have it. Members must be there, once, and must not be null, unless their shape says so.
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

    /// The same shape for a member that may be absent; when it is there, it must have the shape.
    public var optional: JSONShape {
        var copy = self
        copy.isOptional = true
        return copy
    }

    /// The same shape for a value that may also be null.
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

    /// `true` or `false`; a number is none.
    public static let bool = JSONShape(.bool)

    /// Any number; a Boolean is none.
    public static let number = JSONShape(.number)

    /// A number without a fraction that fits an `Int`; `1.0` and `1e2` are such numbers.
    public static let integer = JSONShape(.integer(.min ... .max))

    /// Any string.
    public static let string = JSONShape(.string(lengths: 0 ... .max, choices: []))

    /// An array of anything, nulls too.
    public static let array = JSONShape(.elements(any.nullable, counts: 0 ... .max))

    /// An object of any members.
    public static let object = JSONShape(.members([], allowsOthers: true))

    /// An integer within bounds.
    ///
    /// - Parameter range: The numbers allowed, such as `1...` or `0..<10`.
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

    /// A string of a certain length.
    ///
    /// - Parameters:
    ///   - minimumLength: The fewest Unicode scalars.
    ///   - maximumLength: The most Unicode scalars.
    /// - Returns: The shape.
    public static func string(minimumLength: Int = 0, maximumLength: Int = .max) -> JSONShape {
        guard minimumLength <= maximumLength else {
            return JSONShape(.invalid("no string is as long as its shape demands"))
        }
        return JSONShape(.string(lengths: minimumLength...maximumLength, choices: []))
    }

    /// One of some strings.
    ///
    /// - Parameter choices: The strings allowed, compared byte by byte after unescaping.
    /// - Returns: The shape.
    public static func string(oneOf choices: [String]) -> JSONShape {
        guard !choices.isEmpty else { return JSONShape(.invalid("its shape allows no string")) }
        return JSONShape(.string(lengths: 0 ... .max, choices: choices.map { JSONName($0) }))
    }

    /// An array all of whose elements have a shape.
    ///
    /// - Parameters:
    ///   - element: The shape of every element.
    ///   - minimumCount: The fewest elements.
    ///   - maximumCount: The most elements.
    /// - Returns: The shape.
    public static func array(of element: JSONShape, minimumCount: Int = 0, maximumCount: Int = .max) -> JSONShape {
        guard minimumCount <= maximumCount else {
            return JSONShape(.invalid("no array is as long as its shape demands"))
        }
        return JSONShape(.elements(element, counts: minimumCount...maximumCount))
    }

    /// An object with these members and no others.
    ///
    /// - Parameter members: The names and shapes of all members.
    /// - Returns: The shape.
    public static func exactly(_ members: KeyValuePairs<String, JSONShape>) -> JSONShape {
        JSONShape(members.map { Member(name: JSONName($0), shape: $1) }, allowsOthers: false)
    }

    /// An object used as a dictionary: any names, and values of one shape.
    ///
    /// - Parameter value: The shape of every value.
    /// - Returns: The shape.
    public static func values(_ value: JSONShape) -> JSONShape { JSONShape(.values(value)) }
}

extension JSONShape: ExpressibleByDictionaryLiteral {
    /// Creates the shape of an object with at least these members.
    ///
    /// - Parameter elements: Names and shapes.
    public init(dictionaryLiteral elements: (String, JSONShape)...) {
        self.init(elements.map { Member(name: JSONName($0.0), shape: $0.1) }, allowsOthers: true)
    }
}

extension JSONShape: ExpressibleByArrayLiteral {
    /// Creates the shape of an array: of one shape for all elements, or of anything when the literal is empty.
    ///
    /// More than one shape in the literal is a mistake, which the check reports.
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
