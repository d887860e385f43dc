/// Measurements that belong together.
///
/// A suite of its own has a file, or a folder when it needs several, with an extension of this type, and stands in
/// ``all``.
struct Suite: Sendable {
    let name: String
    let summary: String
    let run: @Sendable (Reporter) async throws -> Void

    /// Every suite, in the order in which they run.
    static let all = [overhead, transport, json, cache, cacheMillion, batch, transfer, build]
}
