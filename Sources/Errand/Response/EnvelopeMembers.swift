internal import Foundation

/// The paths of an envelope's members, prepared for finding all of them in one pass.
///
/// All values are equal, because the filter compares the paths that they are made of.
final class EnvelopeMembers: Sendable, Hashable {
    /// The path of one member: its names, and the steps after them that are not names.
    struct Place: Sendable {
        /// The index in the tree, or `nil` for the complete body.
        let slot: Int?
        let rest: JSONPath?
    }

    let tree: JSONMemberTree
    let code: Place?
    let message: Place?
    let data: Place
    let time: Place?
    let others: [String: Place]
    /// The path of the data.
    let dataPath: JSONPath
    /// The error of the first path that has invalid syntax.
    let mistake: JSONError?

    init(code: JSONPath?, message: JSONPath?, data: JSONPath, time: JSONPath?, others: [String: JSONPath]) {
        var tree = JSONMemberTree()
        var mistake: JSONError?
        func place(_ path: JSONPath) -> Place {
            do {
                let steps = try path.get().steps
                let names = steps.prefix { if case .member = $0 { true } else { false } }
                    .compactMap { if case .member(let name) = $0 { name } else { nil } }
                let rest = steps.dropFirst(names.count)
                return Place(
                    slot: names.isEmpty ? nil : tree.insert(names),
                    rest: rest.isEmpty ? nil : JSONPath(steps: Array(rest))
                )
            } catch {
                mistake = mistake ?? error
                return Place(slot: nil, rest: nil)
            }
        }
        self.code = code.map(place)
        self.message = message.map(place)
        self.data = place(data)
        self.time = time.map(place)
        self.others = others.mapValues(place)
        dataPath = data
        self.tree = tree
        self.mistake = mistake
    }

    static func == (one: EnvelopeMembers, other: EnvelopeMembers) -> Bool { true }
    func hash(into hasher: inout Hasher) {}

    /// Finds all members in the pass that validates the body, which is replaced as by ``JSONGuard/check(_:)``.
    ///
    /// - Returns: The envelope, or `nil` if the body is valid JSON but not an object.
    /// - Throws: ``NetworkError`` if the body is not JSON, a member occurs twice or a path has invalid syntax.
    func open(_ response: inout RawResponse) throws(NetworkError) -> Envelope? {
        if let mistake { throw NetworkError(.path(mistake), response: response, underlying: mistake) }
        do throws(JSONError) {
            while true {
                let indexed = try response.index()
                // Another reader of the response may have taken it.
                guard let index = indexed.take() else { continue }
                let words = response.body.withUnsafeBytes { bytes in
                    Result { () throws(JSONError) in try index.members(tree, in: bytes) }
                }
                let places = try words.get()?.map { $0.map { (word: $0, range: index.range($0)) } }
                indexed.giveBack(index)
                return places.map { Envelope(response: response, places: $0, members: self) }
            }
        } catch {
            throw NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
    }
}
