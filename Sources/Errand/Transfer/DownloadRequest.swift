public import Foundation

/// A request whose response is downloaded to a file, made by ``Request/downloading(to:_:)``.
///
/// It is sent like any other request: alone, in a batch or a chain, with a handle, or in a scope. It is not stored in a cache,
/// and ``Limits/maximumBodySize`` applies only if the request itself sets it, then to the complete file. An error response is read
/// into memory and passes the filter of the wrapped request.
public struct DownloadRequest<Base: Request>: RequestWrapper, ReceivingRequest {
    /// The downloaded file.
    public typealias Model = DownloadedFile

    /// The wrapped request.
    public let base: Base
    /// The file, or the folder in which the response names the file.
    public let target: URL
    /// What the download has to result in.
    public let options: DownloadOptions

    /// The filter of the wrapped request, for error responses.
    public var filter: Base.Filter { base.filter }
    /// The formatter that returns the file.
    public var formatter: DownloadFormatter { DownloadFormatter(target: target, options: options) }
    /// Always ``CachePolicy/networkOnly``: a file is not stored twice.
    public var cachePolicy: CachePolicy { .networkOnly }
    /// That of the wrapped request, but never ``DuplicatePolicy/share``, because one response makes one file.
    public var duplicatePolicy: DuplicatePolicy { base.duplicatePolicy == .share ? .allow : base.duplicatePolicy }

    func makeReceiver() throws -> any BodyReceiver { try FileReceiver(to: target, options) }
}

extension DownloadRequest: Sendable where Base: Sendable {}

/// The formatter of a ``DownloadRequest``.
public struct DownloadFormatter: ResponseFormatter, Sendable {
    fileprivate let target: URL
    fileprivate let options: DownloadOptions

    /// `true`: it decodes nothing.
    public var guardsItself: Bool { true }

    /// Returns the file that was received, or stores the content of a response that an interceptor made.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The file.
    /// - Throws: ``NetworkError`` if the file cannot be written.
    public func format(_ payload: Payload) throws -> DownloadedFile {
        if let file = payload.received as? DownloadedFile { return file }
        let receiver = try payload.received as? FileReceiver ?? FileReceiver(to: target, options)
        return try receiver.store(payload)
    }
}

extension Request {
    /// Returns a request that downloads the response to a file, and continues what an earlier download has left.
    ///
    /// The bytes are written to `name.part` beside the target, which is replaced when all of them are there. If the download
    /// is interrupted, by whatever, the next one to the same target requests the rest, if the server has supplied a strong
    /// validator (RFC 9110, section 8.8.1); if the content has changed meanwhile, it is requested anew.
    ///
    /// - Parameters:
    ///   - target: The file, or an existing folder. In a folder, the file is named by `Content-Disposition`, or else by the
    ///     URL's path, and replaces one of that name, unless ``DownloadOptions/keepsExistingFiles`` is set. A folder that does
    ///     not exist is an error if the URL ends with a slash, such as with `directoryHint: .isDirectory`; otherwise the URL
    ///     is the file itself.
    ///   - options: What the download has to result in.
    /// - Returns: The request.
    public func downloading(to target: URL, _ options: DownloadOptions = DownloadOptions()) -> DownloadRequest<Self> {
        DownloadRequest(base: self, target: target, options: options)
    }
}

/// What a download has to result in.
public struct DownloadOptions: Sendable, Hashable, Codable {
    /// The SHA-256 of the file as 64 hexadecimal digits, or `nil` if it is not checked.
    ///
    /// If the file has another one, it is removed and ``NetworkError/Reason/unexpectedContent(_:)`` is thrown.
    public var sha256: String?

    /// The size of the file in bytes, or `nil` if only the size that the server declares is checked.
    ///
    /// If there are more bytes, the download ends at once, with
    /// ``NetworkError/Reason/unexpectedContent(_:)``.
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

    /// - Throws: ``NetworkError`` if no file can have such a value.
    func check() throws(NetworkError) {
        if let sha256, sha256.utf8.count != 64 || !sha256.utf8.allSatisfy(\.isHexDigit) {
            throw NetworkError(.unencodable("the expected SHA-256 is not 64 hexadecimal digits"))
        }
        if let byteCount, byteCount < 0 {
            throw NetworkError(.unencodable("the expected size of \(byteCount) bytes is negative"))
        }
    }
}

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
