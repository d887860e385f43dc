internal import Dispatch

/// Something on a screen that shows that work is under way.
@MainActor
public protocol LoadingIndicator: AnyObject, Sendable {
    /// Shows it; called when the first send starts, once for each call of ``hide()``.
    func show()
    /// Hides it; called when the last send has stopped and its minimum display time is over.
    func hide()
}

/// Shows an indicator from the first send that starts until the last one stops.
///
/// It holds the indicator weakly, and calls it on the main actor in the order in which sends start and stop. A batch or
/// chain counts as one when it is among its accessories.
public final class LoadingIndicatorAccessory: Accessory, CompositionAccessory {
    private let face: IndicatorFace
    private let running = Lock(0)

    /// Takes the indicator, which it does not keep alive.
    ///
    /// - Parameters:
    ///   - indicator: Shown while at least one send is under way.
    ///   - minimumDisplayTime: How long it stays once it is shown, so that it does not flicker.
    ///   - clock: Measures that time; a clock of your own is for tests.
    @MainActor
    public init<C: Clock>(
        _ indicator: any LoadingIndicator,
        minimumDisplayTime: Duration = .zero,
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        face = IndicatorFace(indicator, minimumDisplayTime, Timeline(clock))
    }

    /// Counts starts and stops; every other event is of no interest here.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .willStart: change(by: 1)
        case .didStop: change(by: -1)
        default: break
        }
    }

    /// Counts starts and stops; every other event is of no interest here.
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
            // The count now, not then: of a quick start and stop only the last word counts.
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
    /// When it was shown; `nil` while it is hidden.
    private var shown: Duration?
    /// Hides it once its time has passed.
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
            // A cancelled sleep means that it is wanted again.
            guard (try? await timeline.sleep(due)) != nil else { return }
            self?.hide()
        }
    }

    private func hide() {
        guard !isWanted else { return }
        (shown, hiding) = (nil, nil)
        indicator?.hide()
    }
}
