internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The files of a ``DownloadStore``.
struct DownloadListing: Sendable {
    private let folder: String

    /// The maximum size of a file.
    private static let maximumSize = 1 << 20
    private static let suffix = ".download"

    init(_ folder: URL) throws(NetworkError) {
        guard folder.isFileURL else {
            throw NetworkError(.fileUnusable("the folder of the downloads is not a file URL"))
        }
        var path = folder.path(percentEncoded: false)
        if !path.hasSuffix("/") { path += "/" }
        self.folder = path
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw NetworkError(.fileUnusable("\(folder.lastPathComponent): \(error.localizedDescription)"))
        }
    }

    /// The names of the files, the oldest first.
    var names: [String] {
        guard let all = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return [] }
        return all.filter { $0.hasSuffix(Self.suffix) }.sorted()
    }

    func contents(of name: String) -> Data? { OpenFile.contents(of: folder + name, upTo: Self.maximumSize) }

    /// Adds a file, whose name is the time in microseconds and a digest of the key, or replaces the one of an equal key.
    func add(_ data: Data, key: Data) throws(NetworkError) -> String {
        guard data.count <= Self.maximumSize else {
            throw NetworkError(.unencodable("the request of a download is larger than \(Self.maximumSize) bytes"))
        }
        let digest = "-" + SHA256.hexadecimal(key).prefix(32) + Self.suffix
        let name = names.first { $0.hasSuffix(digest) } ?? Self.time() + digest
        if contents(of: name) != data { try OpenFile.replace(folder + name, with: data) }
        return name
    }

    private static func time() -> String {
        let time = String(Int64(Date().timeIntervalSince1970 * 1_000_000), radix: 16)
        return String(repeating: "0", count: max(0, 16 - time.count)) + time
    }

    func remove(_ name: String) { unlink(folder + name) }
}
