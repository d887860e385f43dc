import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Uploads over HTTP/2 to nginx, which passes them on as they come: the server may respond before it has seen their end.
@Suite(.serialized, .enabled(if: TLSRig.folder != nil, needsTrust), .timeLimit(.minutes(8)))
struct HTTP2UploadTests {
    /// How a body is given, and how many bytes it has.
    enum Kind: String, CaseIterable {
        case data, largeData, small, source, largeSource, sourceOfUnknownLength
        case file, largeFile, form, largeForm, stream, largeStream, singleUse

        var byteCount: Int {
            switch self {
            case .data, .source: 1 << 20
            case .largeData, .largeSource, .sourceOfUnknownLength, .largeFile, .largeForm, .largeStream: 3 << 20
            case .file, .form, .stream, .singleUse: 300_000
            case .small: 100
            }
        }

        /// The number of uploads: `ERRAND_UPLOADS`, or else the default of the case.
        var count: Int {
            if let text = ProcessInfo.processInfo.environment["ERRAND_UPLOADS"], let count = Int(text) { return count }
            return switch self {
            case .small, .data: 400
            case .file, .form, .singleUse: 100
            case .largeData: 40
            default: byteCount > 1 << 20 ? 12 : 24
            }
        }

        func body(_ number: Int) -> OutgoingBody {
            let bytes = PatternSource(count: byteCount, statesCount: self != .sourceOfUnknownLength)
            return switch self {
            case .data, .largeData, .small: .data(Self.bytes[self] ?? Data())
            case .source, .largeSource, .sourceOfUnknownLength: .source(bytes)
            case .file, .largeFile, .form, .largeForm, .stream, .largeStream: Self.made[self] ?? .empty
            case .singleUse:
                .source(
                    ChunkSource(byteCount: Int64(byteCount), isReplayable: false) { [pattern = Self.bytes[self]] in
                        var rest = pattern ?? Data()
                        return {
                            defer { rest = rest.dropFirst(50_000) }
                            return rest.isEmpty ? nil : rest.prefix(50_000)
                        }
                    }
                )
            }
        }

        /// The bodies that a request's declaration makes; a form has one boundary for all.
        private static let made: [Kind: OutgoingBody] = {
            var made: [Kind: OutgoingBody] = [:]
            for kind in [Kind.file, .largeFile, .form, .largeForm, .stream, .largeStream] {
                let file = FileManager.default.temporaryDirectory.appending(path: "errand-h2-\(kind)-\(getpid())")
                let bytes = PatternSource(count: kind.byteCount, statesCount: true).bytes
                do {
                    try bytes.write(to: file)
                    var form = MultipartForm()
                    form.append("x", name: "field")
                    try form.append(file: file, name: "file")
                    made[kind] =
                        switch kind {
                        case .form, .largeForm: .source(try MultipartBody(form))
                        case .stream, .largeStream:
                            .source(
                                ChunkSource(byteCount: nil, isReplayable: true) {
                                    var rest = bytes
                                    return {
                                        defer { rest = rest.dropFirst(50_000) }
                                        return rest.isEmpty ? nil : rest.prefix(50_000)
                                    }
                                }
                            )
                        default: .source(try FileSource(file))
                        }
                } catch {
                    // The request then has no body, which the test notices.
                }
            }
            return made
        }()

        static let bytes = Dictionary(
            uniqueKeysWithValues: allCases.map { kind in
                let pattern = PatternSource(count: kind.byteCount, statesCount: true).bytes
                guard kind == .form || kind == .largeForm, let form = made[kind], let count = form.byteCount,
                    let reader = try? form.makeReader()
                else { return (kind, pattern) }
                var bytes = Data(count: Int(count))
                _ = bytes.withUnsafeMutableBytes { try? reader.read(into: $0) }
                return (kind, bytes)
            }
        )
    }

    private final class Received: Sendable {
        let counts = Lock<[String: Int]>([:])
        let damaged = Lock(0)
    }

    @Test(arguments: [8, 32], [false, true])
    func dataArrivesOnceAndComplete(_ concurrency: Int, _ hasKey: Bool) async throws {
        try await upload(.data, concurrency, hasKey: hasKey)
    }

    @Test(arguments: Kind.allCases.filter { $0 != .data })
    func bodiesOfEachKindArriveOnceAndComplete(_ kind: Kind) async throws {
        try await upload(kind, 8, hasKey: false)
    }

    private func upload(_ kind: Kind, _ concurrency: Int, hasKey: Bool) async throws {
        let count = kind.count
        let received = Received()
        let expected = Kind.bytes[kind]
        let upstream = try MockServer { request in
            received.counts.withLock { $0[request.headers["X-Number"] ?? "", default: 0] += 1 }
            if request.body != expected, request.path == "/upload" { received.damaged.withLock { $0 += 1 } }
            return .text("ok")
        }
        upstream.keepsLog = false
        defer { upstream.stop() }
        let nginx = try Nginx(in: #require(TLSRig.folder), upstream: upstream.port)
        defer { nginx.stop() }
        try await nginx.waitUntilReady()
        let transport = TransportUnderTest.make()
        let url = nginx.url
        let began = ContinuousClock.now
        let failures = await withTaskGroup(of: String?.self) { group in
            @Sendable
            func send(_ number: Int) async -> String? {
                var headers: HTTPHeaders = ["X-Number": "\(number)"]
                if hasKey { headers["Idempotency-Key"] = "key \(number)" }
                let body = kind.body(number)
                let request = OutgoingRequest(method: .post, url: url, headers: headers, body: body)
                do {
                    let response = try await transport.send(request, options: TransportOptions())
                    return response.statusCode == 200 ? nil : "status \(response.statusCode)"
                } catch {
                    return "\(error)"
                }
            }
            for number in 0..<concurrency { group.addTask { await send(number) } }
            var next = concurrency
            var failures: [String] = []
            for await failure in group {
                if let failure { failures.append(failure) }
                if next < count {
                    let number = next
                    group.addTask { await send(number) }
                    next += 1
                }
            }
            return failures
        }
        var counts = received.counts.withLock { $0 }
        counts[""] = nil
        print(
            "HTTP/2 uploads: \(kind), \(concurrency) at once, key: \(hasKey): \(counts.count) of \(count) arrived,",
            "\(counts.values.count { $0 > 1 }) twice, \(failures.count) failed, \(ContinuousClock.now - began)"
        )
        #expect(failures.isEmpty, "\(failures.prefix(3))")
        #expect(counts.count == count)
        #expect(counts.values.allSatisfy { $0 == 1 })
        #expect(received.damaged.withLock { $0 } == 0)
    }
}

/// An nginx that speaks HTTP/2 over TLS, or HTTP/1.1 only, and passes bodies on before they are complete.
final class Nginx {
    private let process = Process()
    let url: URL
    private let port: UInt16

    init(in folder: URL, upstream: UInt16, locations: String = "", isHTTP2: Bool = true) throws {
        // Free a moment ago.
        let free = try MockServer()
        port = free.port
        free.stop()
        url = try #require(URL(string: "https://localhost:\(port)/upload"))
        let directory = folder.appending(path: "nginx-\(port)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.path);" }.joined(separator: " ")
        let configuration = """
            user root; worker_processes 1; daemon off; pid \(directory.path)/pid; error_log \(directory.path)/error.log;
            events { worker_connections 1024; }
            http {
                access_log off; client_max_body_size 0; keepalive_requests 100000; \(temporary)
                server {
                    listen 127.0.0.1:\(port) ssl\(isHTTP2 ? " http2" : "");
                    ssl_certificate \(folder.path)/good.pem; ssl_certificate_key \(folder.path)/good.key;
                    location = /ready { return 204; }
                    \(locations)
                    location / {
                        proxy_pass http://127.0.0.1:\(upstream); proxy_http_version 1.1; proxy_request_buffering off;
                        proxy_buffering off;
                    }
                }
            }
            """
        let file = directory.appending(path: "nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        process.executableURL = URL(filePath: try #require(TLSRig.path(of: "nginx")))
        process.arguments = ["-c", file.path, "-e", "\(directory.path)/error.log"]
        try process.run()
    }

    func waitUntilReady() async throws {
        for _ in 0..<200 {
            let probe = OutgoingRequest(url: try #require(URL(string: "https://localhost:\(port)/ready")))
            let response = try? await TransportUnderTest.make().send(probe, options: TransportOptions())
            if response != nil { return }
            // nginx has no other sign that it listens.
            try await Task.sleep(for: .milliseconds(25))
        }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}
