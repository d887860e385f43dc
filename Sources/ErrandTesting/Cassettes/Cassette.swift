public import Errand
public import Foundation

/// A transport that records what another one sends and receives in a file, and replays it without a network.
///
/// ```swift
/// let cassette = try Cassette(at: url, mode: .replay)
/// let agent = Agent(config: config, transport: cassette)
/// ```
///
/// The file is an HTTP archive (HAR 1.2). Secrets are not in it: the values of names that the config of the agent lists in
/// its ``Secrets`` and of those that ``init(at:mode:over:secrets:ignoring:comparing:ignoresOrigin:order:renewing:)`` is given, user names and
/// passwords in URLs, and parts of a path that are marked by `secret:` are replaced by stand-ins of the same type and length.
/// In a body that is text of any format, names are those of JSON, of `name=value` and of elements. A secret that looks like a
/// token (at least 8 characters without spaces, letters and digits mixed, or 20 characters) is replaced everywhere, from the
/// first to the last entry, and another one only under its name. Below a secret name, only strings that look like tokens are
/// replaced. A replayed response is what the file holds, byte for byte; a body that the server cut or reset ends with the same
/// error.
///
/// A request is the recorded one if method, URL, query, body and the chosen header fields are equal. The order of query items,
/// items of a form and members of JSON does not matter, nor do values that are secret or ignored. Each entry is played once;
/// among equal ones, first the one that was recorded with the same secrets.
///
/// A body of more than 64 MiB that is read in chunks is not recorded, and fails when it is replayed.
public final class Cassette: RequestReadingTransport {
    /// What a cassette does with a request.
    @frozen
    public enum Mode: String, Sendable, Hashable {
        /// The response is read from the file. Without an entry, the send fails with a ``CassetteError`` that names what differs.
        case replay
        /// The request is sent, and the file is replaced by what was sent and received.
        case record
        /// The response is read from the file. Without an entry, the request is sent and added to the file.
        ///
        /// A request that contains a value from the file in place of a secret, such as the token of a recorded login, fails,
        /// because the service does not know it: record the complete file again.
        case recordMissing
    }

    /// The order in which entries are played.
    @frozen
    public enum Order: Sendable, Hashable {
        /// The first entry for the request that was not played.
        case any
        /// The first entry that was not played.
        case recorded
    }

    struct State {
        var entries: [CassetteEntry] = []
        /// The places of the entries in the order of their requests.
        var order: [Int] = []
        var isPlayed: [Bool] = []
        var next = 0
        var secrets = CassetteSecrets(count: 0)
        /// What of the entries is compared, by the names of secrets, or `nil` if the entries have changed.
        var keys: (names: CassetteSecretNames, keys: [CassetteKey?])?
        /// The values of secrets that were sent, by those of the entries that were played for them.
        var credentials: [[String]: [String]] = [:]
        /// The number of responses that are being recorded.
        var pending = 0
        /// The first error of recording a stream, whose reader may have left.
        var failure: (any Error)?
        /// The number of the last change of the entries.
        var snapshot = 0
    }

    /// The file.
    public let file: URL
    let mode: Mode
    let transport: any Transport
    let secrets: Secrets
    let ignored: Set<String>
    let fields: [String]
    let ignoresOrigin: Bool
    let order: Order
    let mayRecord: Bool
    let state: Lock<State>
    /// The number of the newest snapshot in the file.
    let written = Lock(0)

    /// Creates a cassette.
    ///
    /// - Parameters:
    ///   - file: The file, such as one beside the test. Its folder is created by a recording.
    ///   - mode: What is done with a request. Recording fails where the environment has `CI`.
    ///   - transport: The transport that is recorded. By default, one session of URLSession.
    ///   - secrets: Names of secrets in addition to those of the agent's config, such as `email`.
    ///   - ignored: Names of parameters, JSON members and header fields whose values are not compared, such as `nonce`.
    ///   - fields: Header fields that are compared; none by default.
    ///   - ignoresOrigin: Whether scheme, host and port are not compared, as for a server on a port of its own in each run.
    ///   - order: The order in which entries are played.
    ///   - renewed: Methods and paths whose entries are recorded anew by ``Mode/recordMissing``.
    /// - Throws: ``CassetteError`` if there is no file to replay, or it is not a cassette.
    public convenience init(
        at file: URL,
        mode: Mode = .replay,
        over transport: any Transport = URLSessionTransport(),
        secrets: Secrets = Secrets(),
        ignoring ignored: [String] = [],
        comparing fields: [String] = [],
        ignoresOrigin: Bool = false,
        order: Order = .any,
        renewing renewed: [StubTransport.Route] = []
    ) throws(CassetteError) {
        try self.init(
            at: file,
            mode: mode,
            over: transport,
            secrets: secrets,
            ignoring: ignored,
            comparing: fields,
            ignoresOrigin: ignoresOrigin,
            order: order,
            renewing: renewed,
            mayRecord: Self.mayRecord(in: ProcessInfo.processInfo.environment)
        )
    }

    init(
        at file: URL,
        mode: Mode,
        over transport: any Transport,
        secrets: Secrets = Secrets(),
        ignoring ignored: [String] = [],
        comparing fields: [String] = [],
        ignoresOrigin: Bool = false,
        order: Order = .any,
        renewing renewed: [StubTransport.Route] = [],
        mayRecord: Bool
    ) throws(CassetteError) {
        (self.file, self.mode, self.transport, self.secrets, self.fields) = (file, mode, transport, secrets, fields)
        self.ignored = Set(ignored.map { $0.lowercased() })
        (self.ignoresOrigin, self.order) = (ignoresOrigin, order)
        self.mayRecord = mayRecord
        var state = State()
        if mode != .record, let log = try Self.log(of: file, mustExist: mode == .replay) {
            state.entries = log.entries.filter { entry in
                guard mode == .recordMissing, let request = try? entry.received() else { return true }
                return !renewed.contains { $0.pattern.match(request, as: request.method) != nil }
            }
            state.secrets = CassetteSecrets(count: log._standIns ?? 0)
        }
        state.order = Array(state.entries.indices)
        state.isPlayed = state.entries.map { _ in false }
        state.next = state.entries.count
        self.state = Lock(state)
    }

    static func mayRecord(in environment: [String: String]) -> Bool {
        ["", "0", "false"].contains(environment["CI"]?.lowercased() ?? "")
    }

    @TaskLocal private static var ofTest: Cassette?

    /// The cassette of the running test, which the trait `cassette` of `ErrandSwiftTesting` gives it.
    ///
    /// - Throws: ``CassetteError`` if the test has none.
    public static var current: Cassette {
        get throws(CassetteError) {
            if let ofTest { return ofTest }
            throw CassetteError(
                #"the test has no cassette: write @Test(.cassette("name")), and import ErrandSwiftTesting"#
            )
        }
    }

    /// Runs a function with a cassette as ``current``.
    public static func withCurrent<Value>(
        _ cassette: Cassette,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await $ofTest.withValue(cassette) { try await body() }
    }

    /// The identity of the recorded transport.
    public var identity: String { transport.identity }

    /// The requests of entries that were not played, such as `GET https://api.example/users/7`.
    public var unplayed: [String] {
        state.withLock { state in zip(state.entries, state.isPlayed).filter { !$0.1 }.map { $0.0.name } }
    }

    /// Returns the response to a request from the file, or sends and records it.
    ///
    /// - Throws: ``CassetteError`` if there is no entry for the request or it cannot be recorded, or an error of the transport.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try Task.checkCancellation()
        var request = request
        // Reading it here would leave nothing to send.
        if !request.body.isReplayable { request.body = .data(try request.bodyData()) }
        let names = CassetteSecretNames(lists: [secrets, options.request?.secrets ?? secrets])
        let entry = try CassetteEntry(request)
        guard mode != .record else { return try await record(request, as: entry, names, options) }
        do throws(CassetteError) {
            return try play(entry, names).transported
        } catch {
            guard mode == .recordMissing, mayRecord else { throw error }
            return try await record(request, as: entry, names, options)
        }
    }

    private static func log(of file: URL, mustExist: Bool) throws(CassetteError) -> CassetteFile.Log? {
        let path = file.path(percentEncoded: false)
        guard let bytes = try? Data(contentsOf: file) else {
            guard mustExist else { return nil }
            throw CassetteError(
                "there is no cassette at \(path): record it with the mode .record, or ERRAND_CASSETTES=record swift test for "
                    + "the trait .cassette"
            )
        }
        do {
            return try JSONDecoder().decode(CassetteFile.self, from: bytes).log
        } catch {
            throw CassetteError("\(path) is no cassette: \(error)")
        }
    }
}
