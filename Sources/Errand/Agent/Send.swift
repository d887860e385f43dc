internal import Foundation

/// One send, on its caller: who it is, who is told of it, and when it began.
struct Send: Sendable {
    let config: NetworkConfig
    private let timeline: Timeline
    private let started: Duration
    private var context: RequestContext
    private let accessories: AccessoryChain

    init<R: Request>(_ request: R, id: Int, config: NetworkConfig, timeline: Timeline) {
        self.config = config
        self.timeline = timeline
        started = timeline.now()
        let service = request.service
        context = RequestContext(
            id: id,
            typeName: TypeNames.name(of: R.self),
            method: request.method,
            serviceID: service.id,
            tag: request.tag,
            attempt: 0,
            attributes: request.attributes
        )
        accessories = AccessoryChain(config.accessories + service.accessories + request.accessories)
    }

    /// Stage 2.
    mutating func prepare(_ request: some Request, step: CacheStep = .whole) throws -> PreparedRequest {
        var prepared = try RequestBuilder(config: config)
            .prepare(request, for: context, accessories: accessories, step: step)
        context = prepared.context
        if let limit = prepared.choices.deadline.value {
            prepared.deadline = Deadline(limit: limit, time: started + limit, timeline: timeline)
        }
        return prepared
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
        if case .stale = answer.source { return }
        try prepared.deadline?.check(at: prepared.outgoing)
    }

    /// Stages 1 and 12: tells the accessories, in the background.
    func tell(_ event: @autoclosure () -> AccessoryEvent) async {
        if !accessories.isEmpty { await accessories.tell(event(), of: context) }
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
