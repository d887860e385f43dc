/// What a download has to result in.
public struct DownloadOptions: Sendable, Hashable, Codable {
    /// The SHA-256 of the file as 64 hexadecimal digits, or `nil` if it is not checked.
    ///
    /// If the file has another one, it is removed and ``NetworkError/Reason/unexpectedDigest(expected:actual:)`` is thrown.
    public var sha256: String?

    /// The size of the file in bytes, or `nil` if only the size that the server declares is checked.
    ///
    /// If there are more bytes, the download ends at once, with
    /// ``NetworkError/Reason/unexpectedLength(expected:actual:)``.
    public var byteCount: Int64?

    /// Whether an existing file or folder is kept if the response gives its name to the download; `false` by default.
    ///
    /// The new file gets a number then, such as `report.pdf.1`. This is for folders: a file that is itself the target is
    /// replaced.
    public var keepsExistingFiles: Bool

    /// Creates options; by default, nothing is checked in addition to what the server declares.
    public init(sha256: String? = nil, byteCount: Int64? = nil, keepsExistingFiles: Bool = false) {
        self.sha256 = sha256
        self.byteCount = byteCount
        self.keepsExistingFiles = keepsExistingFiles
    }

    /// - Throws: ``NetworkError`` if a value cannot be that of any file.
    func check() throws(NetworkError) {
        if let sha256, sha256.utf8.count != 64 || !sha256.utf8.allSatisfy(\.isHexDigit) {
            throw NetworkError(.unencodable("the expected SHA-256 is not 64 hexadecimal digits"))
        }
        if let byteCount, byteCount < 0 {
            throw NetworkError(.unencodable("the expected size of \(byteCount) bytes is negative"))
        }
    }
}
