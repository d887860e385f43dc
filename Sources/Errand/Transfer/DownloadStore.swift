public import Foundation

/// A list of downloads in a folder, which survives the end of the process.
///
/// Each download is a file with the request, which has to be `Codable`, so that it can be sent again after a relaunch:
///
/// ```swift
/// let store = try DownloadStore<GetEpisode>(folder: URL(filePath: "episodes"))
/// try store.add(GetEpisode(id: 7), to: URL(filePath: "7.mp3"))
/// for (item, result) in await agent.download(allIn: store) { print(item.target, result) }
/// ```
///
/// The files are private to their owner, and contain the properties of the request as they are: keep tokens out of them.
/// Several processes may use one folder.
public struct DownloadStore<Download: Request & Codable & Sendable>: Sendable {
    /// An unfinished download.
    public struct Item: Sendable, Identifiable {
        /// The name of its file, which is made from the request and the target.
        public let id: String
        /// The request.
        public let request: Download
        /// The file, or the folder in which the response names the file.
        public let target: URL
        /// What the download has to result in.
        public let options: DownloadOptions
        /// The time when it was first added.
        let added: Date
    }

    private let files: DownloadListing

    /// Opens a list, and creates its folder if it is missing.
    ///
    /// - Parameter folder: A folder for the list alone, not for the downloads themselves.
    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)``.
    public init(folder: URL) throws(NetworkError) { files = try DownloadListing(folder) }

    /// The unfinished downloads, the oldest first.
    ///
    /// A file that is no download of this type is skipped and kept, such as one that was written before the request had a
    /// property that is not optional.
    public var unfinished: [Item] {
        let found = files.names.compactMap { name in entry(of: name).map { (name: name, entry: $0) } }
        return found.sorted { ($0.entry.added, $0.name) < ($1.entry.added, $1.name) }.map { name, entry in
            Item(
                id: name,
                request: entry.request,
                target: entry.target.url,
                options: entry.options,
                added: entry.added
            )
        }
    }

    private func entry(of name: String) -> Entry? {
        files.contents(of: name).flatMap { try? JSONDecoder().decode(Entry.self, from: $0) }
    }

    /// Adds a download at the end, or returns the one of an equal request and target if it is unfinished.
    ///
    /// Requests are equal if they are encoded as the same JSON. The options are those of the last call.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - target: The file, or an existing folder. One below the home folder is stored relative to that, because the home
    ///     folder of an app may have another path after an update.
    ///   - options: What the download has to result in.
    /// - Returns: The unfinished download.
    /// - Throws: ``NetworkError`` if an option can't be used or the file can't be written, or the error of encoding the
    ///   request.
    @discardableResult
    public func add(
        _ request: Download,
        to target: URL,
        options: DownloadOptions = DownloadOptions()
    ) throws -> Item {
        try options.check()
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let place = StoredURL(target)
        let name = DownloadListing.name(ofKey: try encoder.encode(Key(request: request, target: place)))
        let added = entry(of: name)?.added ?? Date()
        let new = Entry(request: request, target: place, options: options, added: added)
        let data = try encoder.encode(new)
        // A disk that is full does not matter to what is listed already.
        if files.contents(of: name) != data { try files.write(data, to: name) }
        return Item(id: name, request: request, target: target, options: options, added: added)
    }

    /// Removes a download from the list, unless it was removed and added again; the bytes that it has received so far are kept.
    public func remove(_ item: Item) {
        guard entry(of: item.id).map({ $0.added == item.added }) ?? true else { return }
        files.remove(item.id)
    }

    /// What makes two downloads equal.
    private struct Key: Encodable {
        let request: Download
        let target: StoredURL
    }

    private struct Entry: Codable {
        let request: Download
        let target: StoredURL
        let options: DownloadOptions
        /// The time when it was first added.
        let added: Date
    }
}

/// A file URL whose path may be relative to the home folder.
private struct StoredURL: Codable {
    let path: String
    let isInHome: Bool
    let isFolder: Bool

    private static var home: String {
        let path = URL.homeDirectory.path(percentEncoded: false)
        return path.hasSuffix("/") ? path : path + "/"
    }

    init(_ url: URL) {
        let path = url.absoluteURL.path(percentEncoded: false)
        isInHome = path.hasPrefix(Self.home)
        self.path = isInHome ? String(path.dropFirst(Self.home.count)) : path
        isFolder = url.hasDirectoryPath
    }

    var url: URL {
        URL(filePath: isInHome ? Self.home + path : path, directoryHint: isFolder ? .isDirectory : .notDirectory)
    }
}
