/// Owns sends that belong together, such as those of one screen: when it goes away they end in silence.
public final class RequestScope: Sendable {
    private let handles = Lock(Table<ObjectIdentifier, RequestHandle>())

    /// A scope that owns nothing yet.
    public init() {}

    deinit { for handle in all { handle.abandon() } }

    private var all: [RequestHandle] { handles.withLock { $0.values } }

    /// Ends every send of the scope; each callback is called once with `CancellationError`.
    public func cancelAll() { for handle in all { handle.cancel() } }

    /// Ends the sends of the scope with a ``Request/tag``, so that the next one takes their place: a search while its
    /// text is typed.
    ///
    /// Each callback is called once with `CancellationError`. A send that starts after this call is not meant.
    public func cancelPrevious(tag: String) {
        let meant = all.filter { $0.tag == tag }
        for handle in meant { handle.cancel() }
    }

    /// How many sends of the scope are under way.
    public var count: Int { handles.withLock { $0.count } }

    func add(_ handle: RequestHandle) {
        handles.withLock { $0[ObjectIdentifier(handle)] = handle }
        // A send that ended before it was added would stay for good.
        if handle.isFinished { remove(handle) }
    }

    func remove(_ handle: RequestHandle) { handles.withLock { $0[ObjectIdentifier(handle)] = nil } }
}
