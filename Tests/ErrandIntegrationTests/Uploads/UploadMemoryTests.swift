#if os(Linux)
import Errand
import Foundation
import Testing

/// How much memory a large upload needs, measured in a process of its own, and whether all of it arrives.
///
/// `ERRAND_UPLOAD_MIB` is the size of the file.
@Suite(.serialized, .enabled(if: TLSRig.path(of: "python3") != nil, "python3 is missing"), .timeLimit(.minutes(8)))
struct UploadMemoryTests {
    @Test(arguments: [false, true]) func memoryIsIndependentOfTheSizeOfAnUpload(_ isForm: Bool) async throws {
        let size = (ProcessInfo.processInfo.environment["ERRAND_UPLOAD_MIB"].flatMap { Int($0) } ?? 256) << 20
        let folder = try CacheFolder()
        let file = folder.url.appending(path: "large.bin")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        // Mostly a hole, but no two parts of it are equal.
        for offset in stride(from: 0, to: size, by: 1 << 20) {
            try handle.seek(toOffset: UInt64(offset))
            try handle.write(contentsOf: Data("part \(offset)".utf8))
        }
        try handle.truncate(atOffset: UInt64(size))
        let server = try await TLSRig.onThread { try Sink(file) }
        await #expect(processExitsWith: .success) { [url = server.url as URL, file = file as URL, isForm] in
            let agent = Agent(config: NetworkConfig(baseURL: BaseURL(url)))
            func upload(_ body: RequestBody) async throws -> String {
                try await agent.send(GeneralRequest("/").method(.put).body(body).expecting(String.self))
            }
            // Everything that a first send loads.
            _ = try await upload(.multipart { $0.append("x", name: "file") })
            let before = try ThisProcess.peak()
            let result = try await upload(
                isForm ? .multipart { try $0.append(file: file, name: "file") } : .file(file)
            )
            let grown = (try ThisProcess.peak() - before) >> 20
            print("UploadMemoryTests: \(grown) MiB, form: \(isForm), \(result)")
            guard result == "whole", grown <= 32 else { exit(EXIT_FAILURE) }
        }
    }
}

/// A server that keeps nothing, and responds whether it has received a file, or a form with that file alone.
private final class Sink: Sendable {
    private let process = Process()
    private let input = Pipe()
    let url: URL

    init(_ file: URL) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.program, file.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8), !byte.isEmpty {
            line += byte
        }
        url = try #require(URL(string: "http://127.0.0.1:\(String(decoding: line, as: UTF8.self))"))
    }

    // It is not waited for, because this may be a thread of the pool.
    deinit { try? input.fileHandleForWriting.close() }  // it ends anyway with this process

    private static let program = #"""
        import hashlib, http.server, sys, threading
        with open(sys.argv[1], "rb") as file: expected = hashlib.file_digest(file, "sha256").hexdigest()
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *args): pass
            def do_PUT(self):
                rest = int(self.headers["Content-Length"])
                boundary = self.headers["Content-Type"].partition("boundary=")[2]
                if boundary:
                    while rest:
                        line = self.rfile.readline(); rest -= len(line)
                        if line == b"\r\n": break
                    rest -= len(boundary) + 8
                digest = hashlib.sha256()
                while rest:
                    data = self.rfile.read(min(rest, 65536))
                    if not data: return
                    digest.update(data); rest -= len(data)
                if boundary:
                    end = self.rfile.read(len(boundary) + 8)
                    if end != b"\r\n--%s--\r\n" % boundary.encode(): digest.update(b"?")
                result = b"whole" if digest.hexdigest() == expected else b"other"
                self.send_response(200); self.send_header("Content-Length", "5"); self.end_headers()
                self.wfile.write(result)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        """#
}
#endif
