public import Foundation

/// A redirect from one URL to another.
public struct Redirect: Sendable, Hashable {
    /// The status code: 301, 302, 303, 307 or 308.
    public let statusCode: Int
    /// The URL of the response that redirected.
    public let from: URL
    /// The URL of the next request.
    public let to: URL
    /// The header fields of the response that redirected, including `Set-Cookie`.
    ///
    /// They may contain secrets, which the description of the redirect omits.
    public let headers: HTTPHeaders

    /// Whether scheme, host or port differ, so that credentials are removed.
    public var leavesOrigin: Bool { from.origin != to.origin }
}
