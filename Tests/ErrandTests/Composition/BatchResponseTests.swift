import Errand
import ErrandTesting
import Foundation
import Testing

/// The results of a batch beside its models.
@Suite struct BatchResponseTests {
    @Test func aBatchReturnsTheResponseOfEachRequest() async throws {
        let agent = Rig.numbers().agent
        let (one, text) = try await agent.response(for: BatchRequest(GetNumber(number: 1), GetText(number: 2)))
        #expect((one.model, text.model) == (1, "2"))
        #expect(one.statusCode == 200 && !text.source.isFromCache && text.url.path() == "/ok/2")
        let many = try await agent.response(for: ArrayBatchRequest((0..<5).map { GetNumber(number: $0) }))
        #expect(many.map(\.model) == [0, 1, 2, 3, 4])
        #expect(many.map { $0.url.path() } == (0..<5).map { "/ok/\($0)" })
        await #expect(throws: NetworkError.self) {
            try await agent.response(for: BatchRequest(GetNumber(number: 1), GetNumber.failing()))
        }
        let none: Void = try await agent.response(for: BatchRequest())
        _ = none
    }

    @Test func aRequestWhoseFailureIsIgnoredHasAnOptionalResponse() async throws {
        let agent = Rig.numbers().agent
        let (one, two, none) = try await agent.response(
            for: BatchRequest(
                GetNumber(number: 1),
                GetNumber(number: 2).ignoringFailure(),
                GetNumber.failing().ignoringFailure().header("X", "1")
            )
        )
        #expect(one.model == 1 && one.statusCode == 200)
        #expect(two?.model == 2 && two?.url.path() == "/ok/2")
        #expect(none == nil)
        let numbers = [GetNumber(number: 1), .failing(), GetNumber(number: 3)]
        let many = try await agent.response(for: ArrayBatchRequest(numbers.map { $0.ignoringFailure() }))
        #expect(many.map { $0?.model } == [1, nil, 3])
        #expect(many.map { $0?.url.path() } == ["/ok/1", nil, "/ok/3"])
    }

    @Test func aBatchWithinABatchReturnsItsResponses() async throws {
        let batch = BatchRequest(
            BatchRequest(GetNumber(number: 1), GetText(number: 2)),
            ArrayBatchRequest([GetNumber(number: 3)]).ignoringFailure(),
            BatchRequest(GetNumber(number: 4), GetNumber.failing()).ignoringFailure()
        )
        let agent = Rig.numbers().agent
        let (pair, array, none) = try await agent.response(for: batch.deadline(.seconds(60)).header("X", "1"))
        #expect(pair.0.url.path() == "/ok/1" && pair.1.model == "2")
        #expect(array?.map { $0.url.path() } == ["/ok/3"])
        #expect(none == nil)
    }

    @Test func nothingIsSentForTheResponsesOfABatchWithAChain() async throws {
        let rig = Rig.numbers()
        let chain = ChainRequest(GetNumber(number: 2))
        await expect(throwing: .notOneRequest("ChainRequest")) {
            _ = try await rig.agent.response(for: BatchRequest(GetNumber(number: 1), chain))
        }
        await expect(throwing: .notOneRequest("ChainRequest")) {
            _ = try await rig.agent.response(for: ArrayBatchRequest([chain.header("X", "1").ignoringFailure()]))
        }
        await expect(throwing: .notOneRequest("IgnoringFailure")) {
            _ = try await rig.agent.response(for: GetNumber(number: 1).ignoringFailure())
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func cancelledBatchEndsThoseWhoseFailureIsIgnored() async throws {
        let agent = Rig.numbers().agent
        let task = Task {
            try await agent.response(for: BatchRequest(GetNumber.waiting(1).ignoringFailure(), GetNumber(number: 1)))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func storedResponsesOfABatchAreRecognized() async throws {
        let cache = ResponseCache(memory: MemoryStore(), disk: nil)
        let agent = Rig.numbers(config: .test { $0.cache = cache }).agent
        let request = GetNumber(number: 3).cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        _ = try await agent.send(request)
        let (stored, fresh) = try await agent.response(for: BatchRequest(request, GetNumber(number: 4)))
        #expect(stored.source.isFromCache && !fresh.source.isFromCache)
    }

    @Test func scopeMayBeNil() async throws {
        let none: RequestScope? = nil
        #expect(try await Rig.numbers().agent.send(GetNumber(number: 4), in: none) == 4)
    }

    @Test func theLastResponseOfAPollIsReturned() async throws {
        let count = Lock(0)
        let rig = Rig { _ in .json("\(count.next())") }
        let request = GeneralRequest("/job").expecting(Int.self)
        #expect(try await rig.agent.poll(request, every: .zero) { $0.model == 4 }.last().model == 4)
        #expect(rig.transport.requestCount == 4)
    }

    @Test func pagesFollowAClosure() async throws {
        let rig = Rig.numbers()
        var seen: [Int] = []
        let pages = rig.agent.pages(of: GetNumber(number: 1), upTo: .requests(9)) { page in
            page.model < 5 ? GetNumber(number: page.model + 2) : nil
        }
        for try await page in pages { seen.append(page.model) }
        #expect(seen == [1, 3, 5])
        #expect(rig.transport.requests.map { $0.url.path() } == ["/ok/1", "/ok/3", "/ok/5"])
        // Each iteration starts over.
        for try await page in pages { seen.append(page.model) }
        #expect(seen == [1, 3, 5, 1, 3, 5])
    }

    @Test func callsOfOneTypeAreABatch() async throws {
        let rig = Rig { request in
            let calls = try request.json([JSONValue].self)
            let responses = calls.reversed().map { call in
                #"{"jsonrpc":"2.0","id":\#(call["id"]?.int ?? 0),"result":\#(call["params"]?[0]?.int ?? 0)}"#
            }
            return .json("[\(responses.joined(separator: ","))]")
        }
        let calls = (1...4).map { JSONRPCCall<Int>("square", [.number(JSONNumber($0 * $0))], id: .integer($0)) }
        let responses = try await rig.agent.send(GeneralRequest("/rpc").calling(batch: calls))
        #expect(try calls.map { try responses.value(of: $0) } == [1, 4, 9, 16])
    }

    @Test func theBodyOfAnErrorIsDecoded() async throws {
        struct Problem: Decodable { var title: String }
        let rig = Rig { _ in .json(#"{"error":{"title":"no stock"},"code":7}"#, status: 422) }
        let error = try #require(
            await #expect(throws: NetworkError.self) { try await rig.agent.send(GetNumber(number: 1)) }
        )
        #expect(try error.decode(Problem.self, at: "error")?.title == "no stock")
        #expect(try error.decode(Int.self, at: "code") == 7)
        #expect(throws: NetworkError.self) { try error.decode(Int.self, at: "none") }
        #expect(try NetworkError(.deadlineExceeded(.zero)).decode(Int.self) == nil)
    }

    @Test func theBodyOfAnErrorIsDecodedByTheDecoderOfTheConfig() async throws {
        struct Problem: Decodable { var errorCode: Int }
        var (config, decoder) = (NetworkConfig.test, LosslessJSONDecoder())
        decoder.keys = .snakeCase
        config.decoder = decoder
        let rig = Rig(config: config) { _ in .json(#"{"error_code":5}"#, status: 500) }
        let error = try #require(
            await #expect(throws: NetworkError.self) { try await rig.agent.send(GetNumber(number: 1)) }
        )
        #expect(try error.decode(Problem.self)?.errorCode == 5)
        #expect(throws: NetworkError.self) { try error.decode(Problem.self, decoder: LosslessJSONDecoder()) }
    }
}
