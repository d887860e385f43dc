import Foundation

/// Counts the instructions of a send with valgrind's callgrind: steadier than any clock.
struct InstructionCounter: Sendable {
    private let valgrind: URL
    private let program: URL

    /// `nil` where valgrind is not installed.
    init?() {
        guard let valgrind = ChildProcess.program("valgrind") else { return nil }
        self.valgrind = valgrind
        program = Self.stripped(ChildProcess.executable)
    }

    /// A copy of a program without debug information, because valgrind stops at some of it; or the program itself if it cannot
    /// be copied.
    private static func stripped(_ program: URL) -> URL {
        let copy = program.appendingPathExtension("stripped")
        let made: Void? = try? ChildProcess.run("strip", ["--strip-debug", "-o", copy.path, program.path])
        return made == nil ? program : copy
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
        let measured = [program.path, "--measure", client.name, "\(count)", "\(concurrency)"]
        let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
        let output = try ChildProcess.output(of: valgrind, options + measured + [url.absoluteString])
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected :") }),
            let total = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw ChildProcess.Failed(description: "callgrind reported no count") }
        return total
    }
}
