/// An object that owns sends, such as the sends of one screen.
///
/// When it is deallocated, its sends are cancelled and their completions aren't called.
public final class RequestScope: Sendable {
    private let handles = Lock(Table<ObjectIdentifier, any StartedSend>())

    /// Creates an empty scope.
    public init() {}

    deinit { for handle in all { handle.abandon() } }

    private var all: [any StartedSend] { handles.withLock { $0.values } }

    /// Cancels every send of the scope; each callback is called once with `CancellationError`.
    public func cancelAll() { for handle in all { handle.cancel() } }

    /// Cancels the sends of the scope with a ``Request/tag``, such as a search before the next one for a changed text.
    ///
    /// Each callback is called once with `CancellationError`. Sends that start after this call are not affected.
    public func cancelPrevious(tag: String) {
        let meant = all.filter { $0.tag == tag }
        for handle in meant { handle.cancel() }
    }

    /// The number of running sends of the scope.
    public var count: Int { handles.withLock { $0.count } }

    /// Adds a handle before its send begins.
    func add(_ handle: any StartedSend) { handles.withLock { $0[ObjectIdentifier(handle)] = handle } }

    func remove(_ handle: any StartedSend) { handles.withLock { $0[ObjectIdentifier(handle)] = nil } }
}

/// The part of a handle that scopes, batches and chains use, whatever its value.
protocol StartedSend: AnyObject, Sendable {
    var tag: String { get }
    var isCancelled: Bool { get }
    func cancel()
    func abandon()
    /// Records a change of the progress of a batch or chain.
    func note(_ change: CompositionProgress.Change)
}

extension RequestHandle {
    func note(_ change: CompositionProgress.Change) {
        record.withLock { record in
            if case .started(let total) = change {
                record.composition = CompositionProgress(total: total)
            } else {
                record.composition?.apply(change)
            }
        }
    }
}
