public import Foundation

/// One hop from a URL to another.
public struct Redirect: Sendable, Hashable {
    /// 301, 302, 303, 307 or 308.
    public let statusCode: Int
    /// Where the answer came from.
    public let from: URL
    /// Where the request goes next.
    public let to: URL
    /// The header fields of the response that redirected, `Set-Cookie` among them; they may contain secrets, which the
    /// description leaves out.
    public let headers: HTTPHeaders

    /// Whether scheme, host or port differ, so that credentials stay behind.
    public var leavesOrigin: Bool { from.origin != to.origin }
}
