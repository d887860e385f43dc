import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct RequestBodyTests {
    private let post = GeneralRequest("/x").method(.post).parameters(["a": 1])

    @Test(
        arguments: [
            (RequestBody.automatic, #"{"a":1}"#, "application/json", nil), (.empty, "", nil, "a=1"),
            (.data(Data("raw".utf8)), "raw", "application/octet-stream", "a=1"),
            (.data(Data("<x/>".utf8), contentType: "text/xml"), "<x/>", "text/xml", "a=1"),
            (.text("gr\u{fc}n"), "gr\u{fc}n", "text/plain; charset=utf-8", "a=1"),
            (.text("a,b", contentType: "text/csv"), "a,b", "text/csv", "a=1"),
            (.xml("<a/>"), "<a/>", "application/xml; charset=utf-8", "a=1"),
            (.json(["k": [1, 2]]), #"{"k":[1,2]}"#, "application/json", "a=1"),
            (
                .form(["k": "a b+&=", "l": [1]]), "k=a%20b%2B%26%3D&l%5B%5D=1", "application/x-www-form-urlencoded",
                "a=1"
            ),
            (
                .form(["l": [1, 2], "t": true], encoding: .form.arrays(.repeated).booleans(.digits)), "l=1&l=2&t=1",
                "application/x-www-form-urlencoded", "a=1"
            ),
        ] as [(RequestBody, String, String?, String?)]
    )
    func eachBodyIsSentAsItIs(body: RequestBody, text: String, type: String?, query: String?) async throws {
        let sent = try await Rig().wire(post.body(body))
        #expect(try sent.bodyText() == text)
        #expect(sent.headers["Content-Type"] == type)
        #expect(sent.url.query() == query)
    }

    /// Parameters of the config, which may be API keys, are not put into the URL because the body is taken.
    @Test(arguments: [RequestBody.json(["k": 1]), .data(Data("raw".utf8)), .form(["k": 1]), .empty])
    func requestWithItsOwnBodyHasNoBaseParametersInTheURL(body: RequestBody) async throws {
        let rig = Rig(config: .test { $0.parameters = ["api_key": "secret"] })
        let request = post.body(body)
        let sent = try await rig.wire(request)
        #expect(sent.url.query() == "a=1")
        #expect(!(try sent.bodyText()).contains("secret"))
        let plan = try await rig.agent.plan(for: request)
        #expect(plan["baseParameters"]?.value == "not sent: the request has a body of its own")
    }

    @Test func baseParametersAreSentWhereTheParametersOfTheRequestAre() async throws {
        let rig = Rig(config: .test { $0.parameters = ["app": "x"] })
        #expect(try await rig.wire(post).bodyText() == #"{"app":"x","a":1}"#)
        #expect(try await rig.wire(post.parameterEncoding(.query)).url.query() == "app=x&a=1")
        #expect(try await rig.wire(post.parameterEncoding(.query).body(.json([1]))).url.query() == "app=x&a=1")
        #expect(try await rig.wire(GeneralRequest("/x").body(.empty)).url.query() == "app=x")
        #expect(try await rig.agent.plan(for: post)["baseParameters"]?.value == "in the body")
    }

    @Test func aContentTypeAmongTheHeadersWins() async throws {
        let sent = try await Rig().wire(post.header("content-type", "application/vnd.api+json"))
        #expect(sent.headers.values(for: "Content-Type") == ["application/vnd.api+json"])
        #expect(try sent.bodyText() == #"{"a":1}"#)
    }

    @Test func customEncoderIsUsed() async throws {
        struct Order: Encodable {
            var itemName = "tea"
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let sent = try await Rig().wire(GeneralRequest("/x").method(.put).body(.json(Order(), encoder: encoder)))
        #expect(try sent.bodyText() == #"{"item_name":"tea"}"#)
    }

    @Test func membersAreInTheOrderOfThePropertiesAndThoseOfADictionarySorted() async throws {
        struct Order: Encodable {
            var zone = 1
            var item = ["b": 2, "a": 3]
            var count = 4
        }
        let sent = try await Rig().wire(GeneralRequest("/x").method(.put).body(.json(Order())))
        #expect(try sent.bodyText() == #"{"zone":1,"item":{"a":3,"b":2},"count":4}"#)
    }

    @Test func unsupportedValueIsReportedWithoutIt() async throws {
        let rig = Rig()
        let request = GeneralRequest("/x").method(.post).body(.json(["secret": Double.infinity]))
        let error = try #require(await expect(kind: .invalidRequest) { try await rig.agent.send(request) })
        #expect(error.underlying is EncodingError)
        #expect(!error.description.contains("inf"))
        #expect(rig.transport.requestCount == 0)
    }

    @Test(arguments: [RequestBody.data(Data()), .form([:]), .empty])
    func anEmptyBodyIsNone(body: RequestBody) async throws {
        let sent = try await Rig().wire(GeneralRequest("/x").body(body))
        #expect(sent.body.byteCount == 0)
        guard case .empty = sent.body else { throw Unexpected("the body is \(sent.body)") }
    }

    struct Source: BodySource {
        let bytes: [UInt8]
        var byteCount: Int64? { Int64(bytes.count) }
        func makeReader() throws -> any BodyReader { Reader(bytes) }

        final class Reader: BodyReader {
            var rest: ArraySlice<UInt8>
            init(_ bytes: [UInt8]) { rest = bytes[...] }
            func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
                let count = min(7, rest.count, buffer.count)
                buffer.copyBytes(from: rest.prefix(count))
                rest = rest.dropFirst(count)
                return count
            }
        }
    }

    @Test func aSourceIsReadAnyNumberOfTimes() async throws {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let adapter = ClosureAdapter { request, _ in request.body = .source(Source(bytes: bytes)) }
        let sent = try await Rig(config: .test { $0.adapters = [adapter] }).wire(post)
        #expect(sent.body.byteCount == 1000)
        #expect(sent.body.data == nil)
        #expect(try sent.bodyData() == Data(bytes))
        #expect(try sent.bodyData() == Data(bytes))
    }

    /// A type for all requests of a config or service does not apply to a form or a file, but may replace the type of JSON.
    @Test func contentTypesOfConfigAndServiceApplyToJSONAlone() async throws {
        func type(_ request: some Request & Sendable, _ inherited: String) async throws -> String? {
            let rig = Rig(config: .test { $0.headers = ["Content-Type": inherited] })
            let sent = try await rig.wire(request)
            return sent.headers["Content-Type"]
        }
        let request = GeneralRequest("/x").method(.post)
        let bytes = Data("x".utf8)
        #expect(
            try await type(request.body(.form(["a": 1])), "application/json") == "application/x-www-form-urlencoded"
        )
        #expect(try await type(request.body(.data(bytes, contentType: "image/png")), "application/json") == "image/png")
        #expect(try await type(request.body(.text("x")), "application/json") == "text/plain; charset=utf-8")
        #expect(try await type(request.parameters(["a": 1]), "text/plain") == "application/json")
        let own = "application/vnd.api+json"
        #expect(try await type(request.parameters(["a": 1]), own) == own)
        #expect(try await type(request.body(.json([1])), own) == own)
        #expect(try await type(request.body(.json([1])), "application/x-amz-json-1.1") == "application/x-amz-json-1.1")
        #expect(try await type(request.body(.data(bytes)), "application/x-protobuf") == "application/x-protobuf")
        let form = "application/x-www-form-urlencoded; charset=UTF-8"
        #expect(try await type(request.body(.form(["a": 1])), form) == form)
        #expect(try await type(request.body(.form(["a": 1])).header("Content-Type", own), "text/plain") == own)
    }
}
