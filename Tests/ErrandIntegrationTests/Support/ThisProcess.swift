import Foundation

/// What the system knows of this process, also of one that an exit test has started.
enum ThisProcess {
    /// The most resident memory that it has had, in bytes.
    @Sendable static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = Int(line.filter(\.isNumber))
        else { throw CocoaError(.fileReadCorruptFile) }
        return kibibytes << 10
    }
}
