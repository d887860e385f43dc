internal import Foundation

/// The rules for which redirects are followed, and how.
///
/// Methods change as RFC 9110 describes, and targets are resolved by RFC 3986. A redirect to another origin removes
/// credentials unless the ``CredentialPolicy`` is `.anyOrigin`.
///
/// In a request, write `var redirectPolicy: RedirectPolicy { .refuse }`.
public struct RedirectPolicy: Sendable, Equatable, CustomStringConvertible {
    /// The maximum number of redirects in one attempt, or `nil` to inherit it; 0 follows none.
    public let maximumHops: Int?

    /// Called before each redirect; an error that it throws ends the send and reaches the caller unchanged.
    private var veto: (@Sendable (Redirect) throws -> Void)?

    /// The service's policy, then the config's, then ``follow``.
    public static let inherited = RedirectPolicy(hops: nil)

    /// Follows up to 10 redirects; this is the library default.
    public static let follow = RedirectPolicy(hops: 10)

    /// Follows no redirect; a 3xx response is treated like any other.
    public static let refuse = RedirectPolicy(hops: 0)

    private init(hops: Int?) { maximumHops = hops }

    /// Creates a policy that follows up to a number of redirects; a negative number counts as 0.
    public init(maximumHops: Int) { self.init(hops: max(0, maximumHops)) }

    /// Returns this policy with a closure that is called before each redirect and can reject it.
    ///
    /// - Parameter veto: A closure that throws to end the send; the error reaches the caller unchanged.
    /// - Returns: A policy with this closure in place of any other. If this policy is inherited, the result follows as
    ///   many redirects as ``follow``.
    public func vetoing(_ veto: @escaping @Sendable (Redirect) throws -> Void) -> RedirectPolicy {
        var copy = RedirectPolicy(hops: maximumHops ?? Self.follow.maximumHops)
        copy.veto = veto
        return copy
    }

    /// Returns whether two policies are equal; policies with a veto never are, because closures cannot be compared.
    public static func == (one: RedirectPolicy, other: RedirectPolicy) -> Bool {
        one.veto == nil && other.veto == nil && one.maximumHops == other.maximumHops
    }

    /// A description of the policy.
    public var description: String {
        switch maximumHops {
        case nil: "inherited"
        case 0?: "does not follow redirects"
        case let hops?: "follows \(hops) hops" + (veto == nil ? "" : ", with a veto")
        }
    }

    /// Returns the request that follows a response, or `nil` if the response is not a redirect or is not followed.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request of this response.
    ///   - hops: The number of redirects that were followed before.
    ///   - credentials: Removes credentials if the redirect leads to another origin.
    /// - Returns: The next request and the redirect that leads to it, or `nil` for none.
    /// - Throws: ``NetworkError`` if the target must not be followed, or the error of the veto.
    func next(
        after response: RawResponse,
        to request: OutgoingRequest,
        hops: Int,
        credentials: @autoclosure () -> RedirectCredentials
    ) throws -> (request: OutgoingRequest, redirect: Redirect)? {
        let limit = maximumHops ?? 0
        guard let location = location(of: response.statusCode, response.headers) else { return nil }
        let target = try Self.target(location, from: request.url)
        // A target without a fragment inherits that of the URL before (RFC 9110, section 10.2.2).
        let named = URL(reference: location)
        let redirect = Redirect(
            statusCode: response.statusCode,
            from: request.url,
            to: target.withFragment(of: named?.fragment == nil ? response.url : named),
            headers: response.headers
        )
        guard hops < limit else {
            throw NetworkError(.invalidRedirect("there were more than \(limit)"), response: response)
        }
        if request.url.scheme == "https", target.scheme != "https" {
            throw NetworkError(.invalidRedirect("it leads from https to http"), response: response)
        }
        try veto?(redirect)
        var next = request
        (next.url, next.notes.declared) = (target, nil)
        if changesMethod(response.statusCode, request.method) {
            next.method = request.method == .head ? .head : .get
            next.removeContent()
        }
        // They validate what is stored for the URL before (RFC 9110, section 15.4, item 2.4).
        for field in next.notes.conditions { next.headers[field.name] = nil }
        next.notes.conditions = [:]
        guard next.body.isReplayable else {
            throw NetworkError(.invalidRedirect("its body can be read only once"), response: response)
        }
        if redirect.leavesOrigin { try credentials().leave(on: &next, after: response) }
        return (next, redirect)
    }

    /// Returns the `Location` of a response that is a redirect to be followed, or `nil` for any other.
    func location(of statusCode: Int, _ headers: HTTPHeaders) -> String? {
        guard maximumHops ?? 0 > 0, [301, 302, 303, 307, 308].contains(statusCode),
            let location = headers.values(for: "Location").first, !location.isEmpty
        else { return nil }
        return location
    }

    /// Whether the method becomes GET: POST on 301 and 302, by common practice, and any method but HEAD on 303 (RFC 9110,
    /// sections 15.4.2 to 15.4.4).
    private func changesMethod(_ status: Int, _ method: HTTPMethod) -> Bool {
        switch status {
        case 301, 302: method == .post
        case 303: method != .get && method != .head
        default: false
        }
    }

    /// Resolves a `Location`, without user information and fragment.
    private static func target(_ location: String, from base: URL) throws(NetworkError) -> URL {
        do throws(NetworkError) {
            return try URLParts(reference: location, relativeTo: base).url()
        } catch {
            throw NetworkError(.invalidRedirect(error.reason.sentence))
        }
    }
}
