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
    /// What follows the name of a file while it is written.
    private static let temporary = ".tmp-"

    init(_ folder: URL) throws(NetworkError) {
        guard folder.isFileURL else {
            throw NetworkError(.fileUnusable("the folder of the downloads is not a file URL"))
        }
        var path = folder.path(percentEncoded: false)
        try OpenFile.checkNUL(path)
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
        removeTemporaries()
    }

    /// The names of the files, in no order.
    var names: [String] {
        guard let all = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return [] }
        return all.filter { $0.hasSuffix(Self.suffix) }
    }

    func contents(of name: String) -> Data? {
        guard let data = OpenFile.contents(of: folder + name, upTo: Self.maximumSize),
            (try? JSONGuard.checkNesting(data)) != nil
        else { return nil }
        return data
    }

    /// The name of the file with a key: a digest, so that two writers of equal keys write one file.
    static func name(ofKey key: Data) -> String { SHA256.hexadecimal(key).prefix(32) + suffix }

    /// Writes a file, or replaces it.
    func write(_ data: Data, to name: String) throws(NetworkError) {
        guard data.count <= Self.maximumSize else {
            throw NetworkError(.unencodable("the request of a download is larger than \(Self.maximumSize) bytes"))
        }
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        try OpenFile.replace(folder + name, with: data, by: "\(Self.temporary)\(random)")
    }

    /// Removes what a writer left that was killed.
    private func removeTemporaries() {
        guard let all = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
        for name in all where name.contains(Self.suffix + Self.temporary) {
            var status = stat()
            guard lstat(folder + name, &status) == 0, time(nil) - Self.changed(status) > 3600 else { continue }
            unlink(folder + name)
        }
    }

    private static func changed(_ status: stat) -> time_t {
        #if canImport(Darwin)
        status.st_mtimespec.tv_sec
        #else
        status.st_mtim.tv_sec
        #endif
    }

    func remove(_ name: String) { unlink(folder + name) }
}
