/// Where parameters go and how they are written.
///
/// Spelling in a request: `var parameterEncoding: ParameterEncoding { .form }`, or with other styles
/// `.query.arrays(.repeated)`. The defaults: arrays `a[]=1`, nested objects `a[b]=1`, Bool `true`, Date ISO 8601.
public struct ParameterEncoding: Sendable, Hashable {
    /// The place and the format.
    public enum Format: String, Sendable, Hashable {
        /// Query for GET, HEAD and DELETE; a JSON body otherwise.
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

    /// How an array stands in a query or a form.
    public enum Arrays: Sendable, Hashable {
        /// `a[]=1&a[]=2`
        case brackets
        /// `a[0]=1&a[1]=2`
        case indices
        /// `a=1&a=2`
        case repeated
        /// `a=1,2`, scalars only
        case commas
    }

    /// How a member of a nested object stands in a query or a form.
    public enum Nesting: Sendable, Hashable {
        /// `a[b]=1`
        case brackets
        /// `a.b=1`
        case dots
    }

    /// How a Bool stands in a query or a form; JSON and property lists have their own.
    public enum Booleans: Sendable, Hashable {
        /// `true`, `false`
        case words
        /// `1`, `0`
        case digits
    }

    /// How a `Date` is written, in every format.
    public typealias Dates = JSONDateStrategy

    /// The place and the format.
    public private(set) var format: Format
    /// How arrays stand in a query or a form.
    public private(set) var arrays: Arrays = .brackets
    /// How members of nested objects stand in a query or a form.
    public private(set) var nesting: Nesting = .brackets
    /// How a Bool stands in a query or a form.
    public private(set) var booleans: Booleans = .words
    /// How a `Date` is written, in every format.
    public private(set) var dates: Dates = .iso8601

    /// The query for GET, HEAD and DELETE; a JSON body otherwise.
    public static let automatic = ParameterEncoding(format: .automatic)
    /// The query of the URL, with any method.
    public static let query = ParameterEncoding(format: .query)
    /// A body of `application/x-www-form-urlencoded`.
    public static let form = ParameterEncoding(format: .form)
    /// A body of `application/json`.
    public static let json = ParameterEncoding(format: .json)
    /// A body of `application/x-plist`, in XML; it cannot hold a null.
    public static let propertyList = ParameterEncoding(format: .propertyList)

    private init(format: Format) { self.format = format }

    /// Returns this encoding with another style of arrays.
    public func arrays(_ style: Arrays) -> Self { changing { $0.arrays = style } }
    /// Returns this encoding with another style of nested objects.
    public func nesting(_ style: Nesting) -> Self { changing { $0.nesting = style } }
    /// Returns this encoding with another style of Bool.
    public func booleans(_ style: Booleans) -> Self { changing { $0.booleans = style } }
    /// Returns this encoding with another style of Date.
    public func dates(_ style: Dates) -> Self { changing { $0.dates = style } }

    private func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    /// The pairs of a query or a form, percent-encoded and joined; empty when there are none.
    func encodedPairs(_ values: [(name: String, value: JSONValue)]) -> String {
        var text = ""
        for (name, value) in values { append(value, named: URLText.escapingComponent(name), to: &text) }
        return text
    }

    /// Recursion is bounded: the value came through the encoder, whose depth is that of the caller's own type.
    private func append(_ value: JSONValue, named name: String, to text: inout String) {
        switch value {
        case .object(let members):
            for member in members {
                let inner = URLText.escapingComponent(member.name)
                append(
                    member.value,
                    named: nesting == .brackets ? "\(name)%5B\(inner)%5D" : "\(name).\(inner)",
                    to: &text
                )
            }
        case .array(let elements):
            if arrays == .commas, !elements.isEmpty, elements.allSatisfy(\.isScalar) {
                let joined = elements.map { URLText.escapingComponent(scalar($0)) }.joined(separator: ",")
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
            appendPair(name, URLText.escapingComponent(scalar(value)), to: &text)
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
