public import Foundation

extension Agent {
    /// Downloads the response of a request to a file, and continues what an earlier download has left.
    ///
    /// ```swift
    /// let target = URL(filePath: "user.json")
    /// let file = try await agent.download(GetUser(id: 7), to: target) { print($0.fractionCompleted) }
    /// ```
    ///
    /// The request is prepared on the caller's actor, and the file is written in the background.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: The expected size and digest, and whether existing files are kept.
    ///   - progress: Called in the background as for `send(_:progress:)`: it never runs backwards, and ends at 1.
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

extension Agent {
    /// Starts a download in the background, which can be paused.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: The expected size and digest, and whether existing files are kept.
    ///   - progress: Called in the background with the progress of ``RequestHandle/progressUpdates``.
    /// - Returns: A handle to the running download.
    public func startDownload<R: Request & Sendable>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> RequestHandle<DownloadedFile> {
        let download = request.downloading(to: target, options)
        return launch(download, reporting: progress) { handle, result in _ = handle.settle(result) { $0 } }
    }

    /// Starts a download whose request is prepared on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: The expected size and digest, and whether existing files are kept.
    ///   - progress: Called in the background with the progress of ``RequestHandle/progressUpdates``.
    /// - Returns: A handle to the running download.
    @MainActor
    public func startDownload<R: Request>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> RequestHandle<DownloadedFile> {
        let download = request.downloading(to: target, options)
        return launchOnMain(download, reporting: progress) { handle, result in _ = handle.settle(result) { $0 } }
    }
}

extension RequestHandle where Value == DownloadedFile {
    /// Ends the transfer and keeps its bytes, until ``resume()``; has no effect unless the download is running.
    ///
    /// A paused download is not a send: ``Agent/cancelAll()`` does not end it, ``cancel()`` does. The file is free for another
    /// download once the transfer has ended, which may be after this returns; to wait for it, ``cancel()`` and await ``value``.
    public func pause() {
        let stop = record.withLock { record -> (@Sendable () -> Void)? in
            guard case .running = record.state else { return nil }
            record.state = .paused
            record.pausedCount += 1
            return record.stop
        }
        stop?()
    }

    /// Continues a paused download; has no effect on any other.
    ///
    /// If the rest cannot be requested alone, all of it is downloaded again; see ``Request/downloading(to:_:)``.
    public func resume() {
        record.withLock { record in
            guard record.isPaused else { return }
            record.state = .running
            run(&record)
        }
    }
}
