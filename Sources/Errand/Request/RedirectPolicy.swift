internal import Foundation

/// Which redirects are followed, and how: methods by RFC 9110, targets by RFC 3986, credentials never to another origin.
///
/// Spelling in a request: `var redirectPolicy: RedirectPolicy { .refuse }`.
public struct RedirectPolicy: Sendable, Equatable, CustomStringConvertible {
    /// The most hops of one attempt; `nil` inherits, 0 hands every 3xx up as it is.
    public let maximumHops: Int?

    /// Looks at each hop before it is made; what it throws ends the send and reaches the caller unchanged.
    private var veto: (@Sendable (Redirect) throws -> Void)?

    /// What the service says, then the config; at the end of the line ``follow``.
    public static let inherited = RedirectPolicy(hops: nil)

    /// Up to 10 hops, what the library does when nobody says anything.
    public static let follow = RedirectPolicy(hops: 10)

    /// No hop: a 3xx is an answer like any other.
    public static let refuse = RedirectPolicy(hops: 0)

    private init(hops: Int?) { maximumHops = hops }

    /// A policy of so many hops; a negative number counts as 0.
    public init(maximumHops: Int) { self.init(hops: max(0, maximumHops)) }

    /// Returns this policy with a look at each hop before it is made.
    ///
    /// - Parameter veto: Throws to end the send; the error reaches the caller unchanged.
    /// - Returns: A policy of as many hops, where this one inherits as many as ``follow``, with this veto in place of any
    ///   other.
    public func vetoing(_ veto: @escaping @Sendable (Redirect) throws -> Void) -> RedirectPolicy {
        var copy = RedirectPolicy(hops: maximumHops ?? Self.follow.maximumHops)
        copy.veto = veto
        return copy
    }

    /// Policies with a veto are never equal, for closures cannot be compared.
    public static func == (one: RedirectPolicy, other: RedirectPolicy) -> Bool {
        one.veto == nil && other.veto == nil && one.maximumHops == other.maximumHops
    }

    /// The number of hops in words.
    public var description: String {
        switch maximumHops {
        case nil: "inherited"
        case 0?: "hands redirects up"
        case let hops?: "follows \(hops) hops" + (veto == nil ? "" : ", with a veto")
        }
    }

    /// The request that follows an answer, or `nil` when the answer is not a redirect, or to be handed up.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - request: What it answers.
    ///   - hops: How many hops were made before.
    ///   - credentials: What stays behind when a hop leaves the origin.
    /// - Returns: The next request and the hop that leads to it, or `nil` when there is none to make.
    /// - Throws: ``NetworkError`` for a target that is not followed, or what the veto throws.
    func next(
        after response: RawResponse,
        to request: OutgoingRequest,
        hops: Int,
        credentials: @autoclosure () -> RedirectCredentials
    ) throws -> (request: OutgoingRequest, redirect: Redirect)? {
        let limit = maximumHops ?? 0
        guard limit > 0, [301, 302, 303, 307, 308].contains(response.statusCode),
            let location = response.headers.values(for: "Location").first, !location.isEmpty
        else { return nil }
        let target = try Self.target(location, from: request.url)
        let redirect = Redirect(
            statusCode: response.statusCode,
            from: request.url,
            to: target,
            headers: response.headers
        )
        guard hops < limit else { throw NetworkError(.tooManyRedirects(limit: limit), response: response) }
        if request.url.scheme == "https", target.scheme != "https" {
            throw NetworkError(.insecureRedirect, response: response)
        }
        try veto?(redirect)
        var next = request
        next.url = target
        if changesMethod(response.statusCode, request.method) {
            next.method = request.method == .head ? .head : .get
            next.body = .empty
            for name in ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Digest"] {
                next.headers[name] = nil
            }
        }
        guard next.body.isReplayable else {
            throw NetworkError(.invalidRedirect("its body can be read only once"), response: response)
        }
        if redirect.leavesOrigin { try credentials().leave(on: &next, after: response) }
        return (next, redirect)
    }

    /// RFC 9110, sections 15.4.2 to 15.4.4: POST becomes GET on 301 and 302 as everybody does it, all become GET on 303.
    private func changesMethod(_ status: Int, _ method: HTTPMethod) -> Bool {
        switch status {
        case 301, 302: method == .post
        case 303: method != .get && method != .head
        default: false
        }
    }

    /// Resolves a Location (RFC 3986, section 5) without user information; illegal characters are encoded.
    private static func target(_ location: String, from base: URL) throws(NetworkError) -> URL {
        do throws(NetworkError) {
            if var parts = try URLParts(absolute: location) {
                if parts.path.isEmpty { parts.path = "/" }
                return try parts.url()
            }
            let escaped = URLText.escapingReference(location.prefix { $0 != "#" })
            guard let url = URL(string: escaped, relativeTo: base)?.absoluteURL,
                let resolved = try URLParts(absolute: url.absoluteString)
            else { throw NetworkError(.invalidRedirect("its Location is not a URL")) }
            return try resolved.url()
        } catch {
            throw error.kind == .redirectRefused ? error : NetworkError(.invalidRedirect(error.reason.sentence))
        }
    }
}
