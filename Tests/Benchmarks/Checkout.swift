import Foundation

/// Sources of Errand to compare: this version, or an earlier one in a folder of its own.
struct Checkout {
    /// The commit that versions are compared with.
    static let baseline = "87d1191"

    /// Where the package is.
    let folder: URL

    /// This version.
    static var current: Checkout {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { url.deleteLastPathComponent() }
        return Checkout(folder: url)
    }

    /// The sources of a commit.
    ///
    /// - Throws: ``ChildProcess/Failed`` if there is no such commit, such as in a shallow clone.
    static func of(_ commit: String) throws -> Checkout {
        let root = current.folder
        let folder = root.appending(path: ".build/\(commit)")
        guard !FileManager.default.fileExists(atPath: folder.path) else { return Checkout(folder: folder) }
        let archive = root.appending(path: ".build/\(commit).tar")
        try ChildProcess.run("git", ["-C", root.path, "archive", "--output", archive.path, commit])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try ChildProcess.run("tar", ["-xf", archive.path, "-C", folder.path])
        return Checkout(folder: folder)
    }
}
