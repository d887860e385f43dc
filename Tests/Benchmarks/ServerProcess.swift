import Errand
import ErrandTesting
import Foundation

/// A server in a process of its own, so that its work is not counted.
///
/// It prints its URL, and ends with its standard input: with this object, or when this process ends in any other way.
final class ServerProcess {
    let url: URL
    private let process = Process()
    private let input = Pipe()

    /// Starts the server of the benchmarks, and waits until it listens.
    convenience init() throws { try self.init(ChildProcess.executable, ["--serve"]) }

    /// Starts a program in Python, and waits until it listens.
    convenience init(python program: String) throws {
        try self.init(ChildProcess.program("python3"), ["-c", program])
    }

    private init(_ program: URL?, _ arguments: [String]) throws {
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        guard let url = URL(string: String(decoding: line, as: UTF8.self)), url.port != nil else {
            throw ChildProcess.Failed(description: "the server did not start")
        }
        self.url = url
    }

    deinit {
        // Not by a signal: started from a thread of Dispatch, the server has inherited that all of them are blocked.
        // Where this fails the end of this process closes it.
        try? input.fileHandleForWriting.close()
    }

    private static let text = #"{"id":7,"name":"Ada Lovelace","email":"ada@example.org","active":true}"#

    /// With the fields that a web server in the field sends; `Date` is a duty (RFC 9110, section 6.6.1).
    private static let user = MockResponse.json(
        text,
        headers: [
            "Server": "nginx/1.22.1",
            "Date": "Sat, 21 Nov 2026 13:00:00 GMT",
            "Last-Modified": "Fri, 20 Nov 2026 09:30:00 GMT",
            "Connection": "keep-alive",
            "ETag": #""655f6a1e-46""#,
            "Accept-Ranges": "bytes",
        ]
    )

    /// Serves until nobody holds the other end of the standard input.
    static func serve() throws {
        let server = try MockServer()
        server.keepsLog = false
        server.on(.get, "/user", user)
        server.on(.get, "/bare/user", .json(text))
        FileHandle.standardOutput.write(Data("\(server.baseURL.absoluteString)\n".utf8))
        while let data = try FileHandle.standardInput.read(upToCount: 1), !data.isEmpty {}
        server.stop()
    }
}
