public import Foundation

/// A file that was downloaded, and the response that it is the content of.
public struct DownloadedFile: Sendable, CustomStringConvertible {
    /// The location of the file, which only its owner can read.
    public let url: URL
    /// The size of the file in bytes.
    public let byteCount: Int64
    /// The number of bytes that were in the file when this send began, left by an earlier one that was interrupted; 0 if there
    /// was none.
    ///
    /// What a retry within the send continues is not counted. After ``RequestHandle/resume()`` it is what was there at
    /// that time, because each part of a paused download is a send of its own.
    public let resumedByteCount: Int64
    /// The SHA-256 of the file as 64 lowercase hexadecimal digits, or `nil` if ``DownloadOptions/sha256`` was not set.
    public let sha256: String?
    /// The header fields of the last response.
    public let headers: HTTPHeaders

    init(_ part: PartialFile, at path: String, resuming resumedByteCount: Int64, headers: HTTPHeaders) {
        (url, byteCount, sha256) = (URL(filePath: path), part.length, part.digest)
        (self.resumedByteCount, self.headers) = (resumedByteCount, headers)
    }

    /// The file and its size, and what was resumed.
    public var description: String {
        let resumed = resumedByteCount > 0 ? ", \(resumedByteCount) of them by an earlier download" : ""
        return "\(url.lastPathComponent): \(byteCount) bytes\(resumed)"
    }
}
