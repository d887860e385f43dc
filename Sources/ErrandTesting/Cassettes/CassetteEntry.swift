import Errand
import Foundation

/// The file of a cassette: an HTTP archive.
///
/// Source: HAR 1.2. Names that begin with an underscore are ours, as the format allows.
struct CassetteFile: Codable, Sendable {
    struct Log: Codable, Sendable {
        struct Creator: Codable, Sendable {
            var name = "Errand"
            var version = "0.1"
        }

        var version = "1.2"
        var creator = Creator()
        var entries: [CassetteEntry] = []
        /// The number of stand-ins in the entries, so that further ones are others.
        var _standIns: Int?
    }

    var log = Log()
}

/// A request and its response.
struct CassetteEntry: Codable, Sendable {
    struct Pair: Codable, Sendable {
        var name: String
        var value: String
    }

    struct Body: Codable, Sendable {
        var mimeType: String
        var text: String
        /// `base64`, or `nil` for text.
        var _encoding: String?
    }

    struct Request: Codable, Sendable {
        var method: String
        var url: String
        var httpVersion = "HTTP/1.1"
        var cookies: [Pair] = []
        var headers: [Pair]
        var queryString: [Pair]
        var postData: Body?
        var headersSize = -1
        var bodySize: Int
        /// The parts of the path that the request marks as secret, or their stand-ins.
        var _secretPathTexts: [String]?
    }

    struct Content: Codable, Sendable {
        var size: Int
        var mimeType: String
        var text: String?
        /// `base64`, or `nil` for text.
        var encoding: String?
        /// The sizes of the chunks of a body that was read while it was received.
        var _chunks: [Int]?
        /// Whether there was more, which the reader did not want.
        var _isPartial: Bool?
    }

    struct Response: Codable, Sendable {
        var status: Int
        var statusText = ""
        var httpVersion = "HTTP/1.1"
        var cookies: [Pair] = []
        var headers: [Pair]
        var content: Content
        var redirectURL = ""
        var headersSize = -1
        var bodySize: Int
    }

    struct Timings: Codable, Sendable {
        var send = 0
        var wait = 0
        var receive = 0
    }

    struct Cache: Codable, Sendable {}

    var startedDateTime: String
    var time = 0
    var request: Request
    var response: Response
    var cache = Cache()
    var timings = Timings()

    /// Creates the entry of a request that has no response yet.
    ///
    /// - Throws: The error of a `BodySource`.
    init(_ outgoing: OutgoingRequest) throws {
        let request = try outgoing.received()
        startedDateTime = Date.now.formatted(.iso8601)
        self.request = Request(
            method: request.method.rawValue,
            url: outgoing.url.absoluteString,
            headers: request.headers.map { Pair(name: $0.name, value: $0.value) },
            queryString: request.queryItems.map { Pair(name: $0.name, value: $0.value) },
            bodySize: request.body.count
        )
        let secret = outgoing.secretPathTexts
        if !secret.isEmpty { self.request._secretPathTexts = secret }
        if !request.body.isEmpty {
            let (text, encoding) = Self.text(of: request.body)
            self.request.postData = Body(
                mimeType: request.headers["Content-Type"] ?? "",
                text: text,
                _encoding: encoding
            )
        }
        response = Response(status: 0, headers: [], content: Content(size: 0, mimeType: ""), bodySize: 0)
    }

    /// Adds a response, and the sizes of its chunks if it was read while it was received.
    mutating func set(_ response: TransportResponse, _ body: Data, chunks: [Int]?, isPartial: Bool) {
        self.response = Response(
            status: response.statusCode,
            headers: response.headers.map { Pair(name: $0.name, value: $0.value) },
            content: Content(size: 0, mimeType: response.headers["Content-Type"] ?? ""),
            bodySize: body.count
        )
        set(body)
        self.response.content._chunks = chunks
        if isPartial { self.response.content._isPartial = true }
    }

    /// The body of the request.
    var requestBody: Data { request.postData.map { Self.bytes(of: $0.text, $0._encoding) } ?? Data() }

    /// The body of the response.
    var responseBody: Data { Self.bytes(of: response.content.text ?? "", response.content.encoding) }

    mutating func set(_ body: Data) {
        (response.content.text, response.content.encoding) = Self.text(of: body)
        response.content.size = body.count
    }

    mutating func set(requestBody body: Data) {
        guard let type = request.postData?.mimeType else { return }
        let (text, encoding) = Self.text(of: body)
        request.postData = Body(mimeType: type, text: text, _encoding: encoding)
    }

    /// The request as a server would have received it.
    func received() throws -> MockRequest {
        guard let url = URL(string: request.url) else {
            throw CassetteError("the cassette holds an invalid URL: \(request.url)")
        }
        let headers = HTTPHeaders(request.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) })
        let method = HTTPMethod(rawValue: request.method)
        return try OutgoingRequest(method: method, url: url, headers: headers, body: .data(requestBody)).received()
    }

    /// The recorded response, byte for byte.
    var transported: TransportResponse {
        let body = responseBody
        let headers = HTTPHeaders(response.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) })
        let isPartial = response.content._isPartial == true
        let chunks = response.content._chunks.map {
            ResponseBody(chunks: CassetteChunks(body, $0, isPartial: isPartial))
        }
        return TransportResponse(statusCode: response.status, headers: headers, body: chunks ?? ResponseBody(body))
    }

    private static func text(of body: Data) -> (text: String, encoding: String?) {
        // A byte order mark would be lost.
        if let text = String(validating: body, as: UTF8.self), !text.unicodeScalars.starts(with: ["\u{FEFF}"]) {
            return (text, nil)
        }
        return (body.base64EncodedString(), "base64")
    }

    private static func bytes(of text: String, _ encoding: String?) -> Data {
        encoding == "base64" ? Data(base64Encoded: text) ?? Data() : Data(text.utf8)
    }
}

/// The chunks of a recorded body, in their sizes.
private final class CassetteChunks: ResponseChunks {
    private let rest: Lock<(body: Data, sizes: ArraySlice<Int>)>

    private let isPartial: Bool

    init(_ body: Data, _ sizes: [Int], isPartial: Bool) {
        rest = Lock((body, sizes[...]))
        self.isPartial = isPartial
    }

    func next() async throws -> Data? {
        try rest.withLock { rest in
            guard !rest.body.isEmpty else {
                guard isPartial else { return nil }
                throw CassetteError("the rest of the body was not recorded, because its reader ended: record it again")
            }
            // What the sizes do not cover is one more chunk.
            let size = min(rest.body.count, max(1, rest.sizes.popFirst() ?? rest.body.count))
            defer { rest.body = Data(rest.body.dropFirst(size)) }
            return Data(rest.body.prefix(size))
        }
    }

    func cancel() { rest.withLock { $0 = (Data(), []) } }
}
