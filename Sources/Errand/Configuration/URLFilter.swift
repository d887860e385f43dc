public import Foundation

/// A type that changes the URL of a request after it was joined with the base URL and before its parameters are added.
///
/// The config's filters run in their order, then the service's; each receives the previous one's result.
///
/// A filter that adds a credential, such as `token`, adds it only if ``RequestContext/allowsCredentials`` is `true`. If the
/// final URL has another origin, query pairs that ``Secrets/queryNames`` names are removed unless the request had them.
public protocol URLFilter: Sendable {
    /// Returns the URL to use instead, or the same.
    ///
    /// - Parameters:
    ///   - url: The current URL: absolute, without the request's parameters.
    ///   - context: The send.
    /// - Returns: An absolute http or https URL.
    /// - Throws: An error that reaches the caller unchanged; nothing is sent.
    func filter(_ url: URL, for context: RequestContext) throws -> URL
}
