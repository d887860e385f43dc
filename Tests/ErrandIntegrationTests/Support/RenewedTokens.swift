import Errand
import Foundation

/// Sends a token, and obtains `new` if it is rejected.
struct RenewedTokens: Authenticator {
    func appliesTo(_ url: URL) -> Bool { true }
    func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
        request.headers["Authorization"] = "Bearer \(token)"
    }
    func refresh(_ token: String, with agent: Agent) async throws -> String { "new" }
}
