import Errand
import Testing

/// Expects a ``NetworkError`` with a reason, and returns it.
@discardableResult
func expect<Value>(
    throwing reason: NetworkError.Reason,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () throws -> Value
) -> NetworkError? {
    let error = #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { _ = try work() }
    if let error { #expect(error.reason == reason, sourceLocation: sourceLocation) }
    return error
}

/// Expects a ``NetworkError`` with a reason, and returns it.
@discardableResult
func expect<Value>(
    throwing reason: NetworkError.Reason,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () async throws -> Value
) async -> NetworkError? {
    let error = await #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { _ = try await work() }
    if let error { #expect(error.reason == reason, sourceLocation: sourceLocation) }
    return error
}

/// Expects a ``NetworkError`` of a kind, and returns it.
@discardableResult
func expect<Value>(
    kind: NetworkError.Kind,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () async throws -> Value
) async -> NetworkError? {
    let error = await #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { _ = try await work() }
    if let error { #expect(error.kind == kind, sourceLocation: sourceLocation) }
    return error
}
