/// The content of a request and its other declarations that can throw, read once for each send after
/// ``Request/check()``.
struct RequestContent: ~Copyable {
    /// A request that was built by the caller and is used alone, or `nil` if it is to be built.
    let custom: Shared<OutgoingRequest>?
    let query: Parameters
    let parameters: Parameters
    let body: RequestBody
    /// The identifier of the JSON-RPC call that the request makes, or `nil`.
    let callID: JSONRPCID?
    /// The content that the JSON guard rejects, because the following stages decode the body without a guard of their own.
    let guarding: JSONGuard.Strictness
    /// Whether the formatter is the user's own and decodes a payload that was not guarded.
    let guardsPayload: Bool
    /// Takes the body in place of memory, or `nil`.
    let receiver: (any BodyReceiver)?

    init(
        _ request: some Request,
        custom: Shared<OutgoingRequest>?,
        settings: Settings,
        isReceiving: Bool
    ) throws {
        let parameters: Parameters
        let query = try custom == nil ? request.query : Parameters()
        let encoding = settings.parameterEncoding.value
        if custom != nil {
            parameters = Parameters()
        } else if encoding.dates == ParameterEncoding.automatic.dates {
            parameters = try request.parameters
        } else {
            parameters = try ParameterEncoding.$ofSend.withValue(encoding) { try request.parameters }
        }
        let body = try custom == nil ? request.body : .automatic
        var callID = body.callID
        if custom != nil, settings.filter.value is JSONRPCFilter {
            // The caller has built the body, but the response is to its call.
            callID = (try? request.body)?.callID
        }
        let formatter = request.formatter
        // Not for each request, because a cast to a protocol looks up its conformance.
        let receiver = try isReceiving ? (request as? any ReceivingRequest)?.makeReceiver() : nil
        // Only now, so that an error leaves nothing half assigned.
        (self.custom, self.query, self.parameters, self.body) = (custom, query, parameters, body)
        self.callID = callID
        guarding = JSONGuard.Strictness(settings.filter.value, before: formatter)
        guardsPayload = !formatter.guardsItself
        self.receiver = receiver
    }
}
