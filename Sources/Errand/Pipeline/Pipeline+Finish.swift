// The last stages, in the context that the request must not leave.

extension Pipeline {
    /// Runs stages 9 to 12: creates the model from the response, and ends the send.
    ///
    /// Only this function knows the type of the request; what it calls gets closures.
    func finish<R: Request>(
        _ accepted: consuming AcceptedResponse,
        of request: R,
        _ prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        delivering deliver: Deliver<R.Model>? = nil,
        replacing replace: Replace
    ) async throws -> Produced<R.Model> {
        var made: R.Model?
        let model: R.Model
        do {
            if accepted.caching == nil {
                try send.format(&accepted, of: prepared, formatting) { made = try request.formatter.format($0) }  // 10
            } else {
                try await formatCached(
                    &accepted,
                    of: prepared,
                    as: send,
                    formatting,
                    replacing: replace,
                    unlessVetoed: { request.shouldCache($0, of: $1) },
                    by: { made = try request.formatter.format($0) }
                )  // 9, 10
            }
            guard let found = made else { throw NetworkError(.other("the formatter made no model")) }
            model = found
            try request.didProduce(model, from: accepted.response)  // 11
        } catch {
            throw await end(send, throwing: error, delivering: ending(deliver))
        }
        if send.type.mayLackModel { await diagnose(accepted, as: send) }
        if deliver != nil || !send.accessories.isEmpty {
            let response = Response(model: model, of: copy accepted)
            // 12
            await notifyEnd(of: send, SendOutcome(copy accepted), nil, delivering: ending(deliver, with: response))
        }
        end(send)
        // Cancelled too late for this send, but not for those that its reader would request.
        if let sequence = send.sequence, sequence.isOfReader, send.stop.reason == .cancelled { sequence.stop() }
        return (model, accepted)
    }

    /// Runs stages 9 and 10 of a response that was stored or may be.
    ///
    /// It is stored once the model is created: a response that cannot be decoded is not usable later, and an older one that can
    /// be decoded may still be used. A stored response that is no longer usable is removed and replaced.
    @inline(never)
    private func formatCached(
        _ accepted: inout AcceptedResponse,
        of prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        replacing replace: Replace,
        unlessVetoed mayStore: (Payload, RawResponse) -> Bool,
        by make: (Payload) throws -> Void
    ) async throws {
        func storeUnlessVetoed() {
            guard let caching = accepted.caching, caching.entry != nil else { return }
            if mayStore(accepted.payload, accepted.response) { caching.commit() }
        }
        let isValidated = if case .revalidated = accepted.source { true } else { false }
        if let caching = accepted.caching, caching.isHit || isValidated {
            let (miss, error): (CacheMiss, any Error)
            // The request's veto has not been called for a response of a background revalidation.
            if caching.isHit, caching.entry != nil, !mayStore(accepted.payload, accepted.response) {
                (miss, error) = (.vetoed, CacheMiss.vetoed)
            } else {
                do {
                    try send.format(&accepted, of: prepared, formatting, by: make)
                    // The veto was called for a hit above; a response that the server validated is stored again unless it is
                    // vetoed.
                    if caching.isHit { caching.commit() } else { storeUnlessVetoed() }
                    return
                } catch let failure {
                    if failure is CancellationError { throw failure }
                    if case .deadlineExceeded? = (failure as? NetworkError)?.reason { throw failure }
                    (miss, error) = (.notDecodable, failure)
                }
            }
            try caching.discard(accepted, of: prepared, because: error)
            accepted = try await replace(miss)
        }
        try send.format(&accepted, of: prepared, formatting, by: make)
        storeUnlessVetoed()
    }
}

extension CacheStoring {
    /// Removes a stored response that its request has vetoed.
    ///
    /// A response that cannot be decoded as the request's model may be usable for a request with another model. It is replaced
    /// by the one that is fetched.
    ///
    /// - Throws: The error of the send if no other response may be fetched in its place.
    fileprivate func discard(
        _ accepted: AcceptedResponse,
        of prepared: PreparedRequest,
        because reason: any Error
    ) throws {
        if case CacheMiss.vetoed = reason { cache.discard(place, by: ticket) }
        if case .stale(_, let failure) = accepted.source { throw failure }
        if case .cacheOnly = prepared.cacheUse?.policy { throw prepared.notCached(reason) }
    }
}
