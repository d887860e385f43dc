/// The place and the format of parameters.
///
/// In a request, write `var parameterEncoding: ParameterEncoding { .form }`, or with other styles `.query.arrays(.repeated)`.
/// The defaults are `a[]=1` for arrays, `a[b]=1` for nested objects, `true` for Bool and ISO 8601 for Date. A style of
/// ``inherited``, as in `.inherited.arrays(.repeated)`, replaces the inherited encoding's style.
public struct ParameterEncoding: Sendable, Hashable, CustomStringConvertible {
    /// The place and the format.
    public enum Format: String, Sendable, Hashable {
        /// The service's, then the config's, then ``automatic``.
        case inherited
        /// The query for GET, HEAD and DELETE, or else a JSON body.
        case automatic
        /// The query of the URL, with any method.
        case query
        /// A body of `application/x-www-form-urlencoded`.
        case form
        /// A body of `application/json`.
        case json
        /// A body of `application/x-plist`, in XML.
        case propertyList
    }

    /// The style of an array in a query or a form.
    public enum Arrays: Sendable, Hashable {
        /// `a[]=1&a[]=2`
        case brackets
        /// `a[0]=1&a[1]=2`
        case indices
        /// `a=1&a=2`
        case repeated
        /// `a=1,2`; the elements must be scalars.
        case commas
    }

    /// The style of a nested object's member in a query or a form.
    public enum Nesting: Sendable, Hashable {
        /// `a[b]=1`
        case brackets
        /// `a.b=1`
        case dots
    }

    /// The style of a Bool in a query or a form; JSON and property lists have their own.
    public enum Booleans: Sendable, Hashable {
        /// `true`, `false`
        case words
        /// `1`, `0`
        case digits
    }

    /// The style of a `Date`, in every format.
    public typealias Dates = JSONDateStrategy

    /// The place and the format.
    public let format: Format
    /// The style of arrays in a query or a form.
    public var arrays: Arrays { ownArrays ?? .brackets }
    /// The style of nested objects' members in a query or a form.
    public var nesting: Nesting { ownNesting ?? .brackets }
    /// The style of Bools in a query or a form.
    public var booleans: Booleans { ownBooleans ?? .words }
    /// The style of dates, in every format.
    public var dates: Dates { ownDates ?? .iso8601 }

    // The styles that were set; the others are the defaults, or the inherited encoding's.
    private var ownArrays: Arrays?
    private var ownNesting: Nesting?
    private var ownBooleans: Booleans?
    private var ownDates: Dates?

    /// The encoding of the service, then of the config, then ``automatic``; the default of a request.
    public static let inherited = ParameterEncoding(format: .inherited)
    /// The query for GET, HEAD and DELETE, or else a JSON body.
    public static let automatic = ParameterEncoding(format: .automatic)
    /// The query of the URL, with any method.
    public static let query = ParameterEncoding(format: .query)
    /// A body of `application/x-www-form-urlencoded`.
    public static let form = ParameterEncoding(format: .form)
    /// A body of `application/json`.
    public static let json = ParameterEncoding(format: .json)
    /// A body of `application/x-plist`, in XML.
    ///
    /// It cannot contain a null, or a number that is neither an integer of 64 bits nor a `Double`; a request with one fails
    /// with ``NetworkError/Reason/unencodable(_:)``.
    public static let propertyList = ParameterEncoding(format: .propertyList)

    private init(format: Format) { self.format = format }

    /// Returns this encoding with another style for arrays.
    public func arrays(_ style: Arrays) -> Self { changing { $0.ownArrays = style } }
    /// Returns this encoding with another style for nested objects.
    public func nesting(_ style: Nesting) -> Self { changing { $0.ownNesting = style } }
    /// Returns this encoding with another style for Bools.
    public func booleans(_ style: Booleans) -> Self { changing { $0.ownBooleans = style } }
    /// Returns this encoding with another style for dates.
    public func dates(_ style: Dates) -> Self { changing { $0.ownDates = style } }

    private func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    /// Whether the encoding is inherited without a change.
    var isInherited: Bool { self == .inherited }

    /// Returns this encoding, or, if its format is inherited, another one with the styles that were set in this one.
    func over(_ base: ParameterEncoding) -> ParameterEncoding {
        guard format == .inherited else { return self }
        return base.changing { base in
            base.ownArrays = ownArrays ?? base.ownArrays
            base.ownNesting = ownNesting ?? base.ownNesting
            base.ownBooleans = ownBooleans ?? base.ownBooleans
            base.ownDates = ownDates ?? base.ownDates
        }
    }

    /// The encoding that a request inherits while a send reads its parameters.
    ///
    /// The parameters of an `Encodable` request are its stored properties as JSON, so the style of dates has to be known
    /// when they are read.
    @TaskLocal static var ofSend = ParameterEncoding.automatic

    /// The format and the styles that were set, such as `form, arrays: repeated`.
    public var description: String {
        var text = format.rawValue
        if let ownArrays { text += ", arrays: \(ownArrays)" }
        if let ownNesting { text += ", nesting: \(ownNesting)" }
        if let ownBooleans { text += ", booleans: \(ownBooleans)" }
        if let ownDates { text += ", dates: \(ownDates)" }
        return text
    }

    /// Returns the pairs of a query or a form, percent-encoded and joined, or an empty string if there are none.
    func encodedPairs(_ values: [(name: String, value: JSONValue)]) -> String {
        var text = ""
        for (name, value) in values { append(value, named: PercentEncoding.escapingComponent(name), to: &text) }
        return text
    }

    /// The recursion is bounded, because the encoder limits the depth to the depth of the caller's type.
    private func append(_ value: JSONValue, named name: String, to text: inout String) {
        switch value {
        case .object(let members):
            for member in members {
                let inner = PercentEncoding.escapingComponent(member.name)
                append(
                    member.value,
                    named: nesting == .brackets ? "\(name)%5B\(inner)%5D" : "\(name).\(inner)",
                    to: &text
                )
            }
        case .array(let elements):
            if arrays == .commas, !elements.isEmpty, elements.allSatisfy(\.isScalar) {
                let joined = elements.map { PercentEncoding.escapingComponent(scalar($0)) }.joined(separator: ",")
                appendPair(name, joined, to: &text)
                return
            }
            for (index, element) in elements.enumerated() {
                switch arrays {
                case .brackets, .commas: append(element, named: "\(name)%5B%5D", to: &text)
                case .indices: append(element, named: "\(name)%5B\(index)%5D", to: &text)
                case .repeated: append(element, named: name, to: &text)
                }
            }
        default:
            appendPair(name, PercentEncoding.escapingComponent(scalar(value)), to: &text)
        }
    }

    private func appendPair(_ name: String, _ value: String, to text: inout String) {
        if !text.isEmpty { text += "&" }
        text += name
        text += "="
        text += value
    }

    private func scalar(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let number): number.description
        case .bool(let flag): booleans == .words ? (flag ? "true" : "false") : (flag ? "1" : "0")
        default: ""
        }
    }
}

extension JSONValue {
    /// Whether the value is neither an object nor an array.
    fileprivate var isScalar: Bool {
        switch self {
        case .object, .array: false
        default: true
        }
    }
}
