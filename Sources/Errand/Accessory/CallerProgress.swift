/// Turns the progress of a send's attempts into the progress of the send, for its caller.
///
/// One may observe several sends, such as a batch's.
struct CallerProgress: SmallBodyObserver {
    /// The progress of one send.
    struct Record: Sendable {
        private var upload: TransferProgress?
        private var download: TransferProgress?
        private var isUploaded = false

        /// Returns the progress of the send to report for the progress of an attempt.
        ///
        /// Neither direction ever runs backwards: a body that is transferred once more is reported from the position that was
        /// reached before. The end of an upload is held back until its response is accepted.
        mutating func report(_ progress: TransferProgress) -> [TransferProgress] {
            switch progress.direction {
            case .upload:
                guard !isUploaded, progress.isAhead(of: upload) else { return [] }
                upload = progress
                return progress.fractionCompleted < 1 ? [progress] : []
            case .download:
                guard progress.isAhead(of: download) else { return [] }
                download = progress
                return [uploadEnd(), progress].compactMap(\.self)
            }
        }

        /// Returns the end of the upload, because its response is accepted, or `nil` if it was reported or there is no upload.
        mutating func uploadEnd() -> TransferProgress? {
            guard !isUploaded, let upload else { return nil }
            isUploaded = true
            let total = upload.total ?? upload.completed
            return TransferProgress(direction: .upload, completed: total, total: total)
        }
    }

    private let report: @Sendable (TransferProgress) -> Void
    private let joinsSends: Bool
    private let records = Lock(Table<Int, Record>())

    /// - Parameters:
    ///   - joinsSends: Whether all sends are parts of one, as for a download that is paused.
    ///   - report: Called with the progress.
    init(joiningSends joinsSends: Bool = false, _ report: @escaping @Sendable (TransferProgress) -> Void) {
        (self.joinsSends, self.report) = (joinsSends, report)
    }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        let key = joinsSends ? 0 : context.id
        switch event {
        case .willStart: records.withLock { if !joinsSends || $0[key] == nil { $0[key] = Record() } }
        case .didProgress(let progress):
            let due = records.withLock { records -> [TransferProgress] in
                // Progress after the end of the send is dropped.
                guard var record = records[key] else { return [] }
                defer { records[key] = record }
                return record.report(progress)
            }
            for progress in due { report(progress) }
        case .willStop(.success):
            guard var record = records.withLock({ $0.removeValue(forKey: key) }) else { return }
            if let end = record.uploadEnd() { report(end) }
        case .willStop where !joinsSends: records.withLock { $0[key] = nil }
        default: break
        }
    }
}

extension TransferProgress {
    fileprivate func isAhead(of other: TransferProgress?) -> Bool {
        guard let other else { return true }
        let (own, reached) = (fractionCompleted, other.fractionCompleted)
        // The end is reported even if there are fewer bytes than before, as in another response.
        if own == 1 { return reached < 1 }
        return own >= reached && (completed > other.completed || own > reached && other.total != nil)
    }
}
