public import Foundation

extension Agent {
    /// Downloads the response of a request to a file, and continues what an earlier download has left.
    ///
    /// ```swift
    /// let target = URL(filePath: "user.json")
    /// let file = try await agent.download(GetUser(id: 7), to: target) { print($0.fractionCompleted) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: What the download has to result in.
    ///   - progress: Called in the background as for `send(_:progress:)`: it never runs backwards, and ends at 1.
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
    /// Downloads all that is unfinished in a store, and removes what is finished from it.
    ///
    /// What fails stays in the store: send it again with another call, or remove it with ``DownloadStore/remove(_:)``.
    /// Downloads that are added meanwhile are not included.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - maximumConcurrent: The maximum number of downloads that run at the same time, at least 1.
    ///   - progress: Called in the background with the progress of each download, which never runs backwards and ends at 1.
    /// - Returns: A result for each download, the oldest first.
    @discardableResult
    public func download<Download: Request & Codable & Sendable>(
        allIn store: DownloadStore<Download>,
        maximumConcurrent: Int = 3,
        progress: (@Sendable (DownloadStore<Download>.Item, TransferProgress) -> Void)? = nil
    ) async -> [(item: DownloadStore<Download>.Item, result: Result<DownloadedFile, any Error>)] {
        let items = store.unfinished
        let requests = items.map { item in
            let download = item.request.downloading(to: item.target, item.options)
            return StoredDownload(base: download, finished: { store.remove(item) })
                .accessory(CallerProgress { one in if one.direction == .download { progress?(item, one) } })
        }
        let results = await results(of: requests, maximumConcurrent: maximumConcurrent)
        return Array(zip(items, results))
    }
}

/// A download that is removed from its store when it is finished, and not only when all are.
private struct StoredDownload<Base: Request & Sendable>: RequestWrapper, ReceivingRequest, Sendable {
    typealias Model = DownloadedFile

    let base: DownloadRequest<Base>
    let finished: @Sendable () -> Void

    var filter: Base.Filter { base.filter }
    var formatter: DownloadFormatter { base.formatter }
    func didProduce(_ model: DownloadedFile, from response: RawResponse) { finished() }
    func makeReceiver() throws -> any BodyReceiver { try base.makeReceiver() }
}
