internal import Errand
internal import Foundation

extension FlightRecorder {
    /// Returns what was recorded as a page that shows each send on a time axis, with its attempts, redirects, refreshes and waits.
    ///
    /// The page is one file of HTML that loads nothing, so it can be opened from a disk and sent to a colleague. Sends of a batch, a
    /// chain or a sequence are within it. A click, or the key Return, shows the messages of a send; the arrow keys move.
    public func waterfall() -> String {
        let sends = sends
        let first = sends.map(\.start).min() ?? Date()
        let data = JSONValue.array(sends.map { $0.facts(since: first) }).description
        // A script ends where the text `</script` begins.
        let safe = data.replacing("<", with: "\\u003c")
        let title =
            "\(sends.count) \(sends.count == 1 ? "send" : "sends") from \(JSONTimestamp.text(for: first, milliseconds: false) ?? "")"
        return WaterfallPage.text.replacing("%TITLE%", with: title).replacing("%DATA%", with: safe)
    }
}

extension RecordedSend {
    fileprivate func facts(since first: Date) -> JSONValue {
        func time(_ date: Date) -> JSONValue { .milliseconds(.seconds(date.timeIntervalSince(first))) }
        var facts: JSONObject = [
            "id": .number(JSONNumber(id)), "type": .string(typeName), "method": .string(method),
            "url": .string(url ?? ""),
            "service": .string(serviceID), "tag": .string(tag), "start": time(start),
            "duration": .milliseconds(duration),
            "groups": .array(groups.map { .array([.string($0.name), .number(JSONNumber($0.id))]) }),
            "notes": .array(
                notes.map { note in
                    [
                        "at": .milliseconds(note.offset), "event": .string(note.event), "text": .string(note.text),
                        "duration": .milliseconds(note.duration ?? .zero),
                    ]
                }
            ),
            "exchanges": .array(exchanges.map { $0.facts(time) }),
        ]
        switch outcome {
        case .running: facts["outcome"] = "running"
        case .success(let status, let source):
            (facts["outcome"], facts["status"]) = ("success", .number(JSONNumber(status)))
            facts["source"] = .string(source)
        case .failure(let kind, let text):
            (facts["outcome"], facts["kind"], facts["error"]) = ("failure", .string(kind), .string(text))
        case .cancelled: facts["outcome"] = "cancelled"
        }
        return .object(facts)
    }
}

extension RecordedExchange {
    fileprivate func facts(_ time: (Date) -> JSONValue) -> JSONValue {
        func fields(_ fields: [Field]) -> JSONValue {
            .array(fields.map { .array([.string($0.name), .string($0.value)]) })
        }
        let all: [(String, JSONValue?)] = [
            ("attempt", .number(JSONNumber(attempt))), ("purpose", .string(purpose.rawValue)),
            ("method", .string(method)),
            ("url", .string(url)), ("start", time(start)), ("duration", .milliseconds(duration)),
            ("queue", phases.queue.map(JSONValue.milliseconds)),
            ("lookup", phases.nameLookup.map(JSONValue.milliseconds)),
            ("connect", phases.connect.map(JSONValue.milliseconds)), ("tls", phases.tls.map(JSONValue.milliseconds)),
            ("receive", phases.receive.map(JSONValue.milliseconds)),
            ("status", statusCode.map { .number(JSONNumber($0)) }), ("requestHeaders", fields(requestHeaders)),
            ("responseHeaders", fields(responseHeaders)), ("requestBody", requestBody.map(JSONValue.string)),
            ("responseBody", responseBody.map(JSONValue.string)),
            ("bytes", responseByteCount.map { .number(JSONNumber($0)) }),
            ("protocol", protocolName.map(JSONValue.string)),
            ("address", remoteAddress.map(JSONValue.string)), ("reused", isReused.map(JSONValue.bool)),
            ("failure", failure.map(JSONValue.string)),
        ]
        return .object(JSONObject(all.compactMap { name, value in value.map { (name, $0) } }))
    }
}
