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
        /// How the body ended if it is not complete.
        var _ending: CassetteEnding?
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
    mutating func set(_ response: TransportResponse, _ body: Data, chunks: [Int]?, ending: CassetteEnding? = nil) {
        self.response = Response(
            status: response.statusCode,
            headers: response.headers.map { Pair(name: $0.name, value: $0.value) },
            content: Content(size: body.count, mimeType: response.headers["Content-Type"] ?? ""),
            bodySize: body.count
        )
        set(body)
        (self.response.content._chunks, self.response.content._ending) = (chunks, ending)
    }

    /// The body of the request.
    var requestBody: Data { request.postData.map { Self.bytes(of: $0.text, $0._encoding) } ?? Data() }

    /// The body of the response.
    var responseBody: Data { Self.bytes(of: response.content.text ?? "", response.content.encoding) }

    /// Replaces the body of the response, and its length in the header section.
    mutating func set(_ body: Data) {
        (response.content.text, response.content.encoding) = Self.text(of: body)
        let size = response.content.size
        guard body.count != size else { return }
        (response.content.size, response.bodySize) = (body.count, body.count)
        for (index, field) in response.headers.enumerated() where field.name.lowercased() == "content-length" {
            if field.value == "\(size)" { response.headers[index].value = "\(body.count)" }
        }
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
        let chunks = response.content._chunks.map {
            ResponseBody(chunks: CassetteChunks(body, $0, response.content._ending))
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

/// How a recorded body ended that is not complete.
enum CassetteEnding: String, Codable, Sendable {
    /// Its reader did not want more.
    case left
    /// The server closed the connection.
    case cut
    /// The server reset the connection.
    case reset
    /// It was too large to be recorded.
    case tooLarge

    var error: any Error {
        switch self {
        case .left: CassetteError("the rest of the body was not recorded, because its reader ended: record it again")
        case .cut: NetworkError(.closedInBody)
        case .reset: NetworkError(.connectionReset)
        case .tooLarge: CassetteError("the body was not recorded, because it is larger than 64 MiB: use a MockServer")
        }
    }
}

/// The chunks of a recorded body, in their sizes.
private final class CassetteChunks: ResponseChunks {
    private let rest: Lock<(body: Data, sizes: ArraySlice<Int>)>
    private let ending: CassetteEnding?

    init(_ body: Data, _ sizes: [Int], _ ending: CassetteEnding?) {
        (rest, self.ending) = (Lock((body, sizes[...])), ending)
    }

    func next() async throws -> Data? {
        let chunk = rest.withLock { rest -> Data in
            // What the sizes do not cover is one more chunk.
            let chunk = rest.body.prefix(max(1, rest.sizes.popFirst() ?? rest.body.count))
            rest.body = rest.body[chunk.endIndex...]
            return chunk
        }
        // A slice has other indices.
        if !chunk.isEmpty { return Data(chunk) }
        if let ending { throw ending.error }
        return nil
    }

    func cancel() { rest.withLock { $0 = (Data(), []) } }
}
