public import Foundation

/// Changes the URL of a request after it was joined and before its parameters are added.
///
/// The config's filters run in their order, then the service's; each sees what the one before made.
///
/// A filter that adds a credential, such as `token`, adds it only if ``RequestContext/allowsCredentials`` is `true`. If the
/// final URL has another origin, pairs that ``Secrets/queryNames`` names are removed unless the request had them.
public protocol URLFilter: Sendable {
    /// Returns the URL to use instead, or the same.
    ///
    /// - Parameters:
    ///   - url: The URL by now; absolute, without the request's parameters.
    ///   - context: Which send it belongs to.
    /// - Returns: An absolute http or https URL.
    /// - Throws: What reaches the caller unchanged; nothing is sent.
    func filter(_ url: URL, for context: RequestContext) throws -> URL
}
