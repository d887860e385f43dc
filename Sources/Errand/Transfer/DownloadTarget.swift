internal import Foundation

/// The place that a download is written to: a file, or a folder in which the response names it.
struct DownloadTarget: Sendable, Hashable {
    private let folder: String
    /// The name that the caller has chosen, or `nil` if the response names the file.
    private let name: String?

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)`` if the URL names no file, or nothing that is a folder, or something
    ///   that no file may replace.
    init(_ url: URL) throws(NetworkError) {
        guard url.isFileURL else { throw NetworkError(.fileUnusable("the target is not a file URL")) }
        let path = url.path(percentEncoded: false)
        try OpenFile.checkNUL(path)
        var isFolder: ObjCBool = false
        var exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        if exists && isFolder.boolValue {
            (folder, name) = (path, nil)
        } else {
            let last = url.lastPathComponent
            // With a slash at its end, a file does not exist.
            if !exists, path.hasSuffix("/") { exists = FileManager.default.fileExists(atPath: String(path.dropLast())) }
            guard !url.hasDirectoryPath, !last.isEmpty, last != "/", last != "..", last != "." else {
                let detail = exists ? "it is a file, and not a folder" : "there is no such folder; create it first"
                throw NetworkError(.fileUnusable("'\(last)': \(detail)"))
            }
            (folder, name) = (url.deletingLastPathComponent().path(percentEncoded: false), last)
            try OpenFile.checkReplaceable(path)
        }
    }

    /// Whether the response names the file.
    var isFolder: Bool { name == nil }

    /// The maximum number of unfinished files whose requests have equal names.
    private static let maximumNameCount = 32

    /// Opens the unfinished file of a request.
    ///
    /// In a folder its name has to be known before the response: it has the name in the URL, and a digest of what is no secret.
    /// It is numbered if a download of another user, or of a URL that differs in a secret, is running.
    ///
    /// - Parameters:
    ///   - content: The content, or `nil` if nothing is continued.
    ///   - file: The name in a folder.
    ///   - isHashed: Whether the SHA-256 is computed.
    /// - Returns: The file, which is locked.
    /// - Throws: ``NetworkError/Reason/downloadInProgress(_:)``, or ``NetworkError/Reason/fileUnusable(_:)``.
    func part(of content: DownloadRecord.Content?, inFolder file: String, isHashed: Bool) throws -> PartialFile {
        if let name {
            do {
                return try PartialFile(for: path(of: Self.shortened(name)), of: content, isHashed: isHashed)
            } catch let error as NetworkError {
                guard case .downloadInProgress = error.reason else { throw error }
                let error = NetworkError(.downloadInProgress(name))
                throw error.with(note: "; if '\(name)' is meant to be a folder, create it first")
            }
        }
        let paths = (1...Self.maximumNameCount).map { path(of: $0 == 1 ? file : "\(file)-\($0)") }
        if let content, let own = paths.first(where: { PartialFile.record(for: $0, of: content) != nil }) {
            return try PartialFile(for: own, of: content, isHashed: isHashed)
        }
        for path in paths {
            do {
                return try PartialFile(for: path, of: content, isHashed: isHashed)
            } catch let error as NetworkError {
                guard case .downloadInProgress = error.reason else { throw error }
            }
        }
        throw NetworkError(.downloadInProgress(file + ".part"))
    }

    /// Opens the unfinished file of a content that is there already.
    func part(named fileName: String?, isHashed: Bool) throws -> PartialFile {
        let name = name ?? fileName ?? FileName.fallback
        return try PartialFile(for: path(of: Self.shortened(name)), of: nil, isHashed: isHashed)
    }

    /// Returns a name that leaves room for the suffixes of an unfinished file.
    private static func shortened(_ name: String) -> String {
        name.utf8.count <= 240 ? name : SHA256.hexadecimal(name.utf8)
    }

    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)`` if something is in the place of the file that it may not replace.
    func check(named fileName: String?, _ options: DownloadOptions) throws(NetworkError) {
        if !keepsExistingFiles(options) { try OpenFile.checkReplaceable(path(named: fileName)) }
    }

    /// Whether the file gets a number if something has its name.
    private func keepsExistingFiles(_ options: DownloadOptions) -> Bool { isFolder && options.keepsExistingFiles }

    /// Moves a file that is complete to its place.
    ///
    /// - Returns: The path of the finished file.
    func finish(_ part: PartialFile, named fileName: String?, _ options: DownloadOptions) throws(NetworkError) -> String
    {
        try part.finish(at: path(named: fileName), keepingExisting: keepsExistingFiles(options))
    }

    private func path(named fileName: String?) -> String { path(of: name ?? fileName ?? FileName.fallback) }

    private func path(of name: String) -> String { folder.hasSuffix("/") ? folder + name : folder + "/" + name }
}
