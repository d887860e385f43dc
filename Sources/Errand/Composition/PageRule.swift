internal import Foundation

/// Where the next page of a list is.
public struct PageRule<Model> {
    enum Step: Sendable, Equatable {
        /// The next page is at this URL.
        case link(URL)
        /// The next page is the same request with this parameter.
        case parameter(name: String, value: Value)
    }

    enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
    }

    /// Says what follows the page of an index, from 0; `nil` is nothing.
    let next: (_ response: Response<Model>, _ index: Int) throws -> Step?

    /// The `Link` field of the answer with `rel="next"` (RFC 8288, section 3).
    ///
    /// A link to another origin than that of the first request, before redirects, is refused with
    /// ``NetworkError/Kind/invalidRequest``, because the request's own credentials would be sent to it.
    public static var links: PageRule {
        PageRule { response, _ in
            guard let text = LinkField.target(rel: "next", in: response.headers.values(for: "Link")) else { return nil }
            guard let url = URL(string: text, relativeTo: response.url)?.absoluteURL else {
                throw NetworkError(.invalidURL("the link to the next page is none"), response: response.raw)
            }
            let first = response.redirects.first?.from ?? response.url
            guard url.origin == first.origin else {
                throw NetworkError(
                    .invalidURL("the link to the next page leads to another origin"),
                    response: response.raw
                )
            }
            guard url != response.url else {
                throw NetworkError(
                    .invalidURL("the link to the next page leads to the same page"),
                    response: response.raw
                )
            }
            return .link(url)
        }
    }

    /// A cursor in the payload, sent back as a parameter; the last page has none, `null` or an empty text.
    ///
    /// - Parameters:
    ///   - name: The parameter: in place of the request's own of that name, else in the query.
    ///   - path: The way from the payload to the cursor, a text or a number; from the whole body when it begins with `~`.
    /// - Returns: The rule.
    public static func cursor(_ name: String, at path: JSONPath) -> PageRule {
        PageRule { response, _ in
            let cursor: JSONValue
            do {
                cursor = try response.decode(JSONValue.self, at: path)
            } catch let error as NetworkError where error.isMissingValue {
                return nil
            }
            switch cursor {
            case .null: return nil
            case .string(let text): return text.isEmpty ? nil : .parameter(name: name, value: .text(text))
            default:
                if let number = cursor.int { return .parameter(name: name, value: .number(number)) }
                throw NetworkError(
                    .model(type: "String", detail: "the cursor is neither a text nor an integer"),
                    response: response.raw
                )
            }
        }
    }

    /// Numbered pages.
    ///
    /// - Parameters:
    ///   - name: The parameter: in place of the request's own of that name, else in the query.
    ///   - first: The number of the page that the request asks for by itself.
    ///   - step: From one page to the next; the page's size where the number counts items.
    ///   - hasNext: Whether another page follows this one.
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
            return isFar || isOver ? nil : .parameter(name: name, value: .number(number))
        }
    }
}

extension PageRule where Model: Collection {
    /// Numbered pages, up to the first that is empty.
    ///
    /// - Parameters:
    ///   - name: The parameter: in place of the request's own of that name, else in the query.
    ///   - first: The number of the page that the request asks for by itself.
    ///   - step: From one page to the next; the page's size where the number counts items.
    /// - Returns: The rule.
    public static func number(_ name: String = "page", from first: Int = 1, by step: Int = 1) -> PageRule {
        number(name, from: first, by: step) { !$0.model.isEmpty }
    }
}

/// Where paging stops, although another page follows.
public struct PageLimit<Model> {
    /// Whether enough is there, told one page after the other.
    let isReached: (_ model: Model, _ pages: Int, _ items: inout Int) -> Bool

    /// After so many requests; less than 1 counts as 1.
    public static func requests(_ maximum: Int) -> PageLimit { PageLimit { _, pages, _ in pages >= maximum } }

    /// With the page on which there are so many items in all.
    ///
    /// - Parameters:
    ///   - minimum: How many are enough.
    ///   - count: How many there are on a page.
    /// - Returns: The limit.
    public static func items(_ minimum: Int, countedBy count: @escaping (Model) -> Int) -> PageLimit {
        PageLimit { model, _, items in
            items = items.addingReportingOverflow(max(0, count(model))).partialValue
            return items >= minimum || items < 0
        }
    }
}

extension PageLimit where Model: Collection {
    /// With the page on which there are so many items in all.
    public static func items(_ minimum: Int) -> PageLimit { items(minimum) { $0.count } }
}

extension NetworkError {
    /// Whether a path led nowhere because nothing is there.
    fileprivate var isMissingValue: Bool {
        guard case .path(let error) = reason else { return false }
        switch error.reason {
        case .missing, .null: return true
        default: return false
        }
    }
}
