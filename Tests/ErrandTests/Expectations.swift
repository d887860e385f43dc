import Errand
import Testing

/// Expects a ``NetworkError`` with a reason.
func expect(
    throwing reason: NetworkError.Reason,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () throws -> Void
) {
    let error = #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { try work() }
    if let error { #expect(error.reason == reason, sourceLocation: sourceLocation) }
}

/// Expects a ``NetworkError`` with a reason.
func expect(
    throwing reason: NetworkError.Reason,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () async throws -> Void
) async {
    let error = await #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { try await work() }
    if let error { #expect(error.reason == reason, sourceLocation: sourceLocation) }
}
