internal import Foundation

extension CookieJar {
    /// The maximum number of cookies that are read from one response.
    private static let maximumCountPerResponse = 256

    /// `true`: a cookie that comes with a challenge is sent with the response to it.
    var isInnermost: Bool { true }

    /// Returns a text that identifies the jar and the cookies that it sends to the URL of a request.
    public func credentialScope(for context: RequestContext) -> String? {
        guard let url = context.url else { return nil }
        return scope(Self.field(cookies(for: url)))
    }

    func credentialScope(of request: OutgoingRequest, isRedirected: Bool) -> String? {
        // The cookies after a redirect are not known when the response is looked up.
        isRedirected ? nil : scope(request.headers["Cookie"])
    }

    private func scope(_ field: String?) -> String { "cookies \(state.withLock(\.name)) \(field ?? "")" }

    /// The name of the jar if it has cookies for a URL, otherwise `nil`: without cookies, there is no user.
    func identity(for url: URL) -> String? {
        guard let origin = CookieOrigin(url) else { return nil }
        let time = now()
        return state.withLock { state in
            state.store.cookies(for: origin, at: time, isUse: false).isEmpty ? nil : state.name
        }
    }

    func isCurrent(_ identity: String) -> Bool { state.withLock { $0.name == identity } }

    /// Adds the cookies to a request, and receives the cookies of its response.
    ///
    /// In a send it is called for each exchange, inside of all other interceptors.
    public func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        try await intercept(request, for: context, as: nil, next: next)
    }

    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        as identity: String?,
        next: AttemptChain
    ) async throws -> RawResponse {
        let origin = CookieOrigin(request.url)
        let time = now()
        let isOwn = request.headers.contains("Cookie")
        // A response or a waiting request from before a removal belongs to the user who was signed in then.
        let (removals, cookies) = try state.withLock { state in
            if !isOwn, let identity, identity != state.name { throw NetworkError(.credentialChanged) }
            return (state.removals, isOwn ? [] : origin.map { state.store.cookies(for: $0, at: time) } ?? [])
        }
        var request = request
        if !isOwn { request.headers["Cookie"] = Self.field(cookies) }
        // By the end of a download or a stream, its cookies may have been replaced.
        let body = context.beginning?.observe { [self] in receive($0, from: CookieOrigin($0.url), since: removals) }
        defer { if let body { context.beginning?.remove(body) } }
        do {
            let response = try await next(request)
            // An interceptor around the jar may have followed redirects.
            if body?.hasBegun != true { receive(response, from: CookieOrigin(response.url), since: removals) }
            return response
        } catch let error as NetworkError where body?.hasBegun != true {
            // The header section had arrived.
            if let response = error.response { receive(response, from: CookieOrigin(response.url), since: removals) }
            throw error
        }
    }

    /// Returns the value of `Cookie`, or `nil` for none.
    private static func field(_ cookies: [Cookie]) -> String? {
        cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    private func receive(_ response: RawResponse, from origin: CookieOrigin?, since removals: Int) {
        let lines = response.headers.values(for: "Set-Cookie")
        guard let origin, !lines.isEmpty else { return }
        let time = now()
        set(
            lines.prefix(Self.maximumCountPerResponse).compactMap { Cookie($0, from: origin, at: time) },
            from: origin,
            at: time,
            since: removals
        )
    }
}
