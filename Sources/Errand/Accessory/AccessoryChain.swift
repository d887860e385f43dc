/// The accessories of one send: the config's, then the service's, then the request's.
///
/// Start events are delivered in that order, stop events in reverse, so that the first accessory encloses the others.
struct AccessoryChain: Sendable {
    private let accessories: [any Accessory]
    /// Whether progress is reported for small bodies, too.
    let observesSmallBodies: Bool

    init(_ accessories: [any Accessory]) {
        self.accessories = accessories
        observesSmallBodies = accessories.contains { $0 is any SmallBodyObserver }
    }

    var isEmpty: Bool { accessories.isEmpty }
    var names: [String] { accessories.map { String(describing: type(of: $0)) } }

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
