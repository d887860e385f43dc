import Foundation

/// The system's figures about this process.
enum ProcessFigures {
    /// Seconds of processor time, in user and system mode together.
    static var processorTime: Double { processorTime(of: RUSAGE_SELF) }

    /// The same of the child processes that have ended, and of theirs.
    static var childProcessorTime: Double { processorTime(of: RUSAGE_CHILDREN) }

    #if canImport(Glibc)
    private typealias Whose = __rusage_who
    #else
    private typealias Whose = Int32
    #endif

    private static func processorTime(of whose: Whose) -> Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(whose.rawValue), &usage)
        #else
        getrusage(whose, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// MiB of memory in use now; `nil` if the system has no file with this figure.
    static var residentMemory: Double? { memory("VmRSS:") }

    /// The peak of the memory in use in MiB; `nil` if the system has no file with this figure.
    static var peakMemory: Double? { memory("VmHWM:") }

    private static func memory(_ name: String) -> Double? {
        // Not every system has it.
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) })
        else { return nil }
        return line.split { !$0.isNumber }.first.flatMap { Double($0) }.map { $0 / 1024 }
    }
}
