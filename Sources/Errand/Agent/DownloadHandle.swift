public import Foundation

/// A handle to a download that runs in the background and can be paused.
///
/// It need not be kept: a download that was started continues without it. A paused one whose handle is gone stays as it is,
/// and the next download to the same target continues it.
public final class DownloadHandle: Sendable {
    /// The state of a download.
    public enum State: Sendable {
        /// The download is running.
        case running
        /// The download was paused; its bytes are kept if the rest can be requested alone.
        case paused
        /// The file is complete.
        case succeeded(DownloadedFile)
        /// The download failed with this error.
        case failed(any Error)
        /// The download was cancelled, by the handle or by ``Agent/cancelAll(where:)``.
        case cancelled
    }

    private typealias Outcome = Result<DownloadedFile, any Error>

    private struct Record {
        var state = State.paused
        /// What was reported so far, across all sends.
        var progress = CallerProgress.Record()
        var outcome: Outcome?
        /// Whether the outcome will be a cancellation, once the last send has ended.
        var isCancelled = false
        /// The current send, or the last one; after a cancellation, what waits for its end.
        var run: Task<Void, Never>?
        var lastRun = 0
        var waiters: [Delivery<Outcome>] = []
    }

    private let record = Lock(Record())
    private let updates = ProgressUpdates()
    private let report: (@Sendable (TransferProgress) -> Void)?
    private let sends: RunningSends
    private let send: @Sendable (any Accessory) async throws -> DownloadedFile

    fileprivate init(
        _ agent: Agent,
        _ report: (@Sendable (TransferProgress) -> Void)?,
        _ send: @escaping @Sendable (any Accessory) async throws -> DownloadedFile
    ) { (sends, self.report, self.send) = (agent.pipeline.sends, report, send) }

    deinit { updates.finish() }

    /// The state of the download.
    public var state: State { record.withLock { $0.state } }

    /// The latest progress, which includes what an earlier download has left; `nil` before the first report.
    ///
    /// It never runs backwards, also across ``pause()`` and ``resume()``, and ends at 1. An upload is not included.
    public var progress: TransferProgress? { updates.latest }

    /// The progress from now on, beginning with the latest.
    ///
    /// A reader that is far behind the transfer gets the latest 256 updates. The sequence continues after ``resume()``,
    /// and ends with the download, also if that fails, or with a handle whose download is paused. Each use creates another sequence, for one reader.
    public var progressUpdates: AsyncStream<TransferProgress> { updates.makeStream() }

    /// The file, which any number of tasks may await, also while the download is paused.
    ///
    /// Cancelling a waiting task neither ends its waiting nor cancels the download.
    ///
    /// - Throws: The error of the download, or `CancellationError` if it was cancelled.
    public var value: DownloadedFile {
        get async throws {
            let waiter = Delivery<Outcome>()
            let outcome = record.withLock { record in
                if record.outcome == nil { record.waiters.append(waiter) }
                return record.outcome
            }
            if let outcome { return try outcome.get() }
            return try await waiter.value().get()
        }
    }

    /// Ends the transfer and keeps its bytes, until ``resume()``; has no effect unless the download is running.
    ///
    /// A paused download is not a send: ``Agent/cancelAll()`` does not end it, ``cancel()`` does. The file is free for another
    /// download once the transfer has ended, which may be after this returns; to wait for it, ``cancel()`` and await ``value``.
    public func pause() {
        let run = record.withLock { record -> Task<Void, Never>? in
            guard case .running = record.state else { return nil }
            record.state = .paused
            return record.run
        }
        run?.cancel()
    }

    /// Continues a paused download; has no effect on any other.
    ///
    /// What cannot be requested alone is downloaded again; see ``Request/downloading(to:_:)``.
    public func resume() {
        record.withLock { record in
            guard case .paused = record.state, record.outcome == nil else { return }
            record.state = .running
            record.lastRun += 1
            let number = record.lastRun
            let started = sends.noteStarted { self.cancel(number) }
            record.run = Task { [previous = record.run] in
                // It may still have the file.
                await previous?.value
                await self.run(number)
                self.sends.forget(started: started)
            }
        }
    }

    /// Cancels the download with all sends of the agent, unless it was paused.
    private func cancel(_ number: Int) {
        let isRunning = record.withLock { record in
            if case .running = record.state { record.lastRun == number } else { false }
        }
        if isRunning { cancel() }
    }

    /// Cancels the download; its bytes are kept if the rest can be requested alone.
    ///
    /// ``value`` throws `CancellationError` once the file is free for another download.
    public func cancel() {
        let run = record.withLock { record -> Task<Void, Never>? in
            guard record.outcome == nil, !record.isCancelled else { return nil }
            (record.isCancelled, record.state) = (true, .cancelled)
            defer {
                record.run = Task { [previous = record.run] in
                    await previous?.value
                    self.finish(.failure(CancellationError()))
                }
            }
            return record.run
        }
        run?.cancel()
    }

    private func run(_ number: Int) async {
        // The send before it may have been paused too late, and completed.
        guard !Task.isCancelled, record.withLock({ $0.outcome == nil }) else { return }
        do {
            finish(.success(try await send(Observer(handle: self))))
        } catch let error as CancellationError {
            let isPaused = record.withLock { record in
                if case .paused = record.state { true } else { record.lastRun != number }
            }
            if !isPaused { finish(.failure(error)) }
        } catch {
            finish(.failure(error))
        }
    }

    private func finish(_ outcome: Outcome) {
        var outcome = outcome
        let waiters = record.withLock { record -> [Delivery<Outcome>] in
            guard record.outcome == nil else { return [] }
            if record.isCancelled { outcome = .failure(CancellationError()) }
            record.outcome = outcome
            record.state =
                switch outcome {
                case .success(let file): .succeeded(file)
                case .failure(is CancellationError): .cancelled
                case .failure(let error): .failed(error)
                }
            defer { record.waiters = [] }
            return record.waiters
        }
        updates.finish()
        for waiter in waiters { waiter.deliver(outcome) }
    }

    fileprivate func note(_ progress: TransferProgress) {
        let due = record.withLock { record in
            record.outcome == nil && !record.isCancelled ? record.progress.report(progress) : []
        }
        for progress in due {
            updates.note(progress)
            report?(progress)
        }
    }

    private struct Observer: SmallBodyObserver {
        let handle: DownloadHandle

        func request(_ context: RequestContext, did event: AccessoryEvent) {
            if case .didProgress(let progress) = event, progress.direction == .download { handle.note(progress) }
        }
    }
}

extension Agent {
    /// Starts a download in the background, which can be paused.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: What the download has to result in.
    ///   - progress: Called in the background with the progress of ``DownloadHandle/progressUpdates``.
    /// - Returns: A handle to the running download.
    public func startDownload<R: Request & Sendable>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> DownloadHandle {
        let download = request.downloading(to: target, options)
        let handle = DownloadHandle(self, progress) { try await self.send(download.accessory($0)) }
        handle.resume()
        return handle
    }

    /// Starts a download whose request is prepared on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - target: The file, or an existing folder; see ``Request/downloading(to:_:)``.
    ///   - options: What the download has to result in.
    ///   - progress: Called in the background with the progress of ``DownloadHandle/progressUpdates``.
    /// - Returns: A handle to the running download.
    @MainActor
    public func startDownload<R: Request>(
        _ request: R,
        to target: URL,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> DownloadHandle {
        let download = request.downloading(to: target, options)
        let send: @MainActor (any Accessory) async throws -> DownloadedFile = {
            try await self.send(download.accessory($0))
        }
        let handle = DownloadHandle(self, progress) { try await send($0) }
        handle.resume()
        return handle
    }
}
