internal import Synchronization

/// The accessories of one send: the config's, then the service's, then the request's.
///
/// Start events are delivered in that order, stop events in reverse, so that the first accessory encloses the others.
struct AccessoryChain: Sendable {
    /// Whether `willStop` has been delivered.
    ///
    /// Work that the send ended without may still be running; its events are dropped.
    private final class Ending: Sendable {
        let hasBegun = Atomic(false)
    }

    private let accessories: [any Accessory]
    private let ending: Ending?
    /// Whether progress is reported for small bodies, too.
    let observesSmallBodies: Bool

    init(_ accessories: [any Accessory]) {
        self.accessories = accessories
        ending = accessories.isEmpty ? nil : Ending()
        observesSmallBodies = accessories.contains { $0 is any SmallBodyObserver }
    }

    /// The same accessories for work that may go on after the end of the send.
    var inBackground: AccessoryChain { AccessoryChain(accessories) }

    var isEmpty: Bool { accessories.isEmpty }
    var names: [String] { accessories.map { String(describing: type(of: $0)) } }

    /// Notifies the accessories of an event in the background, never on a caller's actor.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - context: The send.
    ///   - isFile: Whether a progress is that of a file, of which all accessories are notified, whatever its size.
    @concurrent
    @inline(never)
    func notify(_ event: AccessoryEvent, of context: RequestContext, isFile: Bool = false) async {
        switch event {
        case .willStop, .didStop:
            ending?.hasBegun.store(true, ordering: .relaxed)
            for accessory in accessories.reversed() { accessory.request(context, did: event) }
        default:
            var isSmall = false
            if case .didProgress(let progress) = event { isSmall = !isFile && progress.isOfSmallBody }
            for accessory in accessories where !isSmall || accessory is any SmallBodyObserver {
                // An accessory may have blocked until the send ended without it.
                guard ending?.hasBegun.load(ordering: .relaxed) != true else { return }
                accessory.request(context, did: event)
            }
        }
    }
}

/// An accessory that is also notified of the end of a body of at most 64 KiB.
protocol SmallBodyObserver: Accessory {}
