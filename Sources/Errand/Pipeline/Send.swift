internal import Foundation
internal import Synchronization

/// One send: its identity, its accessories, and when it began.
final class Send: Sendable {
    let config: ConfigSnapshot
    /// The client that sends the requests of a refresh.
    let client: any RefreshClient
    let transportIdentity: String
    let stop = StopSignal()
    let id: Int
    /// The type of the request.
    let type: RequestType
    /// The context without the URL, which is not known yet.
    let context: RequestContext
    private let timeline: Timeline
    private let started: Duration
    /// The deadline, by the send's own limit or its batch's or chain's; `nil` if there is none.
    let deadline: Deadline?
    let accessories: AccessoryChain
    /// Whether the send belongs to a composition.
    let isMember: Bool
    /// The sequence that the send is a part of, or `nil` if it stands alone.
    let sequence: SendSequence?

    /// `nil` if there is no deadline, because most sends have none.
    let watch: Lock<DeadlineWatch?>?
    /// The snapshot of the request, once it is built.
    private let built = OnceReference<PreparedRequest>()
    /// The place of the send among those that run, or -1 for none; belongs to ``RunningSends``.
    let place = Atomic(-1)

    init<R: Request>(
        _ request: R,
        of type: RequestType? = nil,
        id: Int,
        config: ConfigSnapshot,
        client: any RefreshClient,
        transportIdentity: String,
        timeline: Timeline,
        within inherited: Deadline? = nil,
        isMember: Bool = false,
        in sequence: SendSequence? = nil,
        observedBy observers: [any Accessory] = []
    ) {
        self.isMember = isMember
        self.sequence = sequence
        self.id = id
        self.client = client
        self.transportIdentity = transportIdentity
        self.timeline = timeline
        started = timeline.now()
        self.config = config
        // Only what the start needs: the other members are read after `check()`.
        let service = request.service
        let own = service.atStart()
        let limit = request.limits.deadline ?? own.deadline ?? config.inherited.limits.deadline
        deadline = limit.map { [started] in Deadline($0, from: started, on: timeline).earlier(inherited) } ?? inherited
        let type = type ?? RequestType.of(R.self)
        self.type = type
        context = RequestContext(
            id: id,
            typeName: type.name,
            method: request.method,
            serviceID: service.id,
            tag: request.tag,
            attributes: request.attributes,
            sharing: config.secrets,
            in: sequence?.group
        )
        let accessories = config.inherited.accessories.and(own.accessories).and(request.accessories)
        self.accessories = AccessoryChain(accessories.and(observers))
        watch = deadline == nil ? nil : Lock(nil)
    }

    /// Runs stage 2.
    func prepare(
        _ request: some Request,
        step: CacheStep = .whole,
        notesRequest: Bool = false
    ) throws -> PreparedRequest {
        try request.check()
        let custom = try request.customURLRequest().map { Shared(try OutgoingRequest($0)) }
        let settings = Settings(config, RequestValues(request, isBuilt: custom == nil))
        let sent = notesRequest ? SentRequest(request, of: settings) : nil
        let builder = RequestBuilder(send: self, settings: settings, sent: sent)
        do {
            let content = try RequestContent(
                request,
                custom: custom,
                settings: settings,
                isReceiving: type.isReceiving
            )
            let prepared = try builder.prepare(content, step: step)
            built.set(prepared)
            // Its file is free for another download as soon as the send has to end.
            if let file = prepared.receiver as? FileReceiver { stop.slot().fill(with: file) }
            try sequence?.check(prepared)
            return prepared
        } catch let error as NetworkError {
            throw custom == nil ? builder.locating(error) : error
        }
    }

    /// The snapshot of the request, or `nil` if it is not built yet.
    var prepared: PreparedRequest? { built.object }

    /// Whether the file of a download is in its place, which cannot be taken back.
    var hasFile: Bool { type.isReceiving && prepared?.receiver?.received is DownloadedFile }

    /// The context, with its URL once it is known.
    var latestContext: RequestContext { prepared?.context ?? context }

    /// Runs stage 10: formats the payload synchronously, and records the duration in the response.
    func format(
        _ accepted: inout AcceptedResponse,
        of prepared: PreparedRequest,
        _ formatting: Metrics.Formatting,
        by make: (Payload) throws -> Void
    ) throws {
        try checkTime(of: prepared, for: accepted.source)
        let began = timeline.now()
        accepted.payload.reads = accessories.makeReads()
        // What no formatter has used is of no use to who keeps the response.
        defer { accepted.payload.indexed?.index.drop() }
        do {
            try make(accepted.payload)
        } catch {
            // An error may be a consequence of the end of the send.
            try checkTime(of: prepared, for: accepted.source)
            guard let error = error as? NetworkError else { throw error }
            throw error.with(response: accepted.response)
                .with(exchangeOf: accepted.response, method: prepared.outgoing.method)
                .with(attempts: accepted.metrics.attempts.count)
        }
        let ended = timeline.now()
        try checkTime(of: prepared, for: accepted.source)
        accessories.notify(accepted.payload.reads, of: prepared.context)
        accepted.payload.reads = nil
        accepted.times.format = ended - began
        accepted.times.total = ended - started
        accepted.times.start = timeline.date() - (ended - started).timeInterval
        accepted.times.formatting = formatting
    }

    private func checkTime(of prepared: PreparedRequest, for source: ResponseSource) throws {
        if hasFile { return }
        if Task.isCancelled { throw CancellationError() }
        // A stale response in place of a late one is always late itself.
        if case .stale = source, prepared.deadline?.isOver == true { return }
        try prepared.deadline?.check(at: prepared.outgoing)
        if stop.mustEnd { throw CancellationError() }
    }

    /// Notifies the accessories in stages 1 and 12, in the background.
    func notify(_ event: AccessoryEvent) async {
        if !accessories.isEmpty { await accessories.notify(event, of: latestContext) }
    }

    /// Returns the error for the caller: the library's errors with the place where they occurred, others unchanged.
    func withContext(_ error: any Error) -> any Error {
        guard var error = error as? NetworkError else { return error }
        error.details.value.method = error.method ?? (error.reason == .invalidMethod ? nil : latestContext.method)
        error.details.value.requestName = context.typeName
        if error.response != nil { error.details.value.decoder = prepared?.decoder }
        return error
    }
}
