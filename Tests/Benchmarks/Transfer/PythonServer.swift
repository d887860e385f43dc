import Foundation

/// A server in Python, in a process of its own that ends with this object.
///
/// Its program prints its port, and ends with the standard input.
final class PythonServer {
    let url: URL
    private let process = Process()
    private let input = Pipe()

    init(_ program: String) throws {
        let output = Pipe()
        process.executableURL = ChildProcess.program("python3")
        process.arguments = ["-c", program]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        guard let url = URL(string: "http://127.0.0.1:\(String(decoding: line, as: UTF8.self))"), url.port != nil else {
            throw ChildProcess.Failed(description: "the server did not start")
        }
        self.url = url
    }

    deinit { try? input.fileHandleForWriting.close() }  // where this fails the end of this process closes it
}
