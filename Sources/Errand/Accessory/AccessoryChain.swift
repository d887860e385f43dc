internal import Synchronization

/// The accessories of one send: the config's, then the service's, then the request's.
///
/// Starts are told in that order, stops in reverse, so that who comes first encloses the others.
struct AccessoryChain: Sendable {
    /// Whether `willStop` was told.
    ///
    /// Work that the send ended without may still be running, and its events come too late.
    private final class Ending: Sendable {
        let hasBegun = Atomic(false)
    }

    private let accessories: [any Accessory]
    private let ending: Ending?

    init(_ accessories: [any Accessory]) {
        self.accessories = accessories
        ending = accessories.isEmpty ? nil : Ending()
    }

    var isEmpty: Bool { accessories.isEmpty }
    var names: [String] { accessories.map { String(describing: type(of: $0)) } }

    /// Tells an event in the background, on no actor of a caller.
    @concurrent
    func tell(_ event: AccessoryEvent, of context: RequestContext) async {
        switch event {
        case .willStop, .didStop:
            ending?.hasBegun.store(true, ordering: .relaxed)
            for accessory in accessories.reversed() { accessory.request(context, did: event) }
        default:
            guard ending?.hasBegun.load(ordering: .relaxed) != true else { return }
            for accessory in accessories { accessory.request(context, did: event) }
        }
    }
}
