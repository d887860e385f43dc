import Errand
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Downloads of 256 MiB to a file, from a server that has them in memory.
struct DownloadBench {
    let folder: URL
    let reporter: Reporter
    var transport: any Transport = URLSessionTransport()

    private static let size = 256 << 20

    /// Compares nothing but the download itself.
    func run(as name: String) async throws {
        guard ChildProcess.program("python3") != nil else {
            return reporter.skip(name, because: "python3 is not installed")
        }
        let server = try ServerProcess(python: Self.program)
        // It ends with the object.
        defer { extendLifetime(server) }
        try await compare(server.url, DownloadOptions(), as: name)
    }

    func run() async throws {
        guard ChildProcess.program("python3") != nil else {
            return reporter.skip("transfer.download", because: "python3 is not installed")
        }
        let server = try ServerProcess(python: Self.program)
        let digest = try await digest(of: server.url)
        try await compare(server.url, DownloadOptions(), as: "transfer.download.raw")
        try await compare(server.url, DownloadOptions(sha256: digest), as: "transfer.download.digest")
        let arguments = ["--download", folder.appending(path: "child.bin").path, server.url.absoluteString]
        try reporter.reportPeak("transfer.download.rss", of: arguments)
    }

    /// Returns the digest of what the server sends, which is the same block again and again.
    private func digest(of url: URL) async throws -> String {
        try await Agent(config: NetworkConfig(baseURL: BaseURL(url))).send(
            GeneralRequest("/digest").timeout(.seconds(60)).expecting(String.self)
        )
    }

    private func compare(_ url: URL, _ options: DownloadOptions, as name: String) async throws {
        let agent = Agent(config: NetworkConfig(baseURL: BaseURL(url)), transport: transport)
        let raw = RawDownload()
        let target = folder.appending(path: "download.bin")
        try await reporter.compare(name, against: "raw downloadTask(with:)") {
            let file = try await agent.download(GeneralRequest("/"), to: target, options: options)
            guard file.byteCount == Self.size else { throw URLError(.badServerResponse) }
        } raw: {
            try await raw.download(url, to: target)
        }
    }

    /// Downloads a file, and prints how many MiB the peak of the memory rose.
    static func measure(_ target: URL, from url: URL) async throws {
        let agent = Agent(config: NetworkConfig(baseURL: BaseURL(url)))
        // Everything that a first send loads.
        _ = try await agent.download(GeneralRequest("/small"), to: target)
        let before = ProcessFigures.peakMemory ?? 0
        _ = try await agent.download(GeneralRequest("/"), to: target)
        print((ProcessFigures.peakMemory ?? 0) - before)
    }

    private static let program = #"""
        import hashlib, http.server, sys, threading
        block = bytes((n * 31 ^ n >> 8) & 255 for n in range(1 << 20))
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *args): pass
            def do_GET(self):
                if self.path == "/digest":
                    digest = hashlib.sha256()
                    for _ in range(256): digest.update(block)
                    return self.reply(digest.hexdigest().encode(), 1)
                self.reply(block if self.path == "/" else block[:1000], 256 if self.path == "/" else 1)
            def reply(self, body, count):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("ETag", '"1"')
                self.send_header("Content-Length", str(len(body) * count))
                self.end_headers()
                for _ in range(count): self.wfile.write(body)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print("http://127.0.0.1:%d" % server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        """#
}

/// Downloads with a task of URLSession, as one would by hand: to a temporary file that is moved.
private final class RawDownload: NSObject, URLSessionDownloadDelegate, Sendable {
    private struct Download {
        var done: CheckedContinuation<Void, any Error>?
        var target: URL?
    }

    private let download = Mutex(Download())

    func download(_ url: URL, to target: URL) async throws {
        let session = URLSession(configuration: .default, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        try await withCheckedThrowingContinuation { done in
            download.withLock { $0 = Download(done: done, target: target) }
            session.downloadTask(with: url).resume()
        }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo file: URL) {
        guard let target = download.withLock({ $0.target }) else { return }
        // A file of the round before is replaced; what fails shows as a missing file.
        try? FileManager.default.removeItem(at: target)
        try? FileManager.default.moveItem(at: file, to: target)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let done = download.withLock { download in
            defer { download.done = nil }
            return download.done
        }
        done?.resume(with: error.map { .failure($0) } ?? .success(()))
    }
}
