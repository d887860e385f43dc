internal import Foundation

/// Where the parts of an envelope stand, made ready for finding all of them in one pass.
final class EnvelopeMembers: Sendable {
    /// The way to one part: a member, and steps from there that are no members.
    struct Place: Sendable {
        /// `nil` is the whole body.
        let slot: Int?
        let rest: JSONPath?
    }

    let tree: JSONMemberTree
    let code: Place?
    let message: Place?
    let data: Place
    let time: Place?
    let others: [String: Place]
    /// The first path that is written wrongly.
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
        self.tree = tree
        self.mistake = mistake
    }

    /// Finds all parts in the pass that validates the body.
    ///
    /// - Returns: `nil` when the body is valid and no object.
    /// - Throws: ``NetworkError`` when the body is not JSON, a part stands there twice or a path is written wrongly.
    func open(_ response: RawResponse) throws(NetworkError) -> Envelope? {
        if let mistake { throw NetworkError(.path(mistake), response: response, underlying: mistake) }
        let result = response.body.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try JSONScanner.members(tree, in: bytes, isValidated: response.isGuarded)
            }
        }
        do {
            return try result.get().map { Envelope(response: response, ranges: $0, members: self) }
        } catch {
            throw NetworkError(.invalidJSON(error), response: response, underlying: error)
        }
    }
}
