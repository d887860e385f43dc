public import Errand
internal import Foundation

/// An accessory that keeps the last sends with what was sent and what came back, to be read, written as HAR, or seen as a waterfall.
///
/// ```swift
/// let recorder = FlightRecorder()
/// config.accessories.append(recorder)
/// ```
///
/// Values are masked when they are recorded, as in a log at the level of bodies: only those whose names are listed in ``Errand/Secrets``
/// are shown, and of error responses, the members that explain the error. It keeps at most so many sends and bytes as it is
/// given; the oldest are dropped.
public final class FlightRecorder: Accessory {
    private struct State {
        /// The sends, by number, and their numbers from the oldest.
        var sends: [Int: RecordedSend] = [:]
        var order: [Int] = []
        var byteCount = 0
        var isPaused = false
    }

    /// The files that it writes by itself.
    let files = RecorderFiles()
    private let state = Lock(State())
    private let maximumCount: Int
    private let maximumByteCount: Int
    private let bodyLimit: Int
    private let secrets: Secrets?
    private let records: @Sendable (RequestContext) -> Bool

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - maximumCount: The number of sends that it keeps, at least 1.
    ///   - maximumByteCount: About the number of bytes that they need, at least 64 KiB.
    ///   - bodyLimit: The number of bytes up to which a body is kept; of a larger one, and of a stream or download, only its size.
    ///   - secrets: The names whose values are shown, or `nil` for those of the agent's config.
    ///   - records: Whether a send is recorded; called at its start, in the background.
    public init(
        maximumCount: Int = 1_000,
        maximumByteCount: Int = 16 << 20,
        bodyLimit: Int = 64 << 10,
        secrets: Secrets? = nil,
        recording records: @escaping @Sendable (RequestContext) -> Bool = { _ in true }
    ) {
        self.maximumCount = max(1, maximumCount)
        self.maximumByteCount = max(64 << 10, maximumByteCount)
        self.bodyLimit = max(0, bodyLimit)
        (self.secrets, self.records) = (secrets, records)
    }

    /// The number of bytes up to which a body is kept.
    public var exchangeBodyLimit: Int? { bodyLimit }

    /// The recorded sends, in the order in which they started.
    public var sends: [RecordedSend] {
        let now = Date()
        return state.withLock { state in state.order.compactMap { state.sends[$0] } }.map { send in
            var send = send
            if send.outcome == .running { send.duration = .seconds(max(0, now.timeIntervalSince(send.start))) }
            return send
        }
    }

    /// Drops what was recorded; sends that run are not recorded any more.
    public func clear() {
        state.withLock { ($0.sends, $0.order, $0.byteCount) = ([:], [], 0) }
    }

    /// Whether sends that start are not recorded; those that run go on to be.
    public var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set { state.withLock { $0.isPaused = newValue } }
    }

    /// Records an event.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        let now = Date()
        switch event {
        case .willStart:
            if isPaused || !records(context) { return }
            return insert(RecordedSend(context, start: now))
        case .willStop, .didProgress: return
        default: break
        }
        guard let isFirst = state.withLock({ $0.sends[context.id]?.exchanges.isEmpty }) else { return }
        // An exchange has one; the response of a send without any is stored.
        let url = isFirst ? context.shownURL(by: secrets ?? context.secrets) : nil
        switch event {
        // A revalidation in the background ends with this event, in place of the other.
        case .didStop(let end), .didRevalidate(let end):
            let outcome = RecordedSend.Outcome(end)
            update(context.id) { send in
                send.url = url ?? send.url
                (send.duration, send.outcome) = (.seconds(now.timeIntervalSince(send.start)), outcome)
            }
            if case .failure = outcome { files.didFail(self) }
        default:
            var note = RecordedSend.Note(event)
            update(context.id) { send in
                send.url = url ?? send.url
                note.offset = .seconds(now.timeIntervalSince(send.start))
                send.add(note)
            }
        }
    }

    /// Records an exchange.
    public func request(_ context: RequestContext, exchanged exchange: Exchange) {
        let secrets = secrets ?? context.secrets
        if !isRecorded(context) {
            guard exchange.purpose == .background, !isPaused, records(context) else { return }
            insert(RecordedSend(context, start: exchange.start))
        }
        let recorded = RecordedExchange(exchange, upTo: bodyLimit, hiding: secrets)
        update(context.id) { $0.add(recorded) }
    }

    private func isRecorded(_ context: RequestContext) -> Bool { state.withLock { $0.sends[context.id] != nil } }

    private func insert(_ send: RecordedSend) {
        state.withLock { state in
            let old = state.sends.updateValue(send, forKey: send.id)
            if old == nil { state.order.append(send.id) }
            state.byteCount += send.cost - (old?.cost ?? 0)
            drop(from: &state)
        }
    }

    /// Changes a send that is recorded.
    private func update(_ id: Int, _ change: (inout RecordedSend) -> Void) {
        state.withLock { state in
            guard let place = state.sends.index(forKey: id) else { return }
            state.byteCount -= state.sends.values[place].cost
            change(&state.sends.values[place])
            state.sends.values[place].shrink(to: maximumByteCount)
            state.byteCount += state.sends.values[place].cost
            drop(from: &state)
        }
    }

    /// Drops the oldest sends that are too many or too large, but not the last one.
    private func drop(from state: inout State) {
        var count = 0
        while state.sends.count > 1, state.sends.count > maximumCount || state.byteCount > maximumByteCount {
            state.byteCount -= state.sends.removeValue(forKey: state.order[count])?.cost ?? 0
            count += 1
        }
        state.order.removeFirst(count)
    }
}

extension RecordedSend.Outcome {
    init(_ outcome: SendOutcome) {
        switch outcome {
        case .success(let status, let source, _): self = .success(statusCode: status, source: source.name)
        case .failure(let error):
            let kind = (error as? NetworkError).map { "\($0.kind)" } ?? "\(type(of: error))"
            self = .failure(kind: kind, description: error.shownDescription)
        case .cancelled: self = .cancelled
        @unknown default: self = .cancelled
        }
    }
}

extension RecordedSend.Note {
    init(_ event: AccessoryEvent) {
        let duration: Duration? =
            switch event {
            case .didWait(let time): time
            case .willRetry(let pause, _): pause
            default: nil
            }
        self.init(offset: .zero, event: event.name, text: event.words, duration: duration)
    }
}

extension ResponseSource {
    fileprivate var name: String {
        switch self {
        case .network: "network"
        case .cache: "cache"
        case .revalidated: "revalidated"
        case .stale: "stale"
        }
    }
}
