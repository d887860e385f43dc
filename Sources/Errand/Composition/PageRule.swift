internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A rule that finds the next page of a list.
public struct PageRule<Model> {
    enum Step: Sendable, Equatable {
        /// The next page has this URL.
        case link(URL)
        /// The next page is the same request with this parameter.
        case parameter(name: String, value: Value)
    }

    enum Value: Sendable, Equatable {
        case text(String)
        case number(JSONNumber)
    }

    /// Returns the step to the page after an index, starting at 0, or `nil` if there is none.
    let next: (_ response: Response<Model>, _ index: Int) throws -> Step?

    /// The `Link` field of the response with `rel="next"` (RFC 8288, section 3).
    ///
    /// A link to an earlier page is an error of the kind ``NetworkError/Kind/invalidRequest``, and so is a field without such a
    /// link that cannot be read to its end: the list would seem to be complete. A link whose `anchor` is
    /// another resource is not followed. What a session has added to the URL of the response is removed from the link,
    /// because it is added to the next request too.
    ///
    /// A link to another origin is rejected with ``NetworkError/Reason/invalidLink(_:)``, because the request's own
    /// credentials would be sent to it. It is compared with the origin of the first request, before adapters and
    /// redirects.
    public static var links: PageRule {
        PageRule { response, _ in
            let found: String?
            do {
                let values = response.headers.values(for: "Link")
                found = try LinkField.target(rel: "next", in: values, from: response.url)
            } catch { throw response.error(.invalidLink("the Link field of the response is malformed")) }
            guard let target = found else { return nil }
            let link: URL
            do throws(NetworkError) {
                link = try URLParts(reference: target, relativeTo: response.url).url()
            } catch { throw response.error(.invalidLink(error.reason.sentence)) }
            let credential = response.raw.credential
            let url = credential.removed(from: link)
            guard url != credential.removed(from: response.url) else {
                throw response.error(.invalidLink("it leads to the same page"))
            }
            return .link(url)
        }
    }

    /// Returns a rule for a cursor in the payload, which is sent as a parameter.
    ///
    /// The last page has no cursor, `null`, or an empty text; for a path such as `data[-1].id`, also no elements.
    ///
    /// - Parameters:
    ///   - name: The parameter's name. It replaces the request's own parameter of that name, or else is added to the query.
    ///   - path: The path to the cursor, a text or an integer of any size. It starts at the payload, or with `~` at the
    ///     body.
    /// - Returns: The rule.
    public static func cursor(_ name: String, at path: JSONPath) -> PageRule {
        PageRule { response, _ in
            let cursor: JSONValue
            do {
                cursor = try response.decode(JSONValue.self, at: path)
            } catch let error as NetworkError {
                guard error.isMissingValue else { throw error.with(exchangeOf: response.raw, method: .get) }
                return nil
            }
            switch cursor {
            case .null: return nil
            case .string(let text): return text.isEmpty ? nil : .parameter(name: name, value: .text(text))
            case .number(let number) where JSONDecimalDigits(number.text).map({ $0.exponent >= 0 }) ?? false:
                return .parameter(name: name, value: .number(number.int.map { JSONNumber($0) } ?? number))
            default:
                throw response.error(.model(type: "String", detail: "the cursor is neither a text nor an integer"))
            }
        }
    }

    /// Returns a rule for numbered pages.
    ///
    /// - Parameters:
    ///   - name: The parameter's name. It replaces the request's own parameter of that name, or else is added to the query.
    ///   - first: The number of the page that the request itself returns.
    ///   - step: The difference between two pages; the page's size if the number counts items.
    ///   - hasNext: Returns whether another page follows this one.
    /// - Returns: The rule.
    public static func number(
        _ name: String = "page",
        from first: Int = 1,
        by step: Int = 1,
        while hasNext: @escaping (Response<Model>) throws -> Bool
    ) -> PageRule {
        PageRule { response, index in
            guard try hasNext(response) else { return nil }
            let (distance, isFar) = (index + 1).multipliedReportingOverflow(by: step)
            let (number, isOver) = first.addingReportingOverflow(distance)
            return isFar || isOver ? nil : .parameter(name: name, value: .number(JSONNumber(number)))
        }
    }
}

extension PageRule where Model: Collection {
    /// Returns a rule for numbered pages, up to the first that is empty.
    ///
    /// - Parameters:
    ///   - name: The parameter's name. It replaces the request's own parameter of that name, or else is added to the query.
    ///   - first: The number of the page that the request itself returns.
    ///   - step: The difference between two pages; the page's size if the number counts items.
    /// - Returns: The rule.
    public static func number(_ name: String = "page", from first: Int = 1, by step: Int = 1) -> PageRule {
        number(name, from: first, by: step) { !$0.model.isEmpty }
    }
}

/// A limit at which paging stops, although another page follows.
public struct PageLimit<Model> {
    /// Returns whether the limit is reached, called for one page after the other.
    let isReached: (_ model: Model, _ pages: Int, _ items: inout Int) -> Bool

    /// Returns a limit of this number of requests, at least 1.
    public static func requests(_ maximum: Int) -> PageLimit { PageLimit { _, pages, _ in pages >= maximum } }

    /// Returns a limit that ends with the page that completes this number of items.
    ///
    /// - Parameters:
    ///   - minimum: The number of items in all pages.
    ///   - count: Returns the number of items on a page.
    /// - Returns: The limit.
    public static func items(_ minimum: Int, countedBy count: @escaping (Model) -> Int) -> PageLimit {
        PageLimit { model, _, items in
            items = items.addingReportingOverflow(max(0, count(model))).partialValue
            return items >= minimum || items < 0
        }
    }
}

extension PageLimit where Model: Collection {
    /// Returns a limit that ends with the page that completes this number of items.
    public static func items(_ minimum: Int) -> PageLimit { items(minimum) { $0.count } }
}

extension Response {
    /// Returns an error about the response, with the place of its request.
    func error(_ reason: NetworkError.Reason) -> NetworkError {
        NetworkError(reason, response: raw).with(exchangeOf: raw, method: .get)
    }
}

extension NetworkError {
    /// Whether there is no value at the path.
    fileprivate var isMissingValue: Bool {
        guard case .path(let error) = reason else { return false }
        switch error.reason {
        case .missing, .null: return true
        case .indexOutOfRange(_, let count): return count == 0
        default: return false
        }
    }
}

/// A later page: the first request with another URL or one parameter changed.
struct NextPage<Base: Request>: RequestWrapper, LaterPage {
    typealias Model = Base.Model

    let base: Base
    let step: PageRule<Base.Model>.Step
    /// The encoding of the config, which the request and its service may inherit.
    let encoding: ParameterEncoding

    /// The URL of a link; only its origin is shown.
    private var link: String? {
        guard case .link(let url) = step else { return nil }
        let text = url.absoluteString
        // A URL that cannot be parsed fails, and is not shown.
        guard let parts = try? URLParts(absolute: text) else { return text }
        return "\(parts.origin)/"
            + DeclaredPath.marking(String((parts.path + (parts.query.map { "?\($0)" } ?? "")).trimmingPrefix("/")))
    }

    /// Returns parameters with the changed one, if it belongs to them.
    private func changing(_ parameters: Parameters, where predicate: (String) throws -> Bool) rethrows -> Parameters {
        guard case .parameter(let name, let value) = step, try predicate(name) else { return parameters }
        var changed = parameters
        switch value {
        case .text(let text): changed[name] = text
        case .number(let number): changed[name] = JSONValue.number(number)
        }
        return changed
    }

    var path: String { link ?? base.path }
    var query: Parameters {
        get throws {
            // A link has its query already.
            guard link == nil else { return Parameters() }
            return try changing(base.query) { try base.parameters[$0] == nil }
        }
    }
    var parameters: Parameters {
        get throws {
            let own = try base.parameters
            guard link == nil else { return isInQuery ? Parameters() : own }
            return changing(own) { own[$0] != nil }
        }
    }
    private var isInQuery: Bool {
        let own = base.parameterEncoding
        return ParameterPlacement(
            body: (try? base.body) ?? .automatic,  // The send throws the error.
            method: base.method,
            encoding: own.over(base.service.parameterEncoding.over(encoding.over(.automatic))),
            isInherited: own.format == .inherited
        ).putsParametersInQuery
    }
    var filter: Base.Filter { base.filter }
    var formatter: Base.Formatter { base.formatter }
    func didProduce(_ model: Base.Model, from response: RawResponse) throws {
        try base.didProduce(model, from: response)
    }
    /// Distinguishes the pages, although they have one request's key.
    var duplicateKey: String { base.duplicateKey.isEmpty ? "" : "\(base.duplicateKey)\n\(step)" }
    /// A link contains the parameters of the query.
    var usesBaseParameters: Bool { link == nil || !isInQuery ? base.usesBaseParameters : false }
    func customURLRequest() throws -> URLRequest? { link == nil ? try base.customURLRequest() : nil }
}

extension NextPage: Sendable where Base: Sendable {}
