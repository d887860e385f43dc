internal import Foundation

/// The bytes of an unfinished download in a file `name.part`, with their ``DownloadRecord`` beside it.
///
/// The file stays locked until the end of the download, which another process can see. If it is not finished, the file is
/// kept if the rest can be requested alone, and removed otherwise.
///
/// Must not be used by two threads at once.
final class PartialFile {
    /// The number of bytes that are hashed without a pause, which takes some milliseconds.
    private static let hashStep: Int64 = 1 << 20

    private let path: String
    private let recordPath: String
    let file: OpenFile
    private(set) var length: Int64
    private(set) var record: DownloadRecord?
    /// The SHA-256 of the bytes, or of the first ones before ``hashEarlierBytes()``; `nil` if it is not wanted.
    private var hash: SHA256?
    private var isFinished = false
    /// Whether the file has bytes of something else, which are kept until there is a content.
    private var isForeign: Bool

    /// Opens or creates the file, locks it, and reads its record.
    ///
    /// - Parameters:
    ///   - target: The path of the file without the suffix `.part`.
    ///   - content: The content, or `nil` if nothing is continued; bytes of others are replaced when there is a response.
    ///   - isHashed: Whether the SHA-256 is computed.
    /// - Throws: ``NetworkError`` if another download has locked the file, or it cannot be created.
    init(for target: String, of content: DownloadRecord.Content?, isHashed: Bool) throws {
        path = target + ".part"
        recordPath = path + ".json"
        file = try OpenFile.locked(path)
        let fileLength = try file.length()
        record = content.flatMap { Self.record(for: target, of: $0) }
        length = record?.usableLength(of: fileLength, boot: SystemBoot.id) ?? 0
        isForeign = record == nil && fileLength > 0
        if !isForeign {
            if length == 0 {
                record = nil
                unlink(recordPath)
            }
            if length < fileLength { try file.truncate(to: length) }
        }
        if isHashed { hash = SHA256() }
    }

    /// Returns the record of the unfinished file for a target, or `nil` if there is none of the content.
    static func record(for target: String, of content: DownloadRecord.Content) -> DownloadRecord? {
        OpenFile.contents(of: target + ".part.json", upTo: DownloadRecord.maximumSize).flatMap { DownloadRecord($0) }
            .flatMap { $0.isOf(content) ? $0 : nil }
    }

    /// Adds the next bytes of an earlier download to the digest.
    ///
    /// To be called until it returns `false`, before other bytes are appended.
    ///
    /// - Returns: Whether there are more.
    func hashEarlierBytes() throws -> Bool {
        guard let count = hash.map({ Int64($0.count) }), count < length else { return false }
        try file.forEachBlock(from: count, to: min(length, count + Self.hashStep)) { hash?.update($0) }
        guard let end = hash.map({ Int64($0.count) }), end > count else { throw file.changed }
        return end < length
    }

    /// Whether the rest can be requested alone.
    var isResumable: Bool { length > 0 && record?.validator != nil }

    deinit {
        if !isFinished {
            if isResumable, file.isAtPath {
                try? save()
            } else {
                remove()
            }
        }
        file.unlock()
    }

    private func remove() {
        guard !isForeign else { return }
        unlink(recordPath)
        // What something else has put there is not the download's.
        if file.isAtPath { unlink(path) }
    }

    // MARK: Writing

    /// Begins with the first byte of a content.
    func restart(_ record: DownloadRecord) throws {
        // First, so that at no time the record is of other bytes than those in the file.
        try discard()
        self.record = record
        if record.validator != nil { try save() }
    }

    /// Removes all bytes, because they belong to no content that can be requested.
    func discard() throws {
        try file.truncate(to: 0)
        isForeign = false
        unlink(recordPath)
        (length, record) = (0, nil)
        if hash != nil { hash = SHA256() }
    }

    /// Notes the complete length that a later response declares.
    func note(length: Int64) { if record?.length == nil { record?.length = length } }

    func append(_ data: Data) throws {
        try check()
        do {
            try file.write(data, at: length)
        } catch {
            // Such as what still fitted on a disk that is full now.
            try? file.truncate(to: length)
            throw error
        }
        length += Int64(data.count)
        hash?.update(data)
    }

    /// Checks that nothing else has changed the length of the file, or removed it.
    private func check() throws(NetworkError) {
        do {
            try file.check(length: length)
        } catch {
            // So that nothing is kept.
            record = nil
            throw error
        }
    }

    private func save() throws {
        guard let record else { return }
        try OpenFile.replace(recordPath, with: try JSONEncoder().encode(record))
    }

    // MARK: The end

    /// The SHA-256 of all bytes as 64 hexadecimal digits, or `nil` if it is not computed.
    var digest: String? {
        var copy = hash
        return copy?.hexadecimal()
    }

    /// Moves the file to its target.
    ///
    /// - Parameters:
    ///   - target: The path of the target, which is replaced if it is a file.
    ///   - isKept: Whether the file gets a number instead if something is there.
    /// - Returns: The path of the finished file.
    /// - Throws: ``NetworkError/Reason/fileUnusable(_:)``.
    func finish(at target: String, keepingExisting isKept: Bool) throws(NetworkError) -> String {
        try check()
        guard file.isAtPath else { throw file.changed }
        let (target, isLinked) = isKept ? try OpenFile.claim(target, for: path) : (target, false)
        if isLinked {
            unlink(path)
        } else {
            // It may have changed since the beginning of the transfer.
            try OpenFile.checkReplaceable(target)
            guard rename(path, target) == 0 else {
                let error = OpenFile.failure(target)
                if isKept { unlink(target) }
                throw error
            }
        }
        isFinished = true
        unlink(recordPath)
        return target
    }

    /// Ends the download without keeping anything.
    func abandon() {
        isFinished = true
        remove()
    }
}
