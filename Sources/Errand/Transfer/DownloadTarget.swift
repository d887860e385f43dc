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

    /// The path of the unfinished file without its suffix.
    ///
    /// In a folder it has to be known before the response, so it has the name in the URL, and a digest of the request, which
    /// contains no secret.
    func partialPath(for request: String, from url: URL) -> String {
        if let name { return path(of: Self.shortened(name)) }
        return path(of: FileName(from: url).text + "-" + SHA256.hexadecimal(request.utf8).prefix(8))
    }

    /// Opens the unfinished file of a request.
    func part(of identity: DownloadIdentity, from url: URL, isHashed: Bool) throws -> PartialFile {
        let path = partialPath(for: identity.request, from: url)
        do {
            if isFolder, identity.hasUser { return try part(of: identity, near: path, isHashed: isHashed) }
            return try PartialFile(for: path, of: identity, isHashed: isHashed)
        } catch let error as NetworkError {
            guard case .downloadInProgress = error.reason, let name else { throw error }
            let error = NetworkError(.downloadInProgress(name))
            throw error.with(note: "; if '\(name)' is meant to be a folder, create it first")
        }
    }

    /// Opens an unfinished file in a folder, where the files of other users, or of URLs that differ in a secret, have the same
    /// name.
    ///
    /// It is numbered if such a download is running: a digest in the name would allow guesses of a short secret.
    private func part(of identity: DownloadIdentity, near path: String, isHashed: Bool) throws -> PartialFile {
        func open(_ path: String, _ claim: PartialFile.Claim) throws -> PartialFile? {
            do {
                return try PartialFile(for: path, of: identity, isHashed: isHashed, claim: claim)
            } catch let error as NetworkError {
                guard case .downloadInProgress = error.reason else { throw error }
                return nil
            }
        }
        let inProgress = NetworkError(.downloadInProgress(String(path.split(separator: "/").last ?? "") + ".part"))
        guard let claim = PartialFile.Claim(for: path, of: identity) else { throw inProgress }
        let paths = (1...Self.maximumNameCount).map { $0 == 1 ? path : "\(path)-\($0)" }
        if let own = paths.first(where: { PartialFile.exists(for: $0, of: identity) }) {
            if let part = try open(own, claim) { return part }
            // Otherwise a download of another user has begun to replace it.
            if PartialFile.exists(for: own, of: identity) { throw inProgress }
        }
        for path in paths { if let part = try open(path, claim) { return part } }
        throw inProgress
    }

    /// Opens the unfinished file of a content that is there already.
    func part(named fileName: String?, isHashed: Bool) throws -> PartialFile {
        let name = name ?? fileName ?? FileName.fallback
        return try PartialFile(for: path(of: Self.shortened(name)), of: DownloadIdentity(""), isHashed: isHashed)
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
