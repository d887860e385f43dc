/// What the background part of the pipeline returns to the caller: an accepted response and its payload.
struct AcceptedResponse: Sendable {
    var response: RawResponse
    var payload: Payload
    var source: Source = .network
    var metrics: Metrics
    /// What the cache does after formatting, or `nil` if the send does not use the cache.
    var caching: CacheStoring?

    func response<Model>(with model: Model) -> Response<Model> { Response(model: model, of: self) }
}
