import Foundation

/// Counts the instructions of a send with valgrind's callgrind: steadier than any clock.
struct InstructionCounter {
    private let valgrind: URL

    /// `nil` where valgrind is not installed.
    init?() {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let files = folders.map { URL(fileURLWithPath: String($0)).appending(path: "valgrind") }
        guard let file = files.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            return nil
        }
        valgrind = file
    }

    /// The instructions of one send: the difference between many and few, so that the start is not counted.
    func perRequest(of client: Client, concurrency: Int, url: URL) throws -> Double {
        let (few, many) = (128, 640)
        let difference = try total(client, many, concurrency, url) - total(client, few, concurrency, url)
        return difference / Double(many - few)
    }

    private func total(_ client: Client, _ count: Int, _ concurrency: Int, _ url: URL) throws -> Double {
        let arguments = [
            "--tool=callgrind", "--callgrind-out-file=/dev/null", ChildProcess.executable.path, "--measure",
            client.name,
            String(count), String(concurrency), url.absoluteString,
        ]
        let output = try ChildProcess.output(of: valgrind, arguments).err
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected :") }),
            let count = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw ChildProcess.Failed(description: "callgrind told no count") }
        return count
    }
}
