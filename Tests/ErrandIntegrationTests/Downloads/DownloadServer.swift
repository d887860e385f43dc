import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A server with one content, which it supplies completely or in part like a file server, and a folder for it.
final class DownloadServer: Sendable {
    /// How the server deviates from RFC 9110.
    enum Habit: Sendable, CaseIterable {
        case none
        case ignoresRange, ignoresIfRange, omitsValidatorOfParts, startsElsewhere, otherLength, multipart
    }

    /// Where a response with content ends.
    enum Cut: Sendable {
        case closed(Int)
        case reset(Int)
        /// Nothing more is sent, and the connection stays open.
        case stalled(Int)
    }

    struct State {
        var content: Data
        /// The validator, as header fields.
        var validator: HTTPHeaders = ["ETag": "\"1\""]
        var headers: HTTPHeaders = [:]
        var habit = Habit.none
        /// The cuts of the next responses with content, in order.
        var cuts: [Cut] = []
        /// Whether a response takes more than a second: 200 times the pause.
        var isSlow = false
        var pause = Duration.milliseconds(8)
        var requests: [(range: String?, ifRange: String?)] = []
    }

    let state: Lock<State>
    let server: MockServer
    let folder: URL

    init(byteCount: Int = 300_000, seed: UInt64 = 1) throws {
        let state = Lock(State(content: Self.content(byteCount, seed)))
        self.state = state
        server = try MockServer { request in state.withLock { $0.response(to: request) } }
        folder = FileManager.default.temporaryDirectory.appending(path: "errand-download-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        // Otherwise stalled responses keep their connections open.
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    static func content(_ byteCount: Int, _ seed: UInt64) -> Data {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var data = Data(capacity: byteCount)
        while data.count < byteCount {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            withUnsafeBytes(of: state) { data.append(contentsOf: $0.prefix(byteCount - data.count)) }
        }
        return data
    }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    var content: Data { state.withLock { $0.content } }
    var ranges: [String?] { state.withLock { $0.requests.map(\.range) } }

    /// An agent without retries; each test of retries has its own policy.
    func agent(retries: RetryPolicy = .never, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent {
            $0.retryPolicy = retries
            change(&$0)
        }
    }

    /// Downloads until the connection is closed after so many bytes of content.
    func cut(
        _ request: some Request,
        by agent: Agent? = nil,
        to target: URL? = nil,
        after byteCount: Int = 100_000
    ) async {
        set { $0.cuts = [.closed(byteCount)] }
        await #expect(throws: NetworkError.self) {
            try await (agent ?? self.agent()).download(request, to: target ?? self.file("a"))
        }
    }

    /// Changes what is noted of an unfinished download.
    func changeRecord(_ name: String = "a.part.json", _ change: (inout [String: Any]) -> Void) throws {
        var record = try #require(JSONSerialization.jsonObject(with: data(name) ?? Data()) as? [String: Any])
        change(&record)
        try JSONSerialization.data(withJSONObject: record).write(to: file(name))
    }

    /// The names in the folder, hidden ones too.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    func file(_ name: String) -> URL { folder.appending(path: name) }
    func data(_ name: String) -> Data? { try? Data(contentsOf: file(name)) }
}

extension DownloadServer.State {
    mutating func response(to request: MockRequest) -> MockResponse {
        let (range, condition) = (request.headers["Range"], request.headers["If-Range"])
        requests.append((range, condition))
        var fields = validator.merging(headers)
        fields["Date"] = "Sun, 22 Nov 2026 12:00:00 GMT"
        fields["Accept-Ranges"] = "bytes"
        let current = validator["ETag"].flatMap { $0.hasPrefix("W/") ? nil : $0 } ?? validator["Last-Modified"]
        let isSame = condition == nil || condition == current || habit == .ignoresIfRange
        guard let range, isSame, habit != .ignoresRange, let wanted = ByteRange(range) else {
            return send(content, fields, status: 200)
        }
        guard var positions = wanted.positions(in: content.count) else {
            return MockResponse(status: 416, headers: fields.merging(["Content-Range": "bytes */\(content.count)"]))
        }
        if habit == .startsElsewhere { positions = positions.lowerBound / 2..<positions.upperBound }
        if habit == .multipart {
            return send(
                content[positions],
                fields.merging(["Content-Type": "multipart/byteranges; boundary=x"]),
                status: 206
            )
        }
        if habit == .omitsValidatorOfParts {
            fields = HTTPHeaders(fields.filter { !["ETag", "Last-Modified"].contains($0.name) })
        }
        let length = habit == .otherLength ? content.count + 1 : content.count
        fields["Content-Range"] = ContentRange(positions, of: length).description
        return send(content[positions], fields, status: 206)
    }

    private mutating func send(_ body: Data, _ fields: HTTPHeaders, status: Int) -> MockResponse {
        let response = MockResponse.data(Data(body), status: status, headers: fields)
        if isSlow { return response.dripping(max(1, body.count / 200), every: pause) }
        guard !cuts.isEmpty else { return response }
        switch cuts.removeFirst() {
        case .closed(let place): return response.faulted(.closeInBody(after: place))
        case .reset(let place): return response.faulted(.resetInBody(after: place))
        case .stalled(let place): return response.dripping(place, every: .seconds(60))
        }
    }
}

extension MockResponse {
    /// Returns a content, or what follows the start of the range that a request has.
    static func content(_ content: Data, for request: MockRequest, _ fields: HTTPHeaders) -> MockResponse {
        guard let start = request.headers["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
            return .data(content, headers: fields)
        }
        let range = "bytes \(start)-\(content.count - 1)/\(content.count)"
        return .data(content[start...], status: 206, headers: fields.merging(["Content-Range": range]))
    }
}
