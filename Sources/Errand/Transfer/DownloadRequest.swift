public import Foundation

/// A request whose response is downloaded to a file, made by ``Request/downloading(to:_:)``.
///
/// It is sent like any other request: alone, in a batch or a chain, with a handle, or in a scope. It is not stored in a cache,
/// and ``Limits/maximumBodySize`` applies only if the request itself sets it, then to the whole file. An error response is read
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
    ///     not exist is an error if the URL ends with a slash, such as with `directoryHint: .isDirectory`; otherwise the URL is
    ///     that of the file.
    ///   - options: What the download has to result in.
    /// - Returns: The request.
    public func downloading(to target: URL, _ options: DownloadOptions = DownloadOptions()) -> DownloadRequest<Self> {
        DownloadRequest(base: self, target: target, options: options)
    }
}
