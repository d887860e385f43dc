public import Errand
public import Foundation

/// An accessory that counts the sends of each service and request type, with percentiles of their times, in fixed memory.
public final class SendStatistics: Accessory {
    /// The figures of the sends of one type of request of a service.
    public struct Entry: Sendable, Hashable {
        /// The identifier of the service.
        public let serviceID: String
        /// The type of the request; `others` for types beyond the first 256.
        public let typeName: String
        /// The sends that have ended.
        public internal(set) var count = 0
        /// Those that failed, by the kind of a `NetworkError`, or `other`.
        public internal(set) var failures: [String: Int] = [:]
        /// Those that were cancelled.
        public internal(set) var cancelledCount = 0
        /// The attempts after the first of each send.
        public internal(set) var retryCount = 0
        /// The responses that came from the cache.
        public internal(set) var cacheHitCount = 0
        /// The bytes of the bodies that were sent, in all exchanges.
        public internal(set) var sentByteCount: Int64 = 0
        /// The bytes of the bodies that were received, in all exchanges.
        public internal(set) var receivedByteCount: Int64 = 0
        /// The times of sends that succeeded, from the start until the model was made.
        public internal(set) var total = Percentiles()
        /// The times of the phases of exchanges; a phase that never occurred or that the transport does not know is not there.
        public internal(set) var phases: [Phase: Percentiles] = [:]
    }

    /// A phase of an exchange, as in `Exchange.Phases`.
    public enum Phase: String, CaseIterable, Sendable, Hashable {
        /// Waiting in the transport before the request was begun.
        case queue
        /// Resolving the name of the host.
        case nameLookup
        /// Making the connection, without TLS.
        case connect
        /// The TLS handshake.
        case tls
        /// From then until the final header section.
        case firstByte
        /// From the final header section until the last byte.
        case receive

        func time(in phases: Exchange.Phases) -> Duration? {
            switch self {
            case .queue: phases.queue
            case .nameLookup: phases.nameLookup
            case .connect: phases.connect
            case .tls: phases.tls
            case .firstByte: phases.firstByte
            case .receive: phases.receive
            }
        }
    }

    private let entries = Lock<[String: Entry]>([:])
    private static let maximumCount = 256

    /// Creates an accessory that has counted nothing.
    public init() {}

    /// 0: bodies are counted, not read.
    public var exchangeBodyLimit: Int? { 0 }

    /// The figures, sorted by service and type.
    public var all: [Entry] {
        entries.withLock { Array($0.values) }.sorted { ($0.serviceID, $0.typeName) < ($1.serviceID, $1.typeName) }
    }

    /// Drops all figures.
    public func clear() { entries.withLock { $0 = [:] } }

    /// Counts a send that has ended.
    public func request(_ context: RequestContext, did event: AccessoryEvent) {
        switch event {
        case .willRetry: change(context) { $0.retryCount += 1 }
        case .didStop(let outcome):
            change(context) { entry in
                entry.count += 1
                switch outcome {
                case .success(_, let source, let metrics):
                    entry.total.add(metrics.total)
                    if source.isFromCache { entry.cacheHitCount += 1 }
                case .failure(let error):
                    entry.failures[(error as? NetworkError).map { "\($0.kind)" } ?? "other", default: 0] += 1
                default: entry.cancelledCount += 1
                }
            }
        default: break
        }
    }

    /// Counts the bytes and the times of an exchange.
    public func request(_ context: RequestContext, exchanged exchange: Exchange) {
        change(context) { entry in
            entry.sentByteCount += exchange.requestBody.byteCount ?? 0
            entry.receivedByteCount += exchange.responseBody.byteCount ?? 0
            for phase in Phase.allCases {
                guard let time = phase.time(in: exchange.phases) else { continue }
                entry.phases[phase, default: Percentiles()].add(time)
            }
        }
    }

    private func change(_ context: RequestContext, _ change: (inout Entry) -> Void) {
        let key = context.serviceID + "\n" + context.typeName
        entries.withLock { entries in
            let isNew = entries[key] == nil && entries.count >= Self.maximumCount
            change(
                &entries[
                    isNew ? "\n" : key,
                    default: Entry(
                        serviceID: isNew ? "" : context.serviceID,
                        typeName: isNew ? "others" : context.typeName
                    )
                ]
            )
        }
    }
}

/// A distribution of times in fixed memory; a percentile is at most 4 % too large or too small.
public struct Percentiles: Sendable, Hashable {
    /// The numbers of times, by the power of two of their microseconds and the four bits after its first.
    private var counts: [UInt32] = []
    /// The number of times.
    public private(set) var count = 0

    package init() {}

    package mutating func add(_ time: Duration) {
        if counts.isEmpty { counts = [UInt32](repeating: 0, count: 36 * 16) }
        let slot = Self.slot(of: UInt64(max(1, min(time / .microseconds(1), 6e10))))
        counts[slot] = counts[slot] &+ 1
        count += 1
    }

    private static func slot(of microseconds: UInt64) -> Int {
        let power = 63 - microseconds.leadingZeroBitCount
        let bits =
            power >= 4 ? Int(microseconds >> UInt64(power - 4)) & 15 : Int(microseconds << UInt64(4 - power)) & 15
        return min(power, 35) * 16 + bits
    }

    /// Returns the time that a part of all times does not exceed.
    ///
    /// - Parameter part: The part, from 0 to 1, such as 0.99.
    /// - Returns: The time, or `nil` if there is none.
    public func percentile(_ part: Double) -> Duration? {
        let rank = max(1, Int((Double(count) * max(0, min(part, 1))).rounded(.up)))
        var sum = 0
        for (slot, number) in counts.enumerated() {
            sum += Int(number)
            guard sum >= rank else { continue }
            // The middle of the slot.
            return .microseconds((16.5 + Double(slot % 16)) / 16 * Double(UInt64(1) << UInt64(slot / 16)))
        }
        return nil
    }
}

extension Percentiles: CustomStringConvertible {
    /// The number of times, and three percentiles.
    public var description: String {
        let parts = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")].map { part, name in
            "\(name) \(percentile(part)?.words ?? "–")"
        }
        return "\(count): " + parts.joined(separator: ", ")
    }
}

extension SendStatistics {
    /// The figures as a table for a terminal, with a line for each service and type; the times are those of sends that succeeded.
    public var table: String {
        let head = [
            "request", "sends", "failed", "cancelled", "retries", "cached", "p50", "p90", "p99", "bytes received",
        ]
        let rows = all.map { entry in
            [
                entry.serviceID == "default" || entry.serviceID.isEmpty
                    ? entry.typeName : "\(entry.serviceID) \(entry.typeName)",
                "\(entry.count)", "\(entry.failures.values.reduce(0, +))", "\(entry.cancelledCount)",
                "\(entry.retryCount)", "\(entry.cacheHitCount)",
                Self.words(entry.total, 0.5), Self.words(entry.total, 0.9), Self.words(entry.total, 0.99),
                "\(entry.receivedByteCount)",
            ]
        }
        return Table.text([head] + rows, left: 1)
    }

    private static func words(_ times: Percentiles, _ part: Double) -> String { times.percentile(part)?.words ?? "–" }

    /// The figures as JSON: an array of objects, with times in milliseconds, which are null if there are none.
    public var json: Data {
        func milliseconds(_ times: Percentiles, _ part: Double) -> JSONValue {
            times.percentile(part).map { .milliseconds($0) } ?? .null
        }
        func times(_ times: Percentiles) -> JSONValue {
            [
                "count": .number(JSONNumber(times.count)), "p50": milliseconds(times, 0.5),
                "p90": milliseconds(times, 0.9), "p99": milliseconds(times, 0.99),
            ]
        }
        let entries = all.map { entry -> JSONValue in
            let failures = entry.failures.sorted { $0.key < $1.key }.map {
                ($0.key, JSONValue.number(JSONNumber($0.value)))
            }
            let phases = Phase.allCases.compactMap { phase in entry.phases[phase].map { (phase.rawValue, times($0)) } }
            return [
                "service": .string(entry.serviceID), "request": .string(entry.typeName),
                "sends": .number(JSONNumber(entry.count)), "failures": .object(JSONObject(failures)),
                "cancelled": .number(JSONNumber(entry.cancelledCount)),
                "retries": .number(JSONNumber(entry.retryCount)),
                "cacheHits": .number(JSONNumber(entry.cacheHitCount)),
                "sentBytes": .number(JSONNumber(entry.sentByteCount)),
                "receivedBytes": .number(JSONNumber(entry.receivedByteCount)), "total": times(entry.total),
                "phases": .object(JSONObject(phases)),
            ]
        }
        return JSONValue.array(entries).data
    }
}

/// A table of text, whose first columns are aligned on the left and the others on the right.
enum Table {
    static func text(_ rows: [[String]], left leftCount: Int) -> String {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, text in
                let space = String(repeating: " ", count: widths[column] - text.count)
                return column < leftCount ? text + space : space + text
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
