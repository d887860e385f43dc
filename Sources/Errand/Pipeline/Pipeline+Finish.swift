// The last stages, in the context that the request must not leave.

extension Pipeline {
    /// Runs stages 9 to 12: creates the model from the response, and ends the send.
    func finish<R: Request>(
        _ accepted: consuming AcceptedResponse,
        of request: R,
        _ prepared: PreparedRequest,
        as send: Send,
        _ formatting: Metrics.Formatting,
        delivering deliver: Deliver<R.Model>? = nil,
        replacing replace: Replace
    ) async throws -> Produced<R.Model> {
        let model: R.Model
        do {
            if accepted.caching == nil {
                model = try send.format(&accepted, of: request, prepared, formatting)  // 10
            } else {
                // 9, 10
                model = try await formatCached(
                    &accepted,
                    of: request,
                    prepared,
                    formatting,
                    in: send,
                    replacing: replace
                )
            }
            try request.didProduce(model, from: accepted.response)  // 11
        } catch {
            throw await end(send, throwing: error, delivering: deliver)  // 12
        }
        if send.type.mayLackModel { await diagnose(accepted, as: send) }
        if deliver != nil || !send.accessories.isEmpty {
            let response = Response(model: model, of: copy accepted)
            await notifyEnd(of: send, Outcome(copy accepted), delivering: deliver, .success(response))  // 12
        }
        end(send)
        // Cancelled too late for this send, but not for the sends that would follow it.
        if let sequence = send.sequence, send.stop.reason == .cancelled { sends.endUnlessOthersRun(sequence) }
        return (model, accepted)
    }

    /// Runs stage 12 of a send that failed; returns the error for the caller.
    func end<Model>(
        _ send: Send,
        throwing error: any Error,
        delivering deliver: Deliver<Model>?
    ) async -> any Error {
        let error = send.final(error)
        send.releaseFile()
        await notifyEnd(of: send, Outcome(error), delivering: deliver, .failure(error))
        end(send)
        return error
    }

    private func end(_ send: Send) {
        send.finish()
        if send.type.isReceiving { send.prepared?.receiver?.end() }
        sends.forget(send)
    }

    /// Ends a send whose caller no longer waits; the response is dropped.
    func abandon(_ send: Send) async {
        _ = await end(send, throwing: CancellationError(), delivering: Deliver<Void>?.none)
    }

    /// Runs stage 12: notifies the accessories, and calls the completion in between.
    private func notifyEnd<Model>(
        of send: Send,
        _ outcome: Outcome,
        delivering deliver: Deliver<Model>?,
        _ result: Result<Response<Model>, any Error>
    ) async {
        await send.notify(.willStop(outcome))
        // Until it is delivered, a callback may still be cancelled.
        let isCancelled = deliver != nil && send.stop.reason == .cancelled && !send.hasFile
        let isDelivered = await deliver?(isCancelled ? .failure(CancellationError()) : result) ?? true
        await send.notify(.didStop(isDelivered && !isCancelled ? outcome : .cancelled))
    }

    /// Runs stages 9 and 10 of a response that was stored or may be.
    ///
    /// It is stored once the model is created: a response that cannot be decoded is not usable later, and an older one that can
    /// be decoded may still be used. A stored response that is no longer usable is removed and replaced.
    private func formatCached<R: Request>(
        _ accepted: inout AcceptedResponse,
        of request: R,
        _ prepared: PreparedRequest,
        _ formatting: Metrics.Formatting,
        in send: Send,
        replacing replace: Replace
    ) async throws -> R.Model {
        let isValidated = if case .revalidated = accepted.source { true } else { false }
        if let caching = accepted.caching, caching.isHit || isValidated {
            let (miss, error): (CacheMiss, any Error)
            // The request's veto has not been called for a response of a background revalidation.
            if caching.isHit, caching.entry != nil, !request.shouldCache(accepted.payload, of: accepted.response) {
                (miss, error) = (.vetoed, CacheMiss.vetoed)
            } else {
                do {
                    let model = try send.format(&accepted, of: request, prepared, formatting)
                    // The veto was called for a hit above; a response that the server validated is stored again unless it is
                    // vetoed.
                    if caching.isHit
                        || caching.entry != nil && request.shouldCache(accepted.payload, of: accepted.response)
                    {
                        caching.commit()
                    }
                    return model
                } catch let failure {
                    if failure is CancellationError { throw failure }
                    if case .deadlineExceeded? = (failure as? NetworkError)?.reason { throw failure }
                    (miss, error) = (.notDecodable, failure)
                }
            }
            try caching.discard(accepted, of: prepared, because: error)
            accepted = try await replace(miss)
        }
        let model = try send.format(&accepted, of: request, prepared, formatting)
        if let caching = accepted.caching, caching.entry != nil,
            request.shouldCache(accepted.payload, of: accepted.response)
        {
            caching.commit()
        }
        return model
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
