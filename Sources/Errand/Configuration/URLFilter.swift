public import Foundation

/// Changes the URL of a request after it was joined and before its parameters are added.
///
/// The config's filters run in their order, then the service's; each sees what the one before made.
public protocol URLFilter: Sendable {
    /// - Throws: What reaches the caller unchanged; nothing is sent.
    func filter(_ url: URL, for context: RequestContext) throws -> URL
}
