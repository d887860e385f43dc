internal import Dispatch

/// Something on a screen that shows that work is under way.
@MainActor
public protocol LoadingIndicator: AnyObject, Sendable {
    /// Shows it; called when the first send starts.
    func show()
    /// Hides it; called when the last send has stopped.
    func hide()
}

/// Shows an indicator from the first send that starts until the last one stops.
///
/// It holds the indicator weakly, and calls it on the main actor in the order in which sends start and stop.
public final class LoadingIndicatorAccessory: Accessory {
    private let indicator: WeakIndicator
    private let running = Lock(0)

    /// Takes the indicator, which it does not keep alive.
    @MainActor
    public init(_ indicator: any LoadingIndicator) { self.indicator = WeakIndicator(indicator) }

    /// Counts starts and stops; every other event is of no interest here.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .willStart: change(by: 1)
        case .didStop: change(by: -1)
        default: break
        }
    }

    private func change(by difference: Int) {
        let (before, after) = running.withLock { count in
            defer { count += difference }
            return (count, count + difference)
        }
        guard (before == 0) != (after == 0) else { return }
        DispatchQueue.main.async { [self] in
            MainActor.assumeIsolated {
                // The count now, not then: of a quick start and stop only the last word counts.
                if running.withLock({ $0 }) > 0 { indicator.object?.show() } else { indicator.object?.hide() }
            }
        }
    }
}

@MainActor
private final class WeakIndicator {
    weak var object: (any LoadingIndicator)?
    init(_ object: any LoadingIndicator) { self.object = object }
}
