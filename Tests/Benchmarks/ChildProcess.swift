import Errand
import ErrandTesting
import Foundation

/// This executable once more, with other arguments.
enum ChildProcess {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    static var executable: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    }

    /// Runs a program to its end and returns what it printed.
    static func output(of program: URL, _ arguments: [String]) throws -> (out: String, err: String) {
        let process = Process()
        let (out, err) = (Pipe(), Pipe())
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = out
        process.standardError = err
        try process.run()
        // What it prints is far smaller than a pipe holds, so one may be read after the other.
        let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let errors = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failed(description: "\(program.lastPathComponent) \(arguments.joined(separator: " ")): \(errors)")
        }
        return (text, errors)
    }
}

/// The server of the benchmarks, in a process of its own so that its work is not counted.
final class ServerProcess {
    private let process = Process()
    private let input = Pipe()
    let url: URL

    init() throws {
        let output = Pipe()
        process.executableURL = ChildProcess.executable
        process.arguments = ["--serve"]
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let url = URL(string: String(decoding: line, as: UTF8.self)), url.port != nil else {
            throw ChildProcess.Failed(description: "the server did not start")
        }
        self.url = url
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// Serves until nobody holds the other end of the standard input, so that it never outlives its parent.
    static func serve() throws {
        let server = try MockServer()
        server.keepsLog = false
        server.on(.get, "/user", .json(#"{"id":7,"name":"Ada Lovelace","email":"ada@example.org","active":true}"#))
        FileHandle.standardOutput.write(Data("\(server.baseURL.absoluteString)\n".utf8))
        while let data = try FileHandle.standardInput.read(upToCount: 1), !data.isEmpty {}
        server.stop()
    }
}
