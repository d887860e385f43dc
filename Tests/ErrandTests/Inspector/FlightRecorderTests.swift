import ErrandInspector
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60)) struct FlightRecorderTests {
    private struct GetUser: Request {
        typealias Model = Int
        let id: Int
        var path: String { "/users/\(id)" }
    }

    private func rig(
        _ recorder: FlightRecorder,
        _ change: (inout NetworkConfig) -> Void = { _ in },
        responding handler: @escaping StubTransport.Handler = { _ in .json(#"{"id":7}"#) }
    ) -> Rig {
        var config = NetworkConfig.test
        config.accessories = [recorder]
        change(&config)
        return Rig(config: config, responding: handler)
    }

    @Test func aSendHasItsExchangesAndItsOutcome() async throws {
        let (recorder, count) = (FlightRecorder(), Lock(0))
        let rig = rig(recorder) {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero)
        } responding: { _ in
            if count.next() == 1 { throw NetworkError(.connectionReset) }
            return .json(
                #"{"error":"no such user","token":"s3cret"}"#,
                status: 404,
                headers: ["Age": "1", "X-Key": "s3cret"]
            )
        }
        let request = GeneralRequest("/users?page=1&key=s3cret").method(.put).tag("feed")
        _ = try? await rig.agent.send(
            request.body(.data(Data(#"{"name":"s3cret"}"#.utf8), contentType: "application/json"))
        )
        let send = try #require(recorder.sends.first)
        #expect(recorder.sends.count == 1 && send.isFailure && send.retryCount == 1 && send.tag == "feed")
        #expect(send.typeName == "GeneralRequest" && send.method == "PUT" && send.groups.isEmpty)
        #expect(send.url == "https://api.example/users?page=1&key=\(Secrets.mask)")
        #expect(send.exchanges.map(\.statusCode) == [nil, 404] && send.exchanges[0].failure != nil)
        #expect(send.exchanges[1].requestBody == #"{"name":"\#(Secrets.mask)"}"#)
        #expect(send.exchanges[1].responseBody == #"{"error":"no such user","token":"\#(Secrets.mask)"}"#)
        #expect(send.exchanges[1].responseHeaders.contains { $0.name == "Age" && $0.value == "1" })
        #expect(send.notes.map(\.event) == ["willRetry"] && send.duration > .zero)
        var shown = ""
        dump(recorder.sends, to: &shown)
        #expect(!shown.contains("s3cret") && !String(decoding: recorder.har(), as: UTF8.self).contains("s3cret"))
        #expect(!recorder.waterfall().contains("s3cret"))
    }

    @Test func theOldestAreDroppedAndNothingIsRecordedWhilePaused() async throws {
        let recorder = FlightRecorder(maximumCount: 3) { $0.tag != "silent" }
        let rig = rig(recorder)
        for number in 0..<5 { _ = try await rig.agent.send(GeneralRequest("/\(number)")) }
        #expect(recorder.sends.map { $0.url ?? "" } == (2...4).map { "https://api.example/\($0)" })
        recorder.isPaused = true
        _ = try await rig.agent.send(GeneralRequest("/5"))
        recorder.isPaused = false
        _ = try await rig.agent.send(GeneralRequest("/6").tag("silent"))
        #expect(recorder.sends.last?.url == "https://api.example/4")
        recorder.clear()
        #expect(recorder.sends.isEmpty)
        _ = try await rig.agent.send(GeneralRequest("/7"))
        #expect(recorder.sends.count == 1)
        let small = FlightRecorder(maximumByteCount: 0)
        let other = self.rig(
            small,
            responding: { _ in .json("[" + [String](repeating: "1", count: 10_000).joined(separator: ",") + "]") }
        )
        for _ in 0..<5 { _ = try await other.agent.send(GeneralRequest("/x")) }
        #expect(small.sends.count == 1)
    }

    /// Attempts whose bodies need 360 KB each with their masks.
    @Test func oneSendNeedsNoMoreThanTheLimit() async throws {
        let recorder = FlightRecorder(maximumByteCount: 1 << 20)
        let body = "[" + [String](repeating: "0", count: 30_000).joined(separator: ",") + "]"
        let rig = rig(recorder) {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 50, baseDelay: .zero, maximumDelay: .zero)
        } responding: { _ in
            .json(body, status: 503, headers: ["Retry-After": "0"])
        }
        _ = try? await rig.agent.send(GeneralRequest("/x"))
        let send = try #require(recorder.sends.first)
        let size = send.exchanges.reduce(0) { $0 + ($1.responseBody?.utf8.count ?? 0) }
        #expect(size <= 1 << 20 && !send.exchanges.isEmpty && send.isFailure, "\(size)")
        #expect(send.retryCount >= 2 && send.exchanges.last?.attempt == send.retryCount + 1)
    }

    @Test func aRevalidationInTheBackgroundHasAllItsExchangesAndItsOutcome() async throws {
        for isLost in [false, true] {
            let (recorder, count) = (FlightRecorder(), Lock(0))
            let rig = rig(recorder) {
                $0.cache = ResponseCache(disk: nil)
                $0.cachePolicy = .staleWhileRevalidate(maxAge: .zero, maxStale: .seconds(60))
                $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero, maximumDelay: .zero)
            } responding: { _ in
                let number = count.next()
                if number == 2 || isLost && number > 1 { throw NetworkError(.connectionReset) }
                return .json("1")
            }
            for _ in 0..<2 { _ = try await rig.agent.send(GeneralRequest("/x")) }
            func revalidation() -> RecordedSend? {
                recorder.sends.first { $0.exchanges.first?.purpose == .background && $0.outcome != .running }
            }
            while revalidation() == nil { try await Task.sleep(for: .milliseconds(1)) }
            let send = try #require(revalidation())
            #expect(send.exchanges.map(\.statusCode) == [nil, isLost ? nil : 200] && send.isFailure == isLost)
        }
    }

    @Test func sendsHaveTheirBatchesAndChains() async throws {
        let recorder = FlightRecorder()
        let rig = rig(recorder, responding: { _ in .json("1") })
        _ = try await rig.agent.send(BatchRequest(GetUser(id: 1), BatchRequest(GetUser(id: 2), GetUser(id: 3))))
        _ = try await rig.agent.send(GetUser(id: 4))
        let groups = Dictionary(uniqueKeysWithValues: recorder.sends.map { ($0.url?.last, $0.groups) })
        #expect(
            groups["1"]?.map(\.name) == ["BatchRequest"]
                && groups["2"]?.map(\.name) == ["BatchRequest", "BatchRequest"]
        )
        #expect(
            groups["2"] == groups["3"] && groups["2"]?.first == groups["1"]?.first && groups["4"]?.isEmpty == true
        )
    }

    /// What HAR 1.2 requires, by its specification.
    @Test func theArchiveIsValid() async throws {
        let recorder = FlightRecorder()
        let rig = rig(recorder) {
            $0.cache = ResponseCache(disk: nil)
            $0.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
        }
        for _ in 0..<2 { _ = try await rig.agent.send(GeneralRequest("/x?page=1&a")) }
        let request = GeneralRequest("/y").method(.post).body(.data(Data("{}".utf8), contentType: "application/json"))
        _ = try await rig.agent.send(request)
        let log = try #require(JSONValue(parsing: recorder.har())["log"])
        #expect(
            log["version"] == "1.2" && log["creator"]?["name"]?.string != nil
                && log["creator"]?["version"]?.string != nil
        )
        let entries = try #require(log["entries"]?.array)
        #expect(
            entries.count == 3 && entries[1]["_errand"]?["source"] == "cache" && entries[0]["_errand"]?["attempt"] == 1
        )
        for entry in entries {
            let (request, response) = try (#require(entry["request"]), #require(entry["response"]))
            for part in [request, response] {
                #expect(part["httpVersion"]?.string != nil && part["cookies"] == [] && part["headersSize"] == -1)
                #expect(part["bodySize"]?.number != nil && part["headers"]?.array != nil)
            }
            #expect(request["method"]?.string != nil && request["url"]?.string?.hasPrefix("https://") == true)
            #expect(request["queryString"]?.array != nil && response["redirectURL"]?.string != nil)
            #expect(response["status"]?.int == 200 && response["statusText"]?.string != nil)
            #expect(response["content"]?["size"]?.number != nil && response["content"]?["mimeType"]?.string != nil)
            #expect(
                try Date(
                    #require(entry["startedDateTime"]?.string),
                    strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true)
                ) <= Date()
            )
            let timings = try #require(entry["timings"]?.object)
            // TLS is part of connecting.
            let parts = timings.filter { $0.name != "ssl" && $0.value != -1 }.compactMap { $0.value.double }
            #expect(abs(parts.reduce(0, +) - (entry["time"]?.double ?? -1)) < 1e-6 && entry["cache"] == [:])
            #expect(["send", "wait", "receive"].allSatisfy { timings[$0]?.double ?? -1 >= 0 })
        }
        #expect(
            entries[0]["request"]?["queryString"]?[0]?["name"] == "page"
                && entries[2]["request"]?["postData"]?["text"] == "{}"
        )
    }

    /// Each time is rounded on its own, to the microsecond.
    @Test func theTimesOfAnArchiveAddUp() throws {
        let (recorder, context) = (FlightRecorder(), RequestContext(secrets: Secrets()))
        recorder.request(context, did: .willStart)
        let request = OutgoingRequest(url: try #require(URL(string: "https://api.example/x")))
        for number in 1...40 {
            var exchange = Exchange(
                attempt: number,
                purpose: .attempt,
                request: request,
                isExact: true,
                requestBody: .empty,
                start: Date()
            )
            let time = Duration.nanoseconds(1_234_567 * number)
            exchange.phases = .init(
                queue: time,
                nameLookup: time / 7,
                connect: time / 3,
                tls: time * 2,
                receive: time / 9
            )
            exchange.duration = time * (number.isMultiple(of: 2) ? 10 : 1)
            recorder.request(context, exchanged: exchange)
        }
        let entries = try #require(JSONValue(parsing: recorder.har())["log"]?["entries"]?.array)
        for entry in entries {
            let timings = try #require(entry["timings"]?.object)
            let parts = timings.filter { $0.name != "ssl" }.compactMap { $0.value.double }
            #expect(abs(parts.reduce(0, +) - (entry["time"]?.double ?? -1)) < 1e-6 && parts.allSatisfy { $0 >= 0 })
        }
        #expect(entries.count == 40)
    }

    @Test func aFileIsWrittenAfterAFailure() async throws {
        let folder = try TemporaryDirectory()
        let (recorder, file) = (FlightRecorder(), folder.url.appending(path: "last.har"))
        recorder.writes(to: file, on: .failure)
        let rig = rig(recorder, responding: { .json("1", status: $0.url.path() == "/bad" ? 500 : 200) })
        _ = try await rig.agent.send(GeneralRequest("/good"))
        #expect(!FileManager.default.fileExists(atPath: file.path()))
        for _ in 0..<20 { _ = try? await rig.agent.send(GeneralRequest("/bad")) }
        func entries() -> Int? {
            (try? Data(contentsOf: file)).flatMap { try? JSONValue(parsing: $0)["log"]?["entries"]?.array?.count }
        }
        while entries() != 21 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()) == ["last.har"])
        #expect(try FileManager.default.attributesOfItem(atPath: file.path())[.posixPermissions] as? Int == 0o600)
    }

    @Test func aFileIsWrittenAtTheExit() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.path()
        let result = await #expect(processExitsWith: .success) { [path = path as String] in
            let recorder = FlightRecorder()
            recorder.writes(to: URL(filePath: path + "/exit.har"), on: .exit)
            recorder.writes(to: URL(filePath: path + "/failed.har"), on: .failure)
            let rig = Rig(config: .test { $0.accessories = [recorder] }, response: .json("1", status: 500))
            _ = try? await rig.agent.send(GeneralRequest("/x"))
            exit(0)
        }
        #expect(result != nil)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: path)) == ["exit.har", "failed.har"])
        for name in ["exit.har", "failed.har"] {
            let file = folder.url.appending(path: name)
            #expect(try JSONValue(parsing: Data(contentsOf: file))["log"]?["entries"]?.array?.count == 1)
        }
    }

    @Test func aFileThatCannotBeWrittenIsAnErrorAndLeavesNothing() throws {
        let folder = try TemporaryDirectory()
        #expect(throws: POSIXError(.ENOENT)) {
            try FlightRecorder().write(to: folder.url.appending(path: "none/a.har"))
        }
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "a.html"),
            withIntermediateDirectories: false
        )
        #expect(throws: POSIXError(.EISDIR)) {
            try FlightRecorder().writeWaterfall(to: folder.url.appending(path: "a.html"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()) == ["a.html"])
    }

    @Test func aPageHasTheSendsAndEndsNoScript() async throws {
        let recorder = FlightRecorder()
        let rig = rig(recorder, responding: { _ in .json(#"{"error":"</script><b>"}"#, status: 400) })
        _ = try? await rig.agent.send(GeneralRequest("/x").tag("</script>"))
        let page = recorder.waterfall()
        #expect(page.components(separatedBy: "</script>").count == 3 && !page.contains("%DATA%"))
        let data = try #require(page.firstMatch(of: #/id="data">(.*?)<\/script>/#)?.1)
        let send = try #require(JSONValue(parsing: Data(data.utf8))[0])
        #expect(send["type"] == "GeneralRequest" && send["outcome"] == "failure" && send["tag"] == "</script>")
        #expect(send["exchanges"]?[0]?["status"] == 400)
    }
}
