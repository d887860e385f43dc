#if os(Linux)
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The end of a body that is the end of its TLS connection (RFC 9112, section 9.8).
@Suite(
    .serialized,
    .enabled(if: TLSRig.obstacleToServers == nil, "\(TLSRig.obstacleToServers ?? "")"),
    .timeLimit(.minutes(6))
)
struct CurlTLSEndTests {
    /// The ways to receive a body.
    private enum Way: CaseIterable { case send, stream, download, cache, redirect, retry }

    private struct Row: Sendable, CustomTestStringConvertible {
        let framing: String
        let end: String
        var acceptsMissing = false
        let isComplete: Bool
        var testDescription: String { "\(framing), \(end), accepted: \(acceptsMissing)" }
    }

    private static let rows = [
        Row(framing: "close", end: "notify", isComplete: true),
        Row(framing: "close", end: "fin", isComplete: false),
        Row(framing: "close", end: "fin", acceptsMissing: true, isComplete: true),
        Row(framing: "length", end: "fin", isComplete: true),
        Row(framing: "chunked", end: "fin", isComplete: true),
    ]

    private let folder: URL
    private let servers: TLSServers

    init() async throws {
        folder = try await TLSRig.onThread { try TLSRig.madeFolder() }
        servers = try await TLSRig.onThread { [folder] in try TLSServers(in: folder, adding: TLSServers.endings) }
    }

    private func agent(acceptsMissing: Bool = false) throws -> Agent {
        let cache = ResponseCache(memory: MemoryStore(), disk: nil)
        let config = NetworkConfig(retryPolicy: RetryPolicy(maximumAttempts: 3, baseDelay: .zero), cache: cache)
        let transport = try CurlTransport.make {
            $0.trust = .file(path: folder.appending(path: "ca.pem").path)
            ($0.proxy, $0.acceptsMissingCloseNotify) = (.none, acceptsMissing)
        }
        return Agent(config: config, transport: transport)
    }

    private func request(_ path: String) throws -> GeneralRequest<DecodableFormatter<String>> {
        GeneralRequest(try servers.url("end", path: path).absoluteString).expecting(String.self)
    }

    @Test(arguments: Way.allCases, Self.rows)
    private func aBodyThatEndsWithItsConnectionNeedsCloseNotify(_ way: Way, _ row: Row) async throws {
        let agent = try agent(acceptsMissing: row.acceptsMissing)
        let path = (way == .redirect ? "/moved" : "") + "/\(row.framing)/\(row.end)"
        let request = try request(path)
        let result: Result<String, any Error>
        do {
            let text: String
            switch way {
            case .send, .redirect, .retry: text = try await agent.send(request)
            case .cache: text = try await agent.send(request.cachePolicy(.http))
            case .stream:
                var bytes = Data()
                for try await chunk in try await agent.bytes(for: request) { bytes += chunk }
                text = String(decoding: bytes, as: UTF8.self)
            case .download:
                let file = FileManager.default.temporaryDirectory.appending(path: "errand-end-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: file) }
                _ = try await agent.download(request, to: file)
                text = try String(contentsOf: file, encoding: .utf8)
            }
            result = .success(text)
        } catch {
            result = .failure(error)
        }
        if row.isComplete {
            #expect(try result.get() == "abc")
        } else {
            let error = #expect(throws: NetworkError.self) { try result.get() }
            #expect(error?.reason == .closedWithoutCloseNotify)
            #expect(error?.kind == .connectionLost)
        }
        let counted = try await servers.requestCount("/\(row.framing)/\(row.end)", over: agent.pipeline.transport)
        // A stream is not retried after its first byte.
        if !row.isComplete, way != .stream { #expect(counted == 3) } else { #expect(counted == 1) }
        guard way == .cache else { return }
        _ = try? await agent.send(request.cachePolicy(.http))
        let again = try await servers.requestCount("/\(row.framing)/\(row.end)", over: agent.pipeline.transport)
        #expect((again > counted) == !row.isComplete)
    }

    @Test func aBodyIsReadAgainIfTheFirstOneEndsWithoutCloseNotify() async throws {
        let response = try await agent().response(for: request("/close/second"))
        #expect(response.model == "abc" && response.metrics.attempts.count == 2)
    }

    /// Before 8.1, libcurl does not see a difference.
    @Test(.enabled(if: (CurlTransport.libraryVersion ?? "0").compare("8.1", options: .numeric) != .orderedAscending))
    func aStreamOfHTTP2ThatIsResetWithoutErrorIsNoCompleteBody() async throws {
        let url = try servers.url("cut").absoluteString
        let error = await #expect(throws: NetworkError.self) {
            try await agent().send(GeneralRequest(url).expecting(Data.self))
        }
        #expect(error?.kind == .connectionLost)
    }
}
#endif
