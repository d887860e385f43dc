internal import Foundation

/// One send: who it is, who is told of it, and when it began.
final class Send: Sendable {
    let config: ConfigSnapshot
    let service: Service
    let stop = StopSignal()
    let id: Int
    /// The type of the request.
    let typeID: ObjectIdentifier
    /// Without the URL, which is not formed yet.
    let context: RequestContext
    private let timeline: Timeline
    private let started: Duration
    /// When the batch or chain must be over that the send belongs to; `nil` is never.
    private let inherited: Deadline?
    let accessories: AccessoryChain

    init<R: Request>(
        _ request: R,
        id: Int,
        config: ConfigSnapshot,
        timeline: Timeline,
        within inherited: Deadline? = nil,
        observedBy observer: (any Accessory)? = nil
    ) {
        self.inherited = inherited
        self.config = config
        self.id = id
        typeID = ObjectIdentifier(R.self)
        self.timeline = timeline
        started = timeline.now()
        service = request.service
        context = RequestContext(
            id: id,
            typeName: TypeNames.name(of: R.self),
            method: request.method,
            serviceID: service.id,
            tag: request.tag,
            attempt: 0,
            attributes: request.attributes
        )
        let accessories = config.value.accessories.and(service.accessories).and(request.accessories)
        self.accessories = AccessoryChain(observer.map { accessories + [$0] } ?? accessories)
    }

    /// Stage 2.
    func prepare(_ request: some Request, step: CacheStep = .whole) throws -> PreparedRequest {
        try RequestBuilder(send: self).prepare(request, step: step)
    }

    /// Stage 10: the payload becomes the model, here and now.
    func format<R: Request>(
        _ answer: Answer,
        of request: R,
        _ prepared: PreparedRequest,
        _ formatting: Metrics.Formatting
    ) throws -> (model: R.Model, metrics: Metrics) {
        try checkTime(of: prepared, for: answer)
        var metrics = answer.metrics
        let began = timeline.now()
        let model: R.Model
        do {
            model = try request.formatter.format(answer.payload)
        } catch let error as NetworkError {
            throw error.answered(by: answer.response)
                .placed(at: answer.response.url, method: context.method)
                .tried(answer.metrics.attempts.count)
        }
        try checkTime(of: prepared, for: answer)
        let ended = timeline.now()
        metrics.format = ended - began
        metrics.total = ended - started
        metrics.formatting = formatting
        return (model, metrics)
    }

    private func checkTime(of prepared: PreparedRequest, for answer: Answer) throws {
        try Task.checkCancellation()
        // What stands in for an answer that did not come in time is late by nature.
        if case .stale = answer.source, prepared.deadline?.isOver == true { return }
        try prepared.deadline?.check(at: prepared.outgoing)
        try stop.check()
    }

    /// When a send of this limit must be over: then, or with what it belongs to.
    func deadline(_ limit: Duration?) -> Deadline? {
        guard let limit else { return inherited }
        return Deadline(limit: limit, time: started + limit, timeline: timeline).earlier(inherited)
    }

    /// Stages 1 and 12: tells the accessories, in the background.
    ///
    /// - Parameters:
    ///   - event: What happens.
    ///   - prepared: `nil` while there is none.
    func tell(_ event: @autoclosure () -> AccessoryEvent, _ prepared: PreparedRequest? = nil) async {
        if !accessories.isEmpty { await accessories.tell(event(), of: prepared?.context ?? context) }
    }

    /// The error as the caller gets it: the library's own with the place where it happened, any other as it is.
    func placing(_ error: any Error) -> any Error {
        guard var error = error as? NetworkError else { return error }
        error.method = error.method ?? (error.reason == .invalidMethod ? nil : context.method)
        error.requestName = context.typeName
        return error
    }
}

extension NetworkError {
    /// This error with the answer that it is about, unless it has one.
    func answered(by response: RawResponse) -> NetworkError {
        guard self.response == nil else { return self }
        var copy = self
        copy.response = response.bounded(to: Self.maximumBodyByteCount)
        return copy
    }

    /// This error with the place where it happened, unless it has one.
    func placed(at url: URL, method: HTTPMethod) -> NetworkError {
        guard host == nil else { return self }
        var copy = self
        copy.method = method
        copy.host = (url.host() ?? "") + (url.port.map { ":\($0)" } ?? "")
        copy.path = url.path()
        return copy
    }
}

extension Outcome {
    init<Model>(_ result: Result<Response<Model>, any Error>) {
        switch result {
        case .success(let response):
            self = .success(statusCode: response.statusCode, source: response.source, metrics: response.metrics)
        case .failure(is CancellationError): self = .cancelled
        case .failure(let error): self = .failure(error)
        }
    }
}
