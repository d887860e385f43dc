internal import Synchronization

/// A refresh that the current task is part of, possibly inside another one.
///
/// It applies while the refresh is in progress: a task that was started in it and outlives it is like any other task.
final class RefreshScope: Sendable {
    @TaskLocal static var current: RefreshScope?

    private let session: ObjectIdentifier
    private let outer: RefreshScope?
    private let hasEnded = Atomic(false)

    init(of session: some AnyObject) {
        self.session = ObjectIdentifier(session)
        outer = Self.current?.active
    }

    /// Whether the current task is part of a refresh.
    static var isActive: Bool { current?.contains { _ in true } ?? false }

    /// Whether the current task is part of a refresh of a session.
    static func contains(_ session: any CredentialHolder) -> Bool {
        current?.contains { $0 == ObjectIdentifier(session) } ?? false
    }

    private func contains(_ matches: (ObjectIdentifier) -> Bool) -> Bool {
        guard let active else { return false }
        return matches(active.session) || active.outer?.contains(matches) ?? false
    }

    /// This refresh, or the next one around it that is in progress, so that chains do not grow with time.
    private var active: RefreshScope? { hasEnded.load(ordering: .acquiring) ? outer?.active : self }

    /// Runs the refresh, which is over when this returns or throws.
    func run<Value>(_ refresh: () async throws -> Value) async throws -> Value {
        defer { hasEnded.store(true, ordering: .releasing) }
        return try await Self.$current.withValue(self) { try await refresh() }
    }
}
