import Errand
import Foundation

// usage: OwnCost COUNT CONCURRENCY
//        OwnCost waiting COUNT
// Prints the processor time of a send in microseconds, and its context switches; or the KB of memory of a send that waits for
// its response. Compiles with every version of Errand, so it uses nothing that has ever changed.

/// Responds at once, so that what is left is Errand's own part.
struct Memory: Transport {
    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        TransportResponse(
            statusCode: 200,
            headers: ["Content-Type": "application/octet-stream", "Date": "Sat, 21 Nov 2026 13:00:00 GMT"],
            body: ResponseBody(Data("0123456789".utf8))
        )
    }
}

/// Responds after a while.
struct Late: Transport {
    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try await Task.sleep(for: .seconds(3))
        return try await Memory().send(request, options: options)
    }
}

struct GetBytes: Request {
    typealias Model = Data
    var path: String { "/bytes" }
}

struct Usage {
    let microseconds: Double
    let switches: Double

    static var current: Usage {
        var usage = rusage()
        #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        let seconds = Double(usage.ru_utime.tv_sec) + Double(usage.ru_stime.tv_sec)
        let rest = Double(usage.ru_utime.tv_usec) + Double(usage.ru_stime.tv_usec)
        return Usage(microseconds: seconds * 1_000_000 + rest, switches: Double(usage.ru_nvcsw))
    }
}

/// Bytes of memory in use, on a system that has a file with this figure.
func residentMemory() throws -> Double {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split { !$0.isNumber }.first.flatMap { Double($0) } ?? 0) * 1_024
}

/// Returns the memory of each of many sends that wait for their responses.
@concurrent
func memoryOfWaiting(_ count: Int, on agent: Agent) async throws -> Double {
    try await withThrowingTaskGroup(of: Void.self) { group in
        let before = try residentMemory()
        for _ in 0..<count { group.addTask { _ = try await agent.send(GetBytes()) } }
        try await Task.sleep(for: .seconds(2))
        let growth = try residentMemory() - before
        group.cancelAll()
        return growth / Double(count)
    }
}

@concurrent
func send(_ count: Int, on agent: Agent, concurrency: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<concurrency {
            group.addTask { for _ in 0..<count / concurrency { _ = try await agent.send(GetBytes()) } }
        }
        try await group.waitForAll()
    }
}

let words = CommandLine.arguments.dropFirst()
let isWaiting = words.first == "waiting"
let arguments = words.dropFirst(isWaiting ? 1 : 0).compactMap { Int($0) }
guard arguments.count == (isWaiting ? 1 : 2), arguments.allSatisfy({ $0 > 0 }) else {
    FileHandle.standardError.write(Data("usage: OwnCost COUNT CONCURRENCY\n       OwnCost waiting COUNT\n".utf8))
    exit(2)
}
var config = NetworkConfig()
config.baseURL = "http://127.0.0.1:1"
if isWaiting {
    let late = Agent(config: config, transport: Late())
    print(try await memoryOfWaiting(arguments[0], on: late) / 1_024)
    exit(0)
}
let (count, concurrency) = (arguments[0], arguments[1])
let agent = Agent(config: config, transport: Memory())
try await send(1_000, on: agent, concurrency: concurrency)

let before = Usage.current
if concurrency > 1 {
    try await send(count, on: agent, concurrency: concurrency)
} else {
    // From the main actor, as programs send.
    for _ in 0..<count { _ = try await agent.send(GetBytes()) }
}
let after = Usage.current
let (time, switches) = (after.microseconds - before.microseconds, after.switches - before.switches)
print(time / Double(count), switches / Double(count))
