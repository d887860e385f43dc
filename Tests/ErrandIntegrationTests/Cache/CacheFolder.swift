import Errand
import Foundation

/// A temporary folder, which is removed with it.
final class CacheFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "errand-cache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }  // what is left over is only a temporary folder

    /// All files below.
    var paths: [URL] {
        let paths = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
        return paths.map { url.appending(path: $0) }.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }

    /// The number of bytes of all files below, as they are found one by one.
    var size: Int {
        var names = ["", "tmp"]
        for digit in 0..<256 { names.append((digit < 16 ? "0" : "") + String(digit, radix: 16)) }
        return names.reduce(0) { $0 + size(of: url.path + "/v2/" + $1) }
    }

    private func size(of path: String) -> Int {
        guard let folder = opendir(path) else { return 0 }
        defer { closedir(folder) }
        var size = 0
        while let entry = readdir(folder) {
            var facts = stat()
            let isFile = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(dirfd(folder), $0, &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_mode & S_IFMT == S_IFREG
                }
            }
            if isFile { size += Int(facts.st_size) }
        }
        return size
    }

    /// The files that writers have left.
    private var temporaries: [URL] { paths.filter { $0.path.contains("/v2/tmp/") } }

    /// How many files writers have left.
    var temporaryCount: Int { temporaries.count }

    /// Makes these files as old as if their writers had been killed long ago.
    func ageTemporaries() throws {
        let date = [FileAttributeKey.modificationDate: Date.now.addingTimeInterval(-60)]
        for path in temporaries { try FileManager.default.setAttributes(date, ofItemAtPath: path.path) }
    }
}

/// A wall clock that tests move.
final class CacheClock: Sendable {
    private let time = Lock(Date(timeIntervalSince1970: 1_800_000_000))
    var now: Date { time.withLock { $0 } }
    func advance(by seconds: Double) { time.withLock { $0 = $0.addingTimeInterval(seconds) } }
}

/// Entries whose content names their key; the child process of the benchmarks makes the same ones.
enum Proof {
    static let keyCount = 64
    static func key(_ number: Int) -> CacheKey { CacheKey("proof \(number)") }

    /// Whether an entry was stored under a number, and is complete.
    static func isRight(_ entry: CacheEntry, _ number: Int) -> Bool {
        let text = String(decoding: entry.body, as: UTF8.self)
        guard let end = text.firstIndex(of: ";") else { return false }
        let head = text[..<end].split(separator: " ").compactMap { Int($0) }
        guard head.count == 3, head[0] == number, head[2] >= 0, entry.headers["X-Proof"] == String(text[..<end]) else {
            return false
        }
        let piece = "\(head[0]).\(head[1]),"
        return text[text.index(after: end)...] == String(repeating: piece, count: head[2])
    }
}
