import Errand

/// Records the events of accessories.
final class ProgressLog: Accessory {
    private let events = Lock<(names: [String], progress: [TransferProgress])>(([], []))

    /// The events that are no progress, in order.
    var names: [String] { events.withLock { $0.names } }
    var all: [TransferProgress] { events.withLock { $0.progress } }

    func progress(_ direction: TransferProgress.Direction) -> [TransferProgress] {
        all.filter { $0.direction == direction }
    }

    func clear() { events.withLock { $0 = ([], []) } }

    func add(_ progress: TransferProgress) { events.withLock { $0.progress.append(progress) } }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        events.withLock { events in
            switch event {
            case .didProgress(let progress): events.progress.append(progress)
            default: events.names.append(String("\(event)".prefix { $0.isLetter }))
            }
        }
    }
}
