import Foundation

/// What the system knows of this process, also of one that an exit test has started.
enum ThisProcess {
    /// The most resident memory that it has had, in bytes.
    @Sendable static func peak() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) << 10
    }
}
