import Foundation

/// Counts the instructions of a send with valgrind's callgrind: steadier than any clock.
struct InstructionCounter: Sendable {
    private let valgrind: URL

    /// `nil` where valgrind is not installed.
    init?() {
        guard let valgrind = ChildProcess.program("valgrind") else { return nil }
        self.valgrind = valgrind
    }

    /// The instructions of one send: the difference between many and few, so that the start is not counted.
    func instructionsPerSend(of client: Client, concurrency: Int, url: URL) async throws -> Double {
        let (few, many) = (128, 448)
        async let fewer = total(client, few, concurrency, url)
        async let more = total(client, many, concurrency, url)
        return try await (more - fewer) / Double(many - few)
    }

    @concurrent
    private func total(_ client: Client, _ count: Int, _ concurrency: Int, _ url: URL) async throws -> Double {
        let measured = [ChildProcess.executable.path, "--measure", client.name, "\(count)", "\(concurrency)"]
        let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
        let output = try ChildProcess.output(of: valgrind, options + measured + [url.absoluteString])
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected :") }),
            let total = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw ChildProcess.Failed(description: "callgrind told no count") }
        return total
    }
}
