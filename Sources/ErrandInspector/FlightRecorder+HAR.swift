internal import Errand
public import Foundation

extension FlightRecorder {
    /// Returns what was recorded as an HTTP Archive, version 1.2, which the developer tools of browsers read.
    ///
    /// Each exchange is an entry; a send without one, such as of a stored response, is an entry of its own. The member `_errand` has what
    /// the format has no member for: the send, the attempt, the purpose, the outcome, and the batches and chains. The times of an
    /// entry add up: what no phase accounts for is `wait`.
    public func har() -> Data {
        let entries = sends.flatMap { send -> [JSONValue] in
            send.exchanges.isEmpty ? [send.entry()] : send.exchanges.map { send.entry($0) }
        }
        let log: JSONObject = [
            "version": "1.2", "creator": ["name": "Errand", "version": "0.1"], "pages": [], "entries": .array(entries),
        ]
        return JSONValue.object(["log": .object(log)]).data
    }
}

extension RecordedSend {
    /// An entry for an exchange, or for a send without one.
    fileprivate func entry(_ exchange: RecordedExchange? = nil) -> JSONValue {
        let time = exchange?.duration ?? duration
        let timings = Timings(exchange?.phases, of: time)
        var entry: JSONObject = [
            "startedDateTime": .string(Self.text(exchange?.start ?? start)), "time": .milliseconds(timings.sum),
            "request": exchange?.harRequest ?? harRequest, "response": exchange?.harResponse ?? harResponse,
            "cache": [:],
            "timings": timings.har,
        ]
        if let address = exchange?.remoteAddress { entry["serverIPAddress"] = .string(address) }
        if let failure = exchange?.failure { entry["comment"] = .string(failure) }
        entry["_errand"] = .object(facts(exchange))
        return .object(entry)
    }

    private func facts(_ exchange: RecordedExchange?) -> JSONObject {
        var facts: JSONObject = [
            "send": .number(JSONNumber(id)), "request": .string(typeName), "service": .string(serviceID),
            "start": .string(Self.text(start)), "total": .milliseconds(duration),
            "retries": .number(JSONNumber(retryCount)),
            "groups": .array(groups.map { ["name": .string($0.name), "id": .number(JSONNumber($0.id))] }),
            "notes": .array(
                notes.map { ["at": .milliseconds($0.offset), "event": .string($0.event), "text": .string($0.text)] }
            ),
        ]
        if !tag.isEmpty { facts["tag"] = .string(tag) }
        switch outcome {
        case .running: facts["outcome"] = "running"
        case .success(_, let source): (facts["outcome"], facts["source"]) = ("success", .string(source))
        case .failure(let kind, let text):
            (facts["outcome"], facts["kind"], facts["error"]) = ("failure", .string(kind), .string(text))
        case .cancelled: facts["outcome"] = "cancelled"
        }
        guard let exchange else { return facts }
        facts["attempt"] = .number(JSONNumber(exchange.attempt))
        facts["purpose"] = .string(exchange.purpose.rawValue)
        if let isReused = exchange.isReused { facts["reusedConnection"] = .bool(isReused) }
        return facts
    }

    private static func text(_ date: Date) -> String { JSONTimestamp.text(for: date, milliseconds: true) ?? "" }

    private var harRequest: JSONValue { HAR.request(method, url ?? "about:blank", "", [], nil, nil) }

    private var harResponse: JSONValue {
        guard case .success(let status, _) = outcome else { return HAR.response(0, "", [], nil, nil) }
        return HAR.response(status, "", [], nil, nil)
    }
}

extension RecordedExchange {
    fileprivate var harRequest: JSONValue {
        HAR.request(method, url, version, requestHeaders, requestBody, requestByteCount)
    }

    fileprivate var harResponse: JSONValue {
        HAR.response(statusCode ?? 0, version, responseHeaders, responseBody, responseByteCount)
    }

    private var version: String {
        switch protocolName {
        case "h2"?: "HTTP/2"
        case let name?: name.uppercased()
        case nil: ""
        }
    }
}

/// The messages of an archive.
private enum HAR {
    static func request(
        _ method: String,
        _ url: String,
        _ version: String,
        _ headers: [RecordedExchange.Field],
        _ body: String?,
        _ byteCount: Int64?
    ) -> JSONValue {
        let query = url.firstIndex(of: "?").map { url[url.index(after: $0)...].split(separator: "&") } ?? []
        var request: JSONObject = [
            "method": .string(method), "url": .string(url), "httpVersion": .string(version), "cookies": [],
            "headers": fields(headers),
            "queryString": .array(
                query.map { pair in
                    let name = pair.prefix { $0 != "=" }
                    return [
                        "name": .string(String(name)), "value": .string(String(pair[name.endIndex...].dropFirst())),
                    ]
                }
            ),
            "headersSize": -1, "bodySize": size(byteCount),
        ]
        if let body { request["postData"] = ["mimeType": type(headers), "text": .string(body)] }
        return .object(request)
    }

    static func response(
        _ status: Int,
        _ version: String,
        _ headers: [RecordedExchange.Field],
        _ body: String?,
        _ byteCount: Int64?
    ) -> JSONValue {
        var content: JSONObject = ["size": .number(JSONNumber(byteCount ?? 0)), "mimeType": type(headers)]
        if let body { content["text"] = .string(body) }
        return .object([
            "status": .number(JSONNumber(status)), "statusText": "", "httpVersion": .string(version), "cookies": [],
            "headers": fields(headers), "content": .object(content), "redirectURL": "", "headersSize": -1,
            "bodySize": size(byteCount),
        ])
    }

    private static func size(_ byteCount: Int64?) -> JSONValue { .number(JSONNumber(byteCount ?? -1)) }

    private static func fields(_ headers: [RecordedExchange.Field]) -> JSONValue {
        .array(headers.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    private static func type(_ headers: [RecordedExchange.Field]) -> JSONValue {
        .string(headers.first { $0.name.lowercased() == "content-type" }?.value ?? "")
    }
}

/// The phases of an exchange as an archive has them, in microseconds; a phase that is not known is -1, and part of `wait`.
private struct Timings {
    private let phases: Exchange.Phases?
    private let wait: Duration
    /// The time of all phases together.
    let sum: Duration

    init(_ phases: Exchange.Phases?, of total: Duration) {
        // Each is rounded on its own, and then they add up.
        func rounded(_ time: Duration?) -> Duration? { time.map { .microseconds(Int64($0 / .microseconds(1))) } }
        var exact = phases
        exact?.queue = rounded(phases?.queue)
        exact?.nameLookup = rounded(phases?.nameLookup)
        exact?.connect = rounded(phases?.connect)
        exact?.tls = rounded(phases?.tls)
        exact?.receive = rounded(phases?.receive)
        self.phases = exact
        let known = [exact?.queue, exact?.nameLookup, exact?.connect, exact?.tls, exact?.receive]
            .compactMap(\.self).reduce(.zero, +)
        sum = max(known, rounded(total) ?? .zero)
        wait = sum - known
    }

    var har: JSONValue {
        // That of TLS is part of `connect` as well.
        let connect = phases?.connect.map { $0 + (phases?.tls ?? .zero) } ?? phases?.tls
        return [
            "blocked": .milliseconds(phases?.queue), "dns": .milliseconds(phases?.nameLookup),
            "connect": .milliseconds(connect), "ssl": .milliseconds(phases?.tls), "send": 0,
            "wait": .milliseconds(wait),
            "receive": .milliseconds(phases?.receive ?? .zero),
        ]
    }
}

extension JSONValue {
    /// A time in milliseconds, with three digits after the point, or -1.
    static func milliseconds(_ time: Duration?) -> JSONValue {
        guard let time else { return -1 }
        return JSONNumber((time / .milliseconds(1) * 1000).rounded() / 1000).map(JSONValue.number) ?? 0
    }
}
