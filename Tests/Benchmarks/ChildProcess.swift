import Foundation

/// This executable once more, with other arguments, or another program.
enum ChildProcess {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    static var executable: URL {
        Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    }

    /// Runs a program to its end and returns what it printed, output and errors together.
    ///
    /// - Throws: ``Failed`` if the program fails.
    static func output(of program: URL, _ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let words = text.split(separator: "\n").first { $0.contains("rror") } ?? "no error was printed"
            throw Failed(description: "\(program.lastPathComponent) failed: \(words)")
        }
        return text
    }

    /// Runs a program that is found by its name.
    ///
    /// - Throws: ``Failed`` if it is not installed, or fails.
    static func run(_ name: String, _ arguments: [String]) throws {
        guard let program = program(name) else { throw Failed(description: "\(name) is not installed") }
        _ = try output(of: program, arguments)
    }

    /// Finds a program in the folders of `PATH`; `nil` where it is not installed.
    static func program(_ name: String) -> URL? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let files = folders.map { URL(fileURLWithPath: String($0)).appending(path: name) }
        return files.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
