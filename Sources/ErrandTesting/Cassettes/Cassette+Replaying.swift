import Errand
import Foundation

extension Cassette {
    /// Returns the entry of a request, which is played then.
    func play(_ request: CassetteEntry, _ names: CassetteSecretNames) throws(CassetteError) -> CassetteEntry {
        guard let sent = key(request, names) else { throw CassetteError("the request has no valid URL") }
        let (entries, known) = state.withLock { ($0.entries, $0.keys?.names == names ? $0.keys?.keys : nil) }
        let keys = known ?? entries.map { key($0, names) }
        let found = state.withLock { state -> CassetteEntry? in
            if known == nil, state.entries.count == keys.count { state.keys = (names, keys) }
            // What was recorded meanwhile is not for this request.
            let left = keys.indices.filter { !state.isPlayed[$0] && (order == .recorded || keys[$0] == sent) }
            let same = left.first { index in
                guard order == .any, let recorded = keys[index]?.credentials else { return false }
                return recorded == sent.credentials || state.credentials[recorded] == sent.credentials
            }
            guard let next = same ?? left.first, let key = keys[next], key == sent else { return nil }
            state.isPlayed[next] = true
            state.credentials[key.credentials] = sent.credentials
            return state.entries[next]
        }
        if let found { return found }
        throw missing(sent, entries, keys)
    }

    /// Returns what of a request is compared, with the same word in place of its secrets, wherever they are.
    func key(_ entry: CassetteEntry, _ names: CassetteSecretNames) -> CassetteKey? {
        let headers = entry.request.headers.filter { names.contains(header: $0.name) }
        let query = entry.request.queryString.filter { names.contains($0.name) }
        var (entry, secrets) = (entry, CassetteSecrets(count: 0, uniform: "any"))
        entry.set(Data())
        entry.response.headers = []
        secrets.replace(in: &entry, named: names)
        return (try? entry.received()).map { request in
            CassetteKey(
                request,
                fields: fields,
                ignoringOrigin: ignoresOrigin,
                credentials: (headers + query).map(\.value),
                ignoring: { ignored.contains($0.lowercased()) }
            )
        }
    }

    private func missing(
        _ sent: CassetteKey,
        _ entries: [CassetteEntry],
        _ keys: [CassetteKey?]
    ) -> CassetteError {
        let place = sent.place
        let isPlayed = state.withLock { $0.isPlayed }
        let count = keys.count { $0 == sent }
        if order == .any, count > 0 {
            let times = count == 1 ? "its entry was" : "its \(count) entries were"
            return CassetteError(
                "\(file.lastPathComponent) has no further response to \(place): \(times) played already; record it again if the "
                    + "request is sent more often"
            )
        }
        let candidates = keys.indices.filter { order == .any || !isPlayed[$0] }
        let compared = (order == .any ? candidates : Array(candidates.prefix(1))).compactMap { index in
            keys[index].map { (index, sent.differences(from: $0)) }
        }
        guard let nearest = compared.min(by: { $0.1.count < $1.1.count }) else {
            return CassetteError(
                "\(file.lastPathComponent) has no entry left for \(place): record it with the mode .recordMissing"
            )
        }
        let word = order == .any ? "the nearest" : "the next"
        return CassetteError(
            "\(file.lastPathComponent) has no entry for \(place); \(word) is entry \(nearest.0 + 1), \(entries[nearest.0].name), "
                + "which differs:\n" + nearest.1.map { "  \($0)" }.joined(separator: "\n")
                + "\nIf the change is intended, record it with the mode .recordMissing"
        )
    }
}

extension CassetteEntry {
    /// The method and the URL, without its query.
    var name: String { "\(request.method) \(request.url.prefix { $0 != "?" })" }
}
