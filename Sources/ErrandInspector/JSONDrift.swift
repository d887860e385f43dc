public import Errand
internal import Foundation

/// An accessory that compares the JSON of real responses with the models that read it.
///
/// ```swift
/// let drift = JSONDrift()
/// config.accessories.append(drift)
/// _ = try await agent.send(GetUser(id: 7))
/// precondition(drift.isEmpty, "\(drift)")
/// ```
///
/// It sees what the library's own decoder reads, and no other decoder.
public final class JSONDrift: ReadingAccessory {
    /// A difference between the responses and the model of a type of request.
    public struct Finding: Sendable, Hashable {
        /// What differs.
        public enum Kind: String, Sendable, Hashable {
            /// A member of the responses that the model does not read.
            case unread = "not read"
            /// A member that the model asks for, and that no response has.
            case absent = "never there"
            /// A member that the model asks for, and that is null in some responses.
            case null
            /// A value that the enum of the model does not know, so that the model was not made.
            case unknownValue = "unknown value"
        }

        /// The type of the request.
        public let typeName: String
        /// What differs.
        public let kind: Kind
        /// The path from the payload to the member, with `[*]` for any element of an array.
        public let path: String
        /// The value that an enum does not know, or a mask if the name of the member is not listed as harmless; otherwise `nil`.
        public let value: String?
        /// The number of times that it was found.
        public let count: Int
    }

    private struct Place: Hashable {
        let typeName: String
        let path: String
        let value: String?
    }

    private struct Counts {
        var (unread, absent, null, unknown) = (0, 0, 0, 0)
    }

    private struct State {
        var places: [Place: Counts] = [:]
        /// The places of members that were there, whose absence elsewhere is no finding.
        var read: Set<Place> = []
    }

    private let state = Lock(State())
    private let secrets: Secrets?
    private static let maximumCount = 10_000

    /// Creates an accessory that has found nothing.
    ///
    /// - Parameter secrets: The names of members whose unknown values are shown, or `nil` for those of the agent's config.
    public init(secrets: Secrets? = nil) { self.secrets = secrets }

    /// 0: it needs no bodies.
    public var exchangeBodyLimit: Int? { 0 }

    /// Whether nothing was found.
    public var isEmpty: Bool { findings.isEmpty }

    /// What was found, sorted by type, kind and path.
    public var findings: [Finding] {
        let state = state.withLock { $0 }
        return state.places.flatMap { place, counts -> [Finding] in
            let isNeverThere = counts.null == 0 && !state.read.contains(place)
            let found: [(Finding.Kind, Int)] = [
                (.unread, counts.unread), (.absent, isNeverThere ? counts.absent : 0), (.null, counts.null),
                (.unknownValue, counts.unknown),
            ]
            return found.filter { $0.1 > 0 }.map {
                Finding(typeName: place.typeName, kind: $0.0, path: place.path, value: place.value, count: $0.1)
            }
        }.sorted {
            ($0.typeName, $0.kind.rawValue, $0.path, $0.value ?? "") < (
                $1.typeName, $1.kind.rawValue, $1.path, $1.value ?? ""
            )
        }
    }

    /// Drops what was found.
    public func clear() { state.withLock { $0 = State() } }

    /// Notes a value that an enum does not know.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard case .didStop(.failure(let error as NetworkError)) = event, case .model = error.reason,
            case .dataCorrupted(let found)? = error.underlying as? DecodingError,
            found.debugDescription.hasPrefix("Cannot initialize "),
            let value = found.debugDescription.firstRange(of: " value ").map({
                found.debugDescription[$0.upperBound...]
            })
        else { return }
        let name = found.codingPath.last { $0.intValue == nil }?.stringValue ?? ""
        let shown = (secrets ?? context.secrets).redacted(String(value).oneLine, of: name)
        let place = Place(typeName: context.typeName, path: Self.text(found.codingPath), value: shown)
        state.withLock { Self.count(\.unknown, at: place, in: &$0) }
    }

    package func request(_ context: RequestContext, read reads: JSONReads) {
        let found = reads.findings.map { finding, path in
            (finding, Place(typeName: context.typeName, path: Self.text(path), value: nil))
        }
        state.withLock { state in
            for (finding, place) in found {
                switch finding {
                case .read: if state.read.count < Self.maximumCount { state.read.insert(place) }
                case .unread: Self.count(\.unread, at: place, in: &state)
                case .absent: Self.count(\.absent, at: place, in: &state)
                case .null: Self.count(\.null, at: place, in: &state)
                }
            }
        }
    }

    /// A path as a finding has it, with at most 500 bytes.
    private static func text(_ path: [any CodingKey]) -> String {
        let text = path.map { $0.intValue == nil ? "." + $0.stringValue : "[*]" }.joined()
        return String(text.trimmingPrefix(".")).shortened().oneLine
    }

    private static func count(_ kind: WritableKeyPath<Counts, Int>, at place: Place, in state: inout State) {
        if state.places[place] == nil, state.places.count >= maximumCount { return }
        state.places[place, default: Counts()][keyPath: kind] += 1
    }
}

extension JSONDrift: CustomStringConvertible {
    /// A table with a line for each finding, or that there is none.
    public var description: String {
        if isEmpty { return "The models read all that the responses have." }
        let rows = findings.map {
            [$0.typeName, $0.path, $0.kind.rawValue + ($0.value.map { " \($0)" } ?? ""), "\($0.count)"]
        }
        return Table.text([["request", "member", "finding", "times"]] + rows, left: 3)
    }
}
