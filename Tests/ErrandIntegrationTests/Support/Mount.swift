import Foundation

/// Small file systems in memory, which only root can mount.
enum Mount {
    /// Mounts one at a folder, and returns whether that was possible.
    static func small(_ path: String, size: String = "1m") -> Bool {
        run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(size)", "none", path])
    }

    static func makeReadOnly(_ path: String) -> Bool { run("/bin/mount", ["-o", "remount,ro", path]) }

    static func unmount(_ path: String) { _ = run("/bin/umount", ["-l", path]) }

    private static func run(_ program: String, _ arguments: [String]) -> Bool {
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: program) else { return false }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
