#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// An object that sends requests, each through the same twelve stages.
///
/// Every function that takes a request exists twice under one name, and the compiler chooses. Requests that are
/// `Sendable` together with their `Model` and `Formatter` are prepared and formatted in the background, unless their
/// formatting context is ``FormattingContext/caller``; all others are on the calling actor. A cancelled send throws
/// `CancellationError`; errors that your own code throws are passed on unchanged; every other error is a
/// ``NetworkError``.
public final class Agent: Sendable, RefreshClient {
    private let configs: Lock<ConfigSnapshot>
    let pipeline: Pipeline

    /// The shared agent, for programs that need only one.
    ///
    /// Nothing in the library depends on it.
    public static let shared = Agent(config: NetworkConfig())

    /// Creates an agent, which opens no connection before its first send.
    ///
    /// - Parameters:
    ///   - config: The settings for all requests.
    ///   - transport: The transport that sends the requests. By default, one session of URLSession.
    ///   - clock: The clock that measures deadlines, delays and intervals. Pass another one for tests.
    public init<C: Clock>(
        config: NetworkConfig,
        transport: any Transport = URLSessionTransport(),
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        configs = Lock(ConfigSnapshot(config))
        pipeline = Pipeline(transport: transport, timeline: Timeline(clock))
    }

    /// The config of sends that start from now on; running sends keep the config from their start.
    ///
    /// Changing a property in place reads the config and writes it back, so if two tasks do so at once, one change can
    /// be lost. ``updateConfig(_:)`` loses none.
    public var config: NetworkConfig {
        get { currentConfig.value }
        set {
            let snapshot = ConfigSnapshot(newValue)
            // The old config is released outside of the lock, because a deinitializer may use the agent.
            let old = configs.withLock { current in
                defer { current = snapshot }
                return current
            }
            withExtendedLifetime(old) {}
        }
    }

    var currentConfig: ConfigSnapshot { configs.withLock { $0 } }

    /// Changes the config atomically, so that no change by another task is lost.
    ///
    /// ```swift
    /// agent.updateConfig { $0.headers["Accept-Language"] = "fr" }
    /// ```
    ///
    /// The closure runs without a lock held, so it may use the agent. If another change comes first, it runs again on
    /// the result of that change; it must have no effect besides its changes to the config. Like ``config``, the result
    /// applies to sends that start from now on.
    ///
    /// - Parameter change: A closure that changes the config in place. If it throws, the config is not changed.
    /// - Returns: The result of the closure's last run.
    /// - Throws: The error of the closure.
    @discardableResult
    public func updateConfig<Result>(_ change: (inout NetworkConfig) throws -> Result) rethrows -> Result {
        while true {
            let old = currentConfig
            var value = old.value
            let result = try change(&value)
            let new = ConfigSnapshot(value)
            let isReplaced = configs.withLock { current in
                guard current === old else { return false }
                current = new
                return true
            }
            if isReplaced { return result }
        }
    }

    /// Cancels every running send, and the sends that would follow it; each fails once with `CancellationError`, unless its
    /// failure is ignored.
    ///
    /// Polls, pages, chains, batches, streams of events and `responses(for:)` end, also between two of their sends, and the
    /// requests of `results(of:)` and `resultStream(of:)` that have not begun are not sent. A send that was started with a
    /// handle is cancelled as by the handle, even if it has not begun.
    ///
    /// The requests of a credential refresh are not cancelled, because the server may have consumed the refresh token
    /// already.
    public func cancelAll() { pipeline.sends.cancelAll(everything: true) { _ in true } }

    /// Cancels every running send whose context matches; each fails once with `CancellationError`.
    ///
    /// A poll, pages, a stream of events and `responses(for:)` consist of sends that follow one another. Between two of them
    /// they end in the same way if the context of the latest one matches. Requests of a batch, a chain, `results(of:)` and
    /// `resultStream(of:)` that have not begun have no context yet, and are sent in their turn. So is a send that was started
    /// with a handle just before.
    ///
    /// The requests of a credential refresh are not cancelled, because the server may have consumed the refresh token
    /// already.
    public func cancelAll(where predicate: (RequestContext) -> Bool) { pipeline.sends.cancelAll(where: predicate) }
}

extension Agent {
    /// Runs a send on its caller.
    func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        step: CacheStep = .whole,
        veto: () -> CacheVeto? = { nil },
        in sequence: SendSequence? = nil,
        observedBy observers: [any Accessory] = [],
        delivering deliver: Pipeline.Deliver<R.Model>? = nil
    ) async throws -> Pipeline.Produced<R.Model> {
        let send = makeSend(request, in: sequence, observedBy: observers)
        return try await pipeline.run(request, as: send, formatting, step: step, veto: veto, delivering: deliver)
    }

    func makeSend<R: Request>(
        _ request: R,
        of type: RequestType? = nil,
        within deadline: Deadline? = nil,
        isMember: Bool = false,
        in sequence: SendSequence? = nil,
        observedBy observers: [any Accessory] = []
    ) -> Send {
        Send(
            request,
            of: type,
            id: pipeline.makeID(),
            config: currentConfig,
            client: self,
            transportIdentity: pipeline.transportIdentity,
            timeline: pipeline.timeline,
            within: deadline,
            isMember: isMember,
            in: sequence,
            observedBy: observers
        )
    }

    /// Runs a request on its caller whose formatting context is the caller.
    func runOnCaller<R: Request & Sendable>(
        _ request: R,
        step: CacheStep = .whole,
        in sequence: SendSequence? = nil
    ) async throws -> Pipeline.Produced<R.Model> {
        try await run(
            request,
            formatting: .callerByChoice,
            step: step,
            veto: { { request.shouldCache($0, of: $1) } },
            in: sequence
        )
    }

    @concurrent
    func runInBackground<R: Request & Sendable>(
        _ request: R,
        of type: RequestType? = nil,
        step: CacheStep = .whole,
        within deadline: Deadline? = nil,
        isMember: Bool = false,
        in sequence: SendSequence? = nil,
        observedBy observers: [any Accessory] = [],
        delivering deliver: (@Sendable (Result<Response<R.Model>, any Error>) async -> Bool)? = nil
    ) async throws -> Pipeline.Produced<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        let send = makeSend(
            request,
            of: type,
            within: deadline,
            isMember: isMember,
            in: sequence,
            observedBy: observers
        )
        return try await pipeline.run(
            request,
            as: send,
            .background,
            step: step,
            veto: { { request.shouldCache($0, of: $1) } },
            delivering: deliver
        )
    }
}

extension Agent {
    /// Returns the request as it would be sent, after adapters, without sending it.
    ///
    /// - Throws: The errors that the send would throw before its first attempt.
    public func urlRequest<R: Request>(for request: R) async throws -> URLRequest {
        let (_, prepared, final) = try await preview(request)
        var request = final.urlRequest()
        if !prepared.transportOptions.allowsCellularAccess { request.allowsCellularAccess = false }
        return request
    }

    /// Returns what the send would do, and the source of each setting, without sending anything.
    ///
    /// - Throws: The errors that the send would throw before its first attempt.
    public func plan<R: Request & Sendable>(for request: R) async throws -> RequestPlan
    where R.Model: Sendable, R.Formatter: Sendable {
        try await plan(request, formatting: request.formattingContext == .caller ? .callerByChoice : .background)
    }

    /// Returns what the send would do, and the source of each setting, without sending anything.
    ///
    /// - Throws: The errors that the send would throw before its first attempt.
    public func plan<R: Request>(for request: R) async throws -> RequestPlan {
        try await plan(request, formatting: .callerByNeed)
    }

    private func plan<R: Request>(_ request: R, formatting: Metrics.Formatting) async throws -> RequestPlan {
        let (send, prepared, final) = try await preview(request)
        return try RequestPlan(
            request,
            prepared: prepared,
            final: final,
            config: send.config.value,
            formatting: formatting,
            cache: try await pipeline.cache.forecast(prepared, in: pipeline.aroundCache)
        )
    }

    private func preview<R: Request>(
        _ request: R
    ) async throws -> (send: Send, prepared: PreparedRequest, final: OutgoingRequest) {
        let send = makeSend(request)
        do {
            let prepared = try send.prepare(request)
            return (send, prepared, try await prepared.adapted(attempt: 1))
        } catch {
            throw send.withContext(error)
        }
    }
}
