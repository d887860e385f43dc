internal import Dispatch

/// A user interface element that shows that work is in progress.
@MainActor
public protocol LoadingIndicator: AnyObject, Sendable {
    /// Shows it. Called when the first send starts, once for each call of ``hide()``.
    func show()
    /// Hides it. Called when the last send has stopped and the minimum display time is over.
    func hide()
}

/// An accessory that shows an indicator from the first send that starts until the last one stops.
///
/// It holds the indicator weakly, and calls it on the main actor in the order in which sends start and stop. A batch or
/// chain counts as one send if this is one of its accessories.
public final class LoadingIndicatorAccessory: Accessory, CompositionAccessory {
    private let face: IndicatorFace
    private let running = Lock(0)

    /// Creates an accessory for an indicator, which it references weakly.
    ///
    /// - Parameters:
    ///   - indicator: The indicator, shown while at least one send is in progress.
    ///   - minimumDisplayTime: The minimum time that the indicator is shown, so that it does not flicker.
    ///   - clock: The clock that measures that time. Pass another one in tests.
    @MainActor
    public init<C: Clock>(
        _ indicator: any LoadingIndicator,
        minimumDisplayTime: Duration = .zero,
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        face = IndicatorFace(indicator, minimumDisplayTime, Timeline(clock))
    }

    /// Counts starts and stops, and ignores every other event.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .willStart: change(by: 1)
        case .didStop: change(by: -1)
        default: break
        }
    }

    /// Counts starts and stops, and ignores every other event.
    public func composition(_ context: CompositionContext, did event: CompositionEvent) {
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
            // The current count, because a start and a stop in quick succession need no update of their own.
            MainActor.assumeIsolated { face.update(isWanted: running.withLock { $0 } > 0) }
        }
    }
}

/// Shows and hides the indicator, and keeps it for its minimum time.
@MainActor
private final class IndicatorFace {
    private weak var indicator: (any LoadingIndicator)?
    private let minimumDisplayTime: Duration
    private let timeline: Timeline
    private var isWanted = false
    /// The time when it was shown, or `nil` while it is hidden.
    private var shown: Duration?
    /// The task that hides it once its minimum time is over.
    private var hiding: Task<Void, Never>?

    init(_ indicator: any LoadingIndicator, _ minimumDisplayTime: Duration, _ timeline: Timeline) {
        self.indicator = indicator
        self.minimumDisplayTime = minimumDisplayTime
        self.timeline = timeline
    }

    deinit { hiding?.cancel() }

    func update(isWanted: Bool) {
        self.isWanted = isWanted
        guard isWanted else { return hideWhenDue() }
        hiding?.cancel()
        hiding = nil
        guard shown == nil else { return }
        shown = timeline.now()
        indicator?.show()
    }

    private func hideWhenDue() {
        guard let shown else { return }
        let due = shown + minimumDisplayTime.clamped
        guard timeline.now() < due else { return hide() }
        guard hiding == nil else { return }
        hiding = Task { [weak self, timeline] in
            // A cancelled sleep means that the indicator is needed again.
            guard (try? await timeline.sleep(due)) != nil, !Task.isCancelled else { return }
            self?.hide()
        }
    }

    private func hide() {
        guard !isWanted, shown != nil else { return }
        hiding?.cancel()
        (shown, hiding) = (nil, nil)
        indicator?.hide()
    }
}
