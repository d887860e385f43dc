/// The accessories of one send: the config's, then the service's, then the request's.
///
/// Starts are told in that order, stops in reverse, so that who comes first encloses the others.
struct AccessoryChain: Sendable {
    private let accessories: [any Accessory]

    init(_ accessories: [any Accessory]) { self.accessories = accessories }

    var isEmpty: Bool { accessories.isEmpty }
    var names: [String] { accessories.map { String(describing: type(of: $0)) } }

    /// Tells an event in the background, on no actor of a caller.
    @concurrent
    func tell(_ event: AccessoryEvent, of context: RequestContext) async {
        switch event {
        case .willStop, .didStop: for accessory in accessories.reversed() { accessory.request(context, did: event) }
        default: for accessory in accessories { accessory.request(context, did: event) }
        }
    }
}
