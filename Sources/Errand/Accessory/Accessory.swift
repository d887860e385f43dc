/// A type that observes sends, such as a loading indicator, a log or metrics.
///
/// It is called synchronously in the background, never on the caller's actor, and never under a lock of the library. Its send
/// waits for it, also after the deadline. Every send produces exactly one `willStart`, `willStop` and `didStop`, in this order,
/// on every path. A revalidation in the background is not a caller's send, and produces only
/// ``AccessoryEvent/didRevalidate(_:)``.
public protocol Accessory: Sendable {
    /// Receives an event of a send.
    ///
    /// - Parameters:
    ///   - context: The send. Its ``RequestContext/url`` is `nil` until the URL is formed.
    ///   - event: The event.
    func request(_ context: RequestContext, did event: AccessoryEvent)

    /// Receives an exchange when it has ended, if ``exchangeBodyLimit`` is not `nil`.
    ///
    /// It is called before the send goes on, and not for a response from the cache. The exchange of a revalidation in the
    /// background has the context of that, which belongs to no other event than its ``AccessoryEvent/didRevalidate(_:)``.
    ///
    /// - Parameters:
    ///   - context: The send. Its URL is that of the send's first request.
    ///   - exchange: The exchange, with values that may be secret.
    func request(_ context: RequestContext, exchanged exchange: Exchange)

    /// The number of bytes of each body that the accessory needs of an exchange, or `nil` if it needs no exchanges.
    ///
    /// It is read once for each send. If several accessories need exchanges, each receives the bytes of the one that needs most.
    /// The bodies of downloads and streams, and those that are read while they are sent, are not included. The default is `nil`.
    var exchangeBodyLimit: Int? { get }
}

extension Accessory {
    /// Ignores the exchange.
    public func request(_ context: RequestContext, exchanged exchange: Exchange) {}

    /// The default: `nil`, so that no exchange is observed.
    public var exchangeBodyLimit: Int? { nil }
}

/// An event of a send.
///
/// Cases may be added, so a `switch` needs a `default`.
@nonexhaustive
public enum AccessoryEvent: Sendable {
    /// The send starts. This is the first event.
    case willStart
    /// Bytes of a body of more than 64 KiB, or of any file that is downloaded, were sent or received.
    ///
    /// It occurs after each hundredth of the body, at least 64 KiB, and at its end, and starts over with each attempt.
    /// `send(_:progress:)` reports the progress of the complete send. A response is reported only if its status is accepted.
    /// Sent bytes were passed to the system; only the response shows whether the server has received them.
    case didProgress(TransferProgress)
    /// An attempt failed, and another one follows after a delay, which is zero if it goes to the next URL of a CDN.
    case willRetry(after: Duration, because: any Error)
    /// An attempt failed with this error and is not retried, although the policy allows it, because the
    /// ``RetryBudget`` of the host is exhausted.
    case didExhaustRetryBudget(because: any Error)
    /// The send waits for a refresh of its credential: the server rejected it with this error, or it expires soon
    /// (`nil`).
    case willRefreshCredential(because: (any Error)?)
    /// A redirect is followed.
    case didRedirect(Redirect)
    /// A declaration of the request has no effect, or probably not the intended one; once for each type of request.
    case didDiagnose(Diagnostic)
    /// The send has waited for a permit of the throttle.
    case didWait(Duration)
    /// A stored response that a send has used was revalidated in the background, or could not be.
    ///
    /// This is the only event of the revalidation, whose context has a number of its own. It may follow the send's last one.
    case didRevalidate(SendOutcome)
    /// The outcome is known; delivery follows.
    case willStop(SendOutcome)
    /// The send has ended.
    ///
    /// This is the last event: after a callback's completion, or right before an async caller returns.
    case didStop(SendOutcome)
}

/// The outcome of a send.
public enum SendOutcome: Sendable {
    /// The model was made.
    case success(statusCode: Int, source: ResponseSource, metrics: Metrics)
    /// The send failed with this error, which the caller receives.
    case failure(any Error)
    /// The send was cancelled; the caller receives `CancellationError`.
    case cancelled
}

/// The accessories of one send: the config's, then the service's, then the request's.
///
/// Start events are delivered in that order, stop events in reverse, so that the first accessory encloses the others.
struct AccessoryChain: Sendable {
    private let accessories: [any Accessory]
    /// Whether progress is reported for small bodies, too.
    let observesSmallBodies: Bool
    /// Those that need the exchanges.
    private let observers: [any Accessory]
    /// The number of bytes of a body that an exchange has, or `nil` if exchanges are not observed.
    let exchangeBodyLimit: Int?

    /// Creates the chain of a send, or of work that belongs to no send alone: then its exchanges go to those that need a send's.
    init(_ accessories: [any Accessory], exchangesOf other: AccessoryChain? = nil) {
        self.accessories = accessories
        observesSmallBodies = accessories.contains { $0 is any SmallBodyObserver }
        observers = other?.observers ?? accessories.filter { $0.exchangeBodyLimit != nil }
        exchangeBodyLimit = observers.compactMap(\.exchangeBodyLimit).max()
    }

    var isEmpty: Bool { accessories.isEmpty }
    var names: [String] { accessories.map { String(describing: type(of: $0)) } }

    /// Passes an exchange to the accessories that need it.
    func notify(_ exchange: Exchange, of context: RequestContext) {
        for observer in observers { observer.request(context, exchanged: exchange) }
    }

    /// Returns a record of what a model reads, or `nil` if no accessory needs one.
    func makeReads() -> JSONReads? {
        observers.isEmpty || !accessories.contains { $0 is any ReadingAccessory } ? nil : JSONReads()
    }

    /// Passes what a model read to the accessories that need it, on the caller.
    func notify(_ reads: JSONReads?, of context: RequestContext) {
        guard let reads, reads.isFinished else { return }
        for case let accessory as any ReadingAccessory in accessories { accessory.request(context, read: reads) }
    }

    /// Notifies the accessories of an event in the background, never on a caller's actor.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - context: The send.
    ///   - isFile: Whether it is the progress of a file, which all accessories are notified of, whatever its size.
    @concurrent
    @inline(never)
    func notify(_ event: AccessoryEvent, of context: RequestContext, isFile: Bool = false) async {
        switch event {
        case .willStop, .didStop:
            for accessory in accessories.reversed() { accessory.request(context, did: event) }
        default:
            var isSmall = false
            if case .didProgress(let progress) = event { isSmall = !isFile && progress.isOfSmallBody }
            for accessory in accessories where !isSmall || accessory is any SmallBodyObserver {
                accessory.request(context, did: event)
            }
        }
    }
}

/// An accessory that is also notified of the end of a body of at most 64 KiB.
protocol SmallBodyObserver: Accessory {}

/// An accessory of the package that also receives what models read of their JSON; it must have an ``Accessory/exchangeBodyLimit``.
package protocol ReadingAccessory: Accessory {
    func request(_ context: RequestContext, read reads: JSONReads)
}
