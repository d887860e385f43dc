import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Streams over a transport without a network.
@Suite(.limit(seconds: 60)) struct ResponseStreamTests {
    private func export() -> GeneralRequest<JSONValueFormatter> { GeneralRequest("/export") }

    private func bytes(_ stream: ResponseStream) async throws -> Data {
        var all = Data()
        for try await chunk in stream { all.append(chunk) }
        return all
    }

    @Test func chunksComeAsTheyArriveAndThenTheEnd() async throws {
        let rig = Rig()
        let body = rig.transport.stream("/export", contentType: "text/csv")
        let stream = try await rig.agent.bytes(for: export())
        #expect(stream.statusCode == 200)
        #expect(stream.headers["Content-Type"] == "text/csv")
        #expect(stream.response.url.path() == "/export")
        var iterator = stream.makeAsyncIterator()
        for text in ["a", "bc", "d"] {
            body.send(text)
            #expect(try await iterator.next() == Data(text.utf8))
        }
        body.close()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func anErrorComesAfterTheBytesBeforeItWithItsPlace() async throws {
        let rig = Rig()
        let body = rig.transport.stream("/export")
        let stream = try await rig.agent.bytes(for: export())
        body.send("half")
        body.close(.cut)
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == Data("half".utf8))
        let error = await expect(throwing: .closedInBody) { try await iterator.next() }
        #expect(error?.host == "api.example")
        #expect(try await iterator.next() == nil)
    }

    @Test func nothingIsRetriedAfterTheHeaderSection() async throws {
        let rig = Rig(config: .test { $0.retryPolicy = RetryPolicy(baseDelay: .zero) })
        let body = rig.transport.stream("/export")
        let stream = try await rig.agent.bytes(for: export())
        body.close(.reset)
        await expect(throwing: .connectionReset) { _ = try await bytes(stream) }
        #expect(rig.transport.requestCount == 1)
    }

    @Test(arguments: [NetworkError.Reason.closedInBody, .idleTimeout(.seconds(60)), .connectionReset])
    func noOtherURLOfTheCDNIsUsedAfterTheHeaderSection(_ reason: NetworkError.Reason) async throws {
        let body = PushedBody()
        let config = NetworkConfig.test {
            $0.cdnURL = "https://a.example"
            $0.cdnFallbacks = ["https://b.example"]
        }
        // The body of a second server would be complete.
        let rig = Rig(config: config) { $0.url.host() == "a.example" ? body.response() : .text("whole") }
        let stream = try await rig.agent.bytes(for: export().usingCDN())
        body.send("half")
        body.end(throwing: NetworkError(reason))
        await expect(throwing: reason) { _ = try await bytes(stream) }
        #expect(rig.transport.requests.map { $0.url.host() } == ["a.example"])
    }

    @Test func aFailureBeforeThatIsRetried() async throws {
        let count = Lock(0)
        let rig = Rig(config: .test { $0.retryPolicy = RetryPolicy(baseDelay: .zero) }) { _ in
            switch count.next() {
            case 1: throw NetworkError(.connectionReset)
            case 2: return .status(503)
            default: return .text("ok")
            }
        }
        #expect(try await bytes(rig.agent.bytes(for: export())) == Data("ok".utf8))
        #expect(rig.transport.requestCount == 3)
    }

    @Test func aRejectedResponseFailsWithItsBody() async throws {
        let rig = Rig(response: .json(#"{"why":"no"}"#, status: 404))
        let error = await expect(throwing: .status(404)) { try await rig.agent.bytes(for: export()) }
        #expect(try error?.decode(String.self, at: "why") == "no")
    }

    @Test func errorsBeforeTheSendReachTheCaller() async throws {
        let rig = Rig(response: .text("x"))
        await expect(kind: .invalidRequest) { try await rig.agent.bytes(for: export().header("a b", "c")) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func filtersAndFormattersAreNotUsed() async throws {
        struct Wrapped: Request, Sendable {
            typealias Model = Int
            var path: String { "/a" }
            var filter: EnvelopeFilter { EnvelopeFilter(code: "code", data: "data") }
            func didProduce(_ model: Int, from response: RawResponse) throws { throw Boom() }
        }
        let rig = Rig(response: .text("not JSON"))
        #expect(try await bytes(rig.agent.bytes(for: Wrapped())) == Data("not JSON".utf8))
    }

    @Test func anInterceptorThatRespondsItselfIsStreamedToo() async throws {
        let mock = ClosureInterceptor { request, _ in
            RawResponse(statusCode: 203, body: Data("mock".utf8), url: request.url)
        }
        let rig = Rig(config: .test { $0.interceptors = [mock] }, response: .text("wire"))
        let stream = try await rig.agent.bytes(for: export())
        #expect(stream.statusCode == 203)
        #expect(try await bytes(stream) == Data("mock".utf8))
    }

    @Test func aStreamIsNeitherCachedNorShared() async throws {
        let cache = ResponseCache(disk: nil)
        let rig = Rig(config: .test { $0.cache = cache }, response: .text("x"))
        let request = export().cachePolicy(.cacheElseNetwork(maxAge: .seconds(60))).duplicatePolicy(.share)
        async let one = bytes(rig.agent.bytes(for: request))
        async let other = bytes(rig.agent.bytes(for: request))
        #expect(try await [one, other] == [Data("x".utf8), Data("x".utf8)])
        #expect(rig.transport.requestCount == 2)
    }

    @Test func accessoriesSeeTheCompleteStreamAndItsProgress() async throws {
        let body = PushedBody()
        let log = EventLog()
        let rig = Rig(
            config: .test { $0.accessories = [log] },
            response: body.response(headers: ["Content-Length": "200000"])
        )
        let stream = try await rig.agent.bytes(for: export())
        #expect(log.names == ["willStart"])
        var iterator = stream.makeAsyncIterator()
        body.send(Data(count: 100_000))
        _ = try await iterator.next()
        body.send(Data(count: 100_000))
        _ = try await iterator.next()
        body.end()
        #expect(try await iterator.next() == nil)
        #expect(log.names.filter { $0 != "didProgress" } == ["willStart", "willStop", "didStop"])
        let progress = log.events.all.map(\.event).last { $0.word == "didProgress" }
        guard case .didProgress(let last) = progress else { throw Unexpected(log.names) }
        #expect(last == TransferProgress(direction: .download, completed: 200_000, total: 200_000))
    }

    @Test func cancellingTheReaderEndsTheSend() async throws {
        let body = PushedBody()
        let log = EventLog()
        let rig = Rig(config: .test { $0.accessories = [log] }, response: body.response())
        let stream = try await rig.agent.bytes(for: export())
        let reader = Task { try await bytes(stream) }
        await Task.yield()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(body.isCancelled)
        #expect(log.names == ["willStart", "willStop", "didStop"])
    }

    @Test func cancelAndCancelAllEndAWaitingReader() async throws {
        for cancelsAll in [false, true] {
            let body = PushedBody()
            let rig = Rig(response: body.response())
            let stream = try await rig.agent.bytes(for: export().tag("s"))
            let reader = Task { try await bytes(stream) }
            await Task.yield()
            if cancelsAll { rig.agent.cancelAll { $0.tag == "s" } } else { stream.cancel() }
            await #expect(throws: CancellationError.self) { try await reader.value }
            await body.waitUntilCancelled()
        }
    }

    /// A reader of the elements of one chunk, which ends its stream after the first one.
    @Test(arguments: ["events(for:)", "events", "lines", "jsonLines"], ["task", "cancelAll", "deadline"])
    func whatWasReceivedIsNotReturnedAfterTheEnd(of kind: String, by end: String) async throws {
        let body = PushedBody()
        let log = EventLog()
        let clock = ManualClock()
        let rig = Rig(config: .test { $0.accessories = [log] }, clock: clock) { _ in body.events }
        body.send(kind.hasPrefix("events") ? "data: 1\n\ndata: 2\n\ndata: 3\n\n" : "1\n2\n3\n")
        let request = export().deadline(.seconds(10))
        let count = Lock(0)
        let reader = Task {
            func read() async {
                guard count.next() == 1 else { return }
                switch end {
                case "task": return withUnsafeCurrentTask { $0?.cancel() }
                case "cancelAll": rig.agent.cancelAll()
                default: clock.advance(by: .seconds(10))
                }
                await body.waitUntilCancelled()
            }
            switch kind {
            case "events(for:)": for try await _ in rig.agent.events(for: request) { await read() }
            case "events": for try await _ in try await rig.agent.bytes(for: request).events { await read() }
            case "lines": for try await _ in try await rig.agent.bytes(for: request).lines { await read() }
            default: for try await _ in try await rig.agent.bytes(for: request).jsonLines(of: Int.self) { await read() }
            }
        }
        let error = await #expect(throws: (any Error).self) { try await reader.value }
        if end == "deadline" {
            #expect((error as? NetworkError)?.kind == .timedOut)
        } else {
            #expect(error is CancellationError)
        }
        #expect(count.withLock(\.self) == 1)
        #expect(log.names == ["willStart", "willStop", "didStop"])
    }

    @Test func theLastReferenceEndsTheSend() async throws {
        let body = PushedBody()
        let rig = Rig(response: body.response())
        do {
            let stream = try await rig.agent.bytes(for: export())
            body.send("a")
            for try await chunk in stream {
                #expect(chunk == Data("a".utf8))
                break
            }
        }
        await body.waitUntilCancelled()
    }

    @Test func cancellingTheCallerBeforeTheHeaderSectionCancelsTheSend() async throws {
        let rig = Rig.silent()
        let task = Task { try await rig.agent.bytes(for: export()) }
        await rig.transport.waitForRequests()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func theDeadlineEndsAnUnreadStream() async throws {
        let body = PushedBody()
        let clock = ManualClock()
        let rig = Rig(clock: clock) { _ in body.response() }
        let stream = try await rig.agent.bytes(for: export().deadline(.seconds(10)))
        body.send("unread")
        clock.advance(by: .seconds(10))
        await body.waitUntilCancelled()
        await expect(throwing: .deadlineExceeded(.seconds(10))) { _ = try await bytes(stream) }
    }

    @Test func twoReadersAtTheSameTimeAreAnError() async throws {
        let body = PushedBody()
        let rig = Rig(response: body.response())
        let stream = try await rig.agent.bytes(for: export())
        let first = Task { try await bytes(stream) }
        await body.waitForReader()
        var iterator = stream.makeAsyncIterator()
        let error = await #expect(throws: NetworkError.self) { try await iterator.next() }
        #expect(error?.description.contains("two tasks") == true)
        body.send("a")
        body.end()
        #expect(try await first.value == Data("a".utf8))
    }

    /// A request and a model that are isolated to an actor, as in a module of an app.
    @MainActor final class Screen {
        final class Plain: Request {
            typealias Model = Void
            var path: String {
                MainActor.assertIsolated()
                return "/plain"
            }
        }

        struct Row: Decodable {
            final class Box {}
            let value: Int
            let box = Box()

            init(from decoder: any Decoder) throws {
                MainActor.assertIsolated()
                value = try decoder.singleValueContainer().decode(Int.self)
            }
        }

        func load(_ agent: Agent) async throws -> [Int] {
            var values: [Int] = []
            let stream = try await agent.bytes(for: Plain())
            for try await row in stream.jsonLines(of: Row.self) {
                MainActor.assertIsolated()
                values.append(row.value)
            }
            for try await event in agent.events(for: Plain()) {
                MainActor.assertIsolated()
                values.append(Int(event.data) ?? 0)
            }
            return values
        }
    }

    @Test func typesThatAreNotSendableStayOnTheirActor() async throws {
        let rig = Rig { request in
            switch request.headers["Accept"] {
            case nil: .text("1\n2\n")
            default:
                request.headers["Last-Event-ID"] == nil
                    ? .data(Data("id: 1\nretry: 1\ndata: 3\n\n".utf8), contentType: "text/event-stream") : .status(204)
            }
        }
        #expect(try await Screen().load(rig.agent) == [1, 2, 3])
    }
}
