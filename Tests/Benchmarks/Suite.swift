/// Measurements that belong together.
struct Suite: Sendable {
    let name: String
    let summary: String
    let run: @Sendable (Reporter) async throws -> Void

    /// Every suite, in the order in which they run.
    static let all = [overhead]
}
