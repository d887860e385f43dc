import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The levels of header sections and of bodies.
@Suite struct LoggingExchangesTests {
    /// The texts that a log of a send has, of the exchange alone.
    private func log(
        _ level: LoggingAccessory.Level,
        _ response: TransportResponse,
        to request: some Request & Sendable = GeneralRequest("/users/7"),
        format: LoggingAccessory.Format = .text
    ) async -> [String] {
        let lines = Record<String>()
        let config = NetworkConfig.test {
            $0.accessories = [LoggingAccessory(level: level, format: format) { lines.add($0) }]
        }
        _ = try? await Rig(config: config, response: response).agent.send(request)
        return lines.all.filter { $0.contains("\n> ") || $0.contains(#""event":"exchange""#) }
    }

    @Test func headerSectionsHaveTheValuesThatAreListed() async throws {
        let request = GeneralRequest("/users/7?page=2&token=s3cret").header("X-Key", "s3cret").header("Accept", "a/b")
        let response = TransportResponse.json(#"{"id":"s3cret"}"#, headers: ["Set-Cookie": "s3cret", "Age": "3"])
        let text = try #require(await log(.headers, response, to: request).first)
        #expect(text.contains("\n> GET https://api.example/users/7?page=2&token=\(Secrets.mask)\n> "))
        #expect(text.contains("\n> X-Key: \(Secrets.mask)") && text.contains("\n> Accept: a/b"))
        #expect(
            text.contains("\n< 200\n") && text.contains("\n< Age: 3")
                && text.contains("\n< Set-Cookie: \(Secrets.mask)")
        )
        #expect(!text.contains("s3cret") && !text.contains("id") && text.contains(": attempt 1: 200 in "))
        #expect(await log(.events, response).isEmpty)
    }

    @Test func bodiesAreLaidOutWithTheirValuesMasked() async throws {
        let body = #"{"id":"s3cret","page":1,"list":[],"items":[{"size":2,"\u001b\u2028":true}]}"#
        let request = GeneralRequest("/x").method(.post).body(
            .data(Data(#"{"a":["s3cret"]}"#.utf8), contentType: "application/json")
        )
        let text = try #require(await log(.bodies, .json(body), to: request).first)
        #expect(text.contains("\n> {\n>   \"a\": [\"\(Secrets.mask)\"]\n> }"))
        #expect(
            text.contains(
                """
                \n< {
                <   "id": "\(Secrets.mask)",
                <   "page": 1,
                <   "list": [],
                <   "items": [
                <     {
                <       "size": 2,
                <       "\\u001b\\u{2028}": "\(Secrets.mask)"
                <     }
                <   ]
                < }
                """
            ),
            "\(text)"
        )
        #expect(text.split(separator: "\n").dropFirst().allSatisfy { $0.hasPrefix("> ") || $0.hasPrefix("< ") })
    }

    @Test(arguments: [
        // GitHub.
        (
            #"{"message":"Validation Failed","errors":[{"resource":"Issue","field":"title","code":"missing_field"}],"user":"s3cret"}"#,
            422, ["Validation Failed", "Issue", "title", "missing_field"]
        ),
        // Stripe.
        (
            #"{"error":{"code":"parameter_unknown","message":"Received unknown parameter: amonut","param":"amonut","type":"#
                + #""invalid_request_error","request_log_url":"s3cret"}}"#, 400,
            ["parameter_unknown", "amonut", "invalid_request_error"]
        ),
        // OAuth 2 (RFC 6749, section 5.2).
        (
            #"{"error":"invalid_grant","error_description":"the code has expired","state":"s3cret"}"#, 400,
            ["invalid_grant", "the code has expired"]
        ),
        // RFC 9457.
        (
            #"{"type":"https://x.example/probs/credit","title":"Not enough credit","detail":"30 of 50","status":403,"balance":"s3cret"}"#,
            403, ["probs/credit", "Not enough credit", "30 of 50", "403"]
        ),
        // Ruby on Rails and Laravel.
        (
            #"{"errors":{"email":["has already been taken"],"card":{"number":"s3cret"},"pin":"s3cret","old":[{"a":"s3cret"}]}}"#,
            422, ["has already been taken"]
        ),
        // An envelope of a Chinese service.
        (#"{"errcode":40013,"errmsg":"invalid appid 无效","openid":"s3cret"}"#, 400, ["40013", "invalid appid 无效"]),
    ])
    func theReasonOfAnErrorResponseIsRead(body: String, status: Int, words: [String]) async throws {
        for format in [LoggingAccessory.Format.text, .json] {
            let response = TransportResponse.json(
                body,
                status: status,
                headers: ["Content-Type": "application/problem+json"]
            )
            let text = try #require(await log(.bodies, response, format: format).first)
            #expect(words.allSatisfy { text.contains($0) } && !text.contains("s3cret"), "\(text)")
            // Such words explain nothing in a success.
            let success = try #require(await log(.bodies, .json(body), format: format).first)
            #expect(words.allSatisfy { !success.contains($0) } && !success.contains("s3cret"), "\(success)")
        }
    }

    @Test func whatIsLargeOrNotTextIsNamedByItsSize() async throws {
        let deep = String(repeating: "[1,", count: 100) + "1" + String(repeating: "]", count: 100)
        func wide(_ count: Int) -> String {
            "[" + [String](repeating: deep, count: count).joined(separator: ",") + "]"
        }
        // What is nested deeply is not laid out, because the spaces before it would be most of the text.
        let text = try #require(await log(.bodies, .json(wide(100))).first)
        #expect(text.utf8.count < 256 << 10 && text.hasSuffix("\n< ]") && text.contains(#",["•••",["•••","#))
        for format in [LoggingAccessory.Format.text, .json] {
            let large = try #require(await log(.bodies, .json(wide(200)), format: format).first)
            #expect(large.utf8.count < 2_000 && large.contains("(80401 bytes of application/json)"), "\(large)")
        }
        let page = TransportResponse(
            statusCode: 500,
            headers: ["Content-Type": "text/html"],
            body: ResponseBody(Data("<p>".utf8))
        )
        #expect(await log(.bodies, page).first?.hasSuffix("\n< \n< (3 bytes of text/html)") == true)
        let form = GeneralRequest("/x").method(.post).body(.form(["page": 1, "password": "s3cret"]))
        let sent = try #require(await log(.bodies, .json("{}"), to: form).first)
        #expect(sent.contains("\n> page=1&password=\(Secrets.mask)\n"))
    }

    @Test func aLineOfJSONHasNoControlCharacters() async throws {
        let text = "a\u{85}\u{9b}31m\u{2028}\u{202e}z"
        let response = TransportResponse.json(#"{"\#(text)":1}"#, headers: ["Server": text])
        let line = try #require(await log(.bodies, response, format: .json).first)
        #expect(line == line.oneLine && line.contains(#"a\u0085\u009b31m\u2028\u202ez"#))
        let event = try JSONValue(parsing: Data(line.utf8))
        #expect(event["responseBody"]?.object?.names == [text], "\(line)")
        #expect(event["responseHeaders"]?.array?.contains(["Server", .string(text)]) == true)
    }

    @Test func eachEventIsAJSONObject() async throws {
        let lines = Record<String>()
        let config = NetworkConfig.test {
            $0.accessories = [LoggingAccessory(level: .bodies, format: .json) { lines.add($0) }]
        }
        let request = GeneralRequest("/a?page=1").method(.post).body(
            .data(Data("{}".utf8), contentType: "application/json")
        )
        _ = try? await Rig(config: config, response: .json(#"{"error":"no"}"#, status: 404)).agent.send(request)
        let events = try lines.all.map { try JSONValue(parsing: Data($0.utf8)) }
        #expect(lines.all.allSatisfy { !$0.contains("\n") })
        #expect(events.compactMap { $0["event"]?.string } == ["willStart", "exchange", "willStop", "didStop"])
        let exchange = events[1]
        #expect(
            exchange["send"] == events[0]["send"] && exchange["request"] == "GeneralRequest"
                && exchange["method"] == "POST"
        )
        #expect(
            exchange["url"] == "https://api.example/a?page=1" && exchange["purpose"] == "attempt"
                && exchange["attempt"] == 1
        )
        #expect(
            exchange["status"] == 404 && exchange["responseBody"]?["error"] == "no" && exchange["requestBody"] == [:]
        )
        #expect(exchange["time"]?.string?.hasSuffix("Z") == true)
        #expect(events[2]["message"]?.string?.hasPrefix("failed: ") == true)
    }
}
