/// Measurements that belong together.
///
/// Each suite has a file, or a folder if it needs several, with an extension of this type, and is listed in ``all``.
struct Suite: Sendable {
    let name: String
    let summary: String
    let run: @Sendable (Reporter) async throws -> Void

    /// Every suite, in the order in which they run.
    static let all = [overhead, transport, json, cache, cacheMillion, batch, transfer, build]
}
