/// What the background part of the pipeline hands to the caller: an accepted answer with its payload found.
struct Answer: Sendable {
    var response: RawResponse
    var payload: Payload
    var source: Source = .network
    var metrics: Metrics
    /// What the cache still wants; `nil` when it has nothing to do with the answer.
    var caching: AnswerCaching?

    func response<Model>(with model: Model) -> Response<Model> {
        Response(
            model: model,
            raw: response,
            payload: payload,
            source: source,
            metrics: metrics,
            isFollowed: caching?.isFollowed ?? false
        )
    }
}
