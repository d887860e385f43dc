public import Foundation

extension Agent {
    /// Downloads the response of a request to a file, and continues what an earlier download has left.
    ///
    /// ```swift
    /// let file = try await agent.download(GetReport(id: 7), to: folder) { progress in bar.show(progress) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: What the download has to result in.
    ///   - progress: Called in the background as described for ``AccessoryEvent/didProgress(_:)``.
    /// - Returns: The file.
    /// - Throws: The errors of `send(_:)`, and ``NetworkError`` if the file cannot be written, or is not what was expected.
    @discardableResult
    public func download<R: Request & Sendable>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        let download = request.downloading(to: target, options)
        guard let progress else { return try await send(download) }
        return try await send(download, progress: progress)
    }

    /// Downloads the response of a request that is prepared on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: What the download has to result in.
    ///   - progress: Called in the background as described for ``AccessoryEvent/didProgress(_:)``.
    /// - Returns: The file.
    /// - Throws: The errors of `send(_:)`, and ``NetworkError`` if the file cannot be written, or is not what was expected.
    @discardableResult
    public func download<R: Request>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        let download = request.downloading(to: target, options)
        guard let progress else { return try await send(download) }
        return try await send(download, progress: progress)
    }
}
