import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTerminal

@Suite struct LoggingAccessoryTests {
    private static let forged = "no\n#99 Admin GET api.example/: 200 in 1 ms\r\u{2028}\u{1B}[2J"

    /// A line break in a service's message, a media type or a tag begins no new line.
    @Test func eachEventIsOneLine() async throws {
        let lines = Record<String>()
        let config = NetworkConfig.test {
            $0.accessories = [LoggingAccessory(level: .events) { lines.add($0) }]
            $0.filter = EnvelopeFilter(code: "code", message: "msg", data: "data")
        }
        let words = JSONValue.object(["code": "E\n1", "msg": .string(Self.forged)])
        let request = GeneralRequest("/x").tag(Self.forged)
        _ = try? await Rig(config: config, response: .json(words.description)).agent.send(request)
        let typed = TransportResponse(
            statusCode: 500,
            headers: ["Content-Type": "text/\(Self.forged)"],
            body: ResponseBody(Data("<p>".utf8))
        )
        _ = try? await Rig(config: config, response: typed).agent.send(request)
        #expect(lines.all.count >= 6)
        for line in lines.all {
            #expect(!line.contains { $0.isNewline }, "\(line)")
            #expect(!line.unicodeScalars.contains { $0.breaksLines }, "\(line)")
        }
        #expect(lines.all.contains { $0.contains(#"the service reported "E\n1": no\n#99 Admin"#) }, "\(lines.all)")
    }

    /// Sends with a log to the standard error, and moves a bar there.
    @Sendable private static func log() async {
        let config = NetworkConfig.test { $0.accessories = [LoggingAccessory(level: .events)] }
        _ = try? await Rig(config: config, response: .json("1")).agent.send(GeneralRequest("/x"))
        let bar = TerminalProgress("x", width: 4, write: { StandardError.write($0) })
        bar.request(RequestContext(), did: .didProgress(TransferProgress(direction: .download, completed: 1, total: 2)))
    }

    /// In a process of its own, because Foundation's way of writing would end it.
    @Test func closedStandardErrorDoesNotEndTheProcess() async {
        await #expect(processExitsWith: .success) {
            close(STDERR_FILENO)
            await LoggingAccessoryTests.log()
        }
    }

    #if os(Linux)
    /// A socket gets the number of the closed descriptor, as the next connection to a server does.
    @Test func socketWithTheDescriptorOfStandardErrorGetsNoLines() async {
        await #expect(processExitsWith: .success) {
            let accessory = LoggingAccessory(level: .events)
            var ends: [Int32] = [0, 0]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { exit(EXIT_FAILURE) }
            close(STDERR_FILENO)
            guard dup2(ends[1], STDERR_FILENO) == STDERR_FILENO else { exit(EXIT_FAILURE) }
            accessory.request(RequestContext(), did: .willStart)
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            var byte: UInt8 = 0
            exit(read(ends[0], &byte, 1) < 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
    #endif

    /// A pipe gets the number of the closed descriptor, as a pipe to a child process does.
    @Test func pipeWithTheDescriptorOfStandardErrorGetsNoLines() async {
        await #expect(processExitsWith: .success) {
            let accessory = LoggingAccessory(level: .events)
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) == STDERR_FILENO else { exit(EXIT_FAILURE) }
            accessory.request(RequestContext(), did: .willStart)
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            var byte: UInt8 = 0
            exit(read(ends[0], &byte, 1) < 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// The standard error of a process whose parent reads only its output.
    @Test(.timeLimit(.minutes(5))) func fullStandardErrorThatNobodyReadsHoldsUpNoSend() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) >= 0 else { exit(EXIT_FAILURE) }
            _ = fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK)
            while write(STDERR_FILENO, [0x2E], 1) == 1 {}
            _ = fcntl(STDERR_FILENO, F_SETFL, 0)
            for _ in 0..<20 { await LoggingAccessoryTests.log() }
            exit(EXIT_SUCCESS)
        }
    }

    /// As programs do that change their log file while they run.
    @Test func linesFollowAStandardErrorThatIsMovedToALog() async {
        await #expect(processExitsWith: .success) {
            let accessory = LoggingAccessory(level: .events)
            let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).log").path()
            let log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            guard log >= 0, dup2(log, STDERR_FILENO) == STDERR_FILENO else { exit(EXIT_FAILURE) }
            accessory.request(RequestContext(), did: .willStart)
            let text = try? String(contentsOfFile: path, encoding: .utf8)
            unlink(path)
            exit(text?.isEmpty == false ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullDiskUnderStandardErrorDoesNotEndTheProcess() async {
        await #expect(processExitsWith: .success) {
            let full = open("/dev/full", O_WRONLY)
            guard full >= 0, dup2(full, STDERR_FILENO) >= 0 else { exit(EXIT_FAILURE) }
            await LoggingAccessoryTests.log()
        }
    }

    @Test func unreadPipeDoesNotEndTheProcess() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) >= 0 else { exit(EXIT_FAILURE) }
            signal(SIGPIPE, SIG_DFL)
            close(ends[0])
            await LoggingAccessoryTests.log()
            // Before the test library writes to the pipe itself.
            exit(EXIT_SUCCESS)
        }
    }

    @Test func fullNonblockingStandardErrorDoesNotEndTheProcess() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0, dup2(ends[1], STDERR_FILENO) >= 0 else { exit(EXIT_FAILURE) }
            _ = fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK)
            StandardError.write(String(repeating: "x", count: 1 << 20))
            await LoggingAccessoryTests.log()
        }
    }

    @Test func theStandardErrorGetsCompleteLines() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            await LoggingAccessoryTests.log()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("GeneralRequest GET api.example/x: 200 in "), "\(text)")
        #expect(text.split(separator: "\n").count >= 3)
    }
}
