import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Uploads of 256 MiB from a file, to a server that discards them.
struct UploadBench {
    let folder: URL
    let reporter: Reporter
    var transport: any Transport = URLSessionTransport()

    private static let size = 256 << 20

    /// Compares nothing but the upload itself.
    func run(as name: String) async throws {
        guard ChildProcess.program("python3") != nil else {
            return reporter.skip(name, because: "python3 is not installed")
        }
        let file = folder.appending(path: "upload.bin")
        try Self.write(to: file)
        let server = try ServerProcess(python: Self.program)
        // It ends with the object.
        defer { extendLifetime(server) }
        try await compare(file, server.url, as: name)
    }

    func run() async throws {
        guard ChildProcess.program("python3") != nil else {
            return reporter.skip("transfer.upload", because: "python3 is not installed")
        }
        let file = folder.appending(path: "upload.bin")
        try Self.write(to: file)
        let server = try ServerProcess(python: Self.program)
        try await compare(file, server.url, as: "transfer.upload.raw")
        for (name, kind) in [("transfer.upload.rss", "file"), ("transfer.upload.form.rss", "form")] {
            try reporter.reportPeak(name, of: ["--upload", kind, file.path, server.url.absoluteString])
        }
    }

    private static func write(to file: URL) throws {
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw ChildProcess.Failed(description: "no file can be written to the temporary folder")
        }
        let handle = try FileHandle(forWritingTo: file)
        let block = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        for _ in 0..<size >> 20 { try handle.write(contentsOf: block) }
        try handle.close()
    }

    private func compare(_ file: URL, _ url: URL, as name: String) async throws {
        let agent = Agent(config: NetworkConfig(baseURL: BaseURL(url)), transport: transport)
        let session = URLSession(configuration: .default)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let raw = request
        try await reporter.compare(name, against: "raw uploadTask(fromFile:)") {
            try await agent.send(Self.put(.file(file)))
        } raw: {
            try await Self.upload(raw, file, session)
        }
    }

    private static func put(_ body: RequestBody) -> some Request<Void> & Sendable {
        GeneralRequest("/").method(.put).body(body).timeout(.seconds(60)).expecting(Void.self)
    }

    private static func upload(_ request: URLRequest, _ file: URL, _ session: URLSession) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            session.uploadTask(with: request, fromFile: file) { _, response, error in
                if let error { return done.resume(throwing: error) }
                let isDone = (response as? HTTPURLResponse)?.statusCode == 200
                done.resume(with: isDone ? .success(()) : .failure(URLError(.badServerResponse)))
            }.resume()
        }
    }

    /// Uploads a file, or a form with it, and prints how many MiB the peak of the memory rose.
    static func measure(_ kind: String, _ file: URL, to url: URL) async throws {
        let agent = Agent(config: NetworkConfig(baseURL: BaseURL(url)))
        // Everything that a first send loads.
        try await agent.send(put(.multipart { $0.append("x", name: "file") }))
        let before = ProcessFigures.peakMemory ?? 0
        let body: RequestBody =
            try kind == "form" ? .multipart { try $0.append(file: file, name: "file") } : .file(file)
        try await agent.send(put(body))
        print((ProcessFigures.peakMemory ?? 0) - before)
    }

    /// Discards what it receives.
    private static let program = #"""
        import http.server, sys, threading
        buffer = memoryview(bytearray(1 << 20))
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *args): pass
            def do_PUT(self):
                rest = int(self.headers["Content-Length"])
                while rest:
                    count = self.rfile.readinto1(buffer[:min(rest, len(buffer))])
                    if not count: return
                    rest -= count
                self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print("http://127.0.0.1:%d" % server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        """#
}
