internal import Foundation

/// An exchange as a log shows it.
struct ShownExchange {
    private typealias Message = (headers: [HTTPHeaders.Field], body: JSONValue?)

    private let exchange: Exchange
    private let url: String
    private let (request, response): (Message, Message)

    init(_ exchange: Exchange, hasBodies: Bool, hiding secrets: Secrets) {
        func message(_ headers: HTTPHeaders, _ body: Exchange.Body, isError: Bool) -> Message {
            let shown = headers.map { HTTPHeaders.Field(name: $0.name, value: secrets.redacted($0.value, of: $0.name)) }
            return (shown, hasBodies ? secrets.shown(body, headers, isError: isError) : nil)
        }
        self.exchange = exchange
        url = exchange.shownURL(by: secrets)
        request = message(exchange.requestHeaders, exchange.requestBody, isError: false)
        response = message(exchange.responseHeaders, exchange.responseBody, isError: (exchange.statusCode ?? 0) >= 400)
    }

    var lines: [String] {
        let sent = Self.lines("> ", "\(exchange.method) \(url)", request)
        return sent + (exchange.statusCode.map { Self.lines("< ", "\($0)", response) } ?? [])
    }

    private static func lines(_ mark: String, _ first: String, _ message: Message) -> [String] {
        var lines = [first] + message.headers.map { "\($0.name): \($0.value)" }
        if let body = message.body { lines += [""] + (body.string ?? body.laidOut()).components(separatedBy: "\n") }
        return lines.map { mark + $0.oneLine }
    }

    var members: [(String, JSONValue)] {
        func object(_ headers: [HTTPHeaders.Field]) -> JSONValue {
            .array(headers.map { .array([.string($0.name), .string($0.value)]) })
        }
        let all: [(String, JSONValue?)] = [
            ("purpose", .string(exchange.purpose.rawValue)), ("attempt", .number(JSONNumber(exchange.attempt))),
            ("target", .string(url)), ("requestHeaders", object(request.headers)), ("requestBody", request.body),
            ("status", exchange.statusCode.map { .number(JSONNumber($0)) }),
            ("responseHeaders", exchange.statusCode.map { _ in object(response.headers) }),
            ("responseBody", response.body),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
