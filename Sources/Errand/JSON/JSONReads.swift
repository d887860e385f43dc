/// What a decoding reads of the objects of a text, so that a tool can report the members that a model does not know.
package final class JSONReads: Sendable {
    /// A member of an object of the model, or of an element of its arrays.
    package enum Finding: Sendable {
        /// A member that was read.
        case read
        /// A member of the text that was not read.
        case unread
        /// A member that was asked for, and is not there.
        case absent
        /// A member that was asked for, and is null.
        case null
    }

    private struct State {
        /// The decoding whose words these are; those of one that failed mean nothing in the next.
        var owner: ObjectIdentifier?
        /// The words of objects that were asked for members, with the names that were not found, and the words of names that were.
        var (objects, names): ([Int: [any CodingKey]], Set<Int>) = ([:], [])
        var findings: [(finding: Finding, path: [any CodingKey])] = []
        var isFinished = false
    }

    private let state = Lock(State())

    package init() {}

    /// What was found, in the order of the text; of several decodings of a text, of all of them.
    package var findings: [(finding: Finding, path: [any CodingKey])] { state.withLock { $0.findings } }

    /// Whether a decoding has ended without an error.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    func begin(_ run: JSONRun) {
        state.withLock { ($0.owner, $0.objects, $0.names) = (ObjectIdentifier(run), [:], []) }
    }

    func open(_ object: Int, of run: JSONRun) {
        state.withLock { if $0.owner == ObjectIdentifier(run) { $0.objects[object, default: []] += [] } }
    }

    /// Notes a look-up, and the word of the value that it has found.
    func note(_ key: some CodingKey, in object: Int, of run: JSONRun, at word: Int?) {
        state.withLock { state in
            guard state.owner == ObjectIdentifier(run) else { return }
            if let word { state.names.insert(word &- 1) } else { state.objects[object, default: []].append(key) }
        }
    }

    func finish(_ run: JSONRun) {
        state.withLock { state in
            for (object, absent) in state.objects.sorted(by: { $0.key < $1.key }) {
                for name in run.members(object) {
                    let isNull = run.index.kind(name &+ 1) == .null
                    let finding: Finding = state.names.contains(name) ? isNull ? .null : .read : .unread
                    state.findings.append((finding, run.path(of: name &+ 1)))
                }
                state.findings += absent.map { (.absent, run.path(of: object) + [$0]) }
            }
            (state.owner, state.objects, state.names, state.isFinished) = (nil, [:], [], true)
        }
    }
}
