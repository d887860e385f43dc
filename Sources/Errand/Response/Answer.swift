/// What the background part of the pipeline hands to the caller: an accepted answer with its payload found.
struct Answer: Sendable {
    var response: RawResponse
    var payload: Payload
    var source: Source = .network
    var metrics: Metrics
    /// What the cache does once the model is made; `nil` if the send does not use the cache.
    var caching: CacheStoring?

    func response<Model>(with model: Model) -> Response<Model> { Response(model: model, of: self) }
}
