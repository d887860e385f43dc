internal import Foundation

/// An exchange as a log shows it.
struct ShownExchange {
    private let exchange: Exchange
    private let url: String
    private let headers: (request: [HTTPHeaders.Field], response: [HTTPHeaders.Field])
    private var bodies: (request: JSONValue?, response: JSONValue?)

    /// The number of bytes of each body that is written.
    private static let limit = 16 << 10

    init(_ exchange: Exchange, hasBodies: Bool, hiding secrets: Secrets) {
        func fields(_ headers: HTTPHeaders) -> [HTTPHeaders.Field] {
            headers.map { .init(name: $0.name, value: secrets.redacted($0.value, of: $0.name)) }
        }
        self.exchange = exchange
        url = exchange.shownURL(by: secrets)
        headers = (fields(exchange.requestHeaders), fields(exchange.responseHeaders))
        guard hasBodies else { return }
        let isError = (exchange.statusCode ?? 0) >= 400
        bodies.request = secrets.shown(exchange.requestBody, exchange.requestHeaders)
        bodies.response = secrets.shown(exchange.responseBody, exchange.responseHeaders, isError: isError)
    }

    var lines: [String] {
        let request = Self.lines("> ", "\(exchange.method) \(url)", headers.request, bodies.request)
        guard let status = exchange.statusCode else { return request }
        return request + Self.lines("< ", "\(status)", headers.response, bodies.response)
    }

    private static func lines(
        _ mark: String,
        _ first: String,
        _ headers: [HTTPHeaders.Field],
        _ body: JSONValue?
    ) -> [String] {
        var lines = [first] + headers.map { "\($0.name): \($0.value)" }
        if let body {
            var text = body.string ?? ""
            if body.string == nil { body.layOut(in: &text, upTo: limit) }
            lines += [""] + text.prefix(limit).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if text.count > limit { lines.append("…") }
        }
        return lines.map { mark + $0.oneLine }
    }

    var members: [(String, JSONValue)] {
        func object(_ headers: [HTTPHeaders.Field]) -> JSONValue {
            .array(headers.map { .array([.string($0.name), .string($0.value)]) })
        }
        func bounded(_ body: JSONValue) -> JSONValue {
            body.data.count > Self.limit ? .string("(\(body.data.count) bytes)") : body
        }
        let all: [(String, JSONValue?)] = [
            ("purpose", .string(exchange.purpose.rawValue)), ("attempt", .number(JSONNumber(exchange.attempt))),
            ("target", .string(url)), ("requestHeaders", object(headers.request)),
            ("requestBody", bodies.request.map(bounded)),
            ("status", exchange.statusCode.map { .number(JSONNumber($0)) }),
            ("responseHeaders", exchange.statusCode.map { _ in object(headers.response) }),
            ("responseBody", bodies.response.map(bounded)),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
