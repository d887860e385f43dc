/// Bounds the retries that one host gets, whoever sends them: 10 in 10 seconds, and 1 for each 10 requests.
///
/// So a host that fails everything is asked at most 1.1 times as often as without retries, plus the 10. One for an
/// agent; it forgets hosts that were not asked for a while.
final class RetryBudget: Sendable {
    /// The most hosts that are known at once, some 350 KiB.
    static let maximumHostCount = 1000

    private let hosts = Lock<[String: RetryWindow]>([:])

    init() {}

    /// Counts a send, whatever becomes of it.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - now: The time on the agent's timeline.
    func countRequest(to host: String, at now: Duration) { change(host, now) { $0.countRequest(at: $1) } }

    /// Takes one retry out of what the host has left.
    ///
    /// - Returns: Whether there was one left.
    func takeRetry(to host: String, at now: Duration) -> Bool { change(host, now) { $0.takeRetry(at: $1) } }

    /// How many hosts are known.
    var hostCount: Int { hosts.withLock { $0.count } }

    private func change<Value>(_ host: String, _ now: Duration, _ body: (inout RetryWindow, Int) -> Value) -> Value {
        let slot = RetryWindow.slot(of: now)
        return hosts.withLock { hosts in
            if hosts.count >= Self.maximumHostCount, hosts[host] == nil { Self.forget(&hosts, at: slot) }
            return body(&hosts[host, default: RetryWindow(at: slot)], slot)
        }
    }

    /// Forgets the hosts of which nothing counts any more; if there are none, the half that was asked longest ago.
    private static func forget(_ hosts: inout [String: RetryWindow], at slot: Int) {
        hosts = hosts.filter { slot - $0.value.newest < RetryWindow.slotCount }
        guard hosts.count >= maximumHostCount else { return }
        for host in hosts.sorted(by: { $0.value.newest < $1.value.newest }).prefix(maximumHostCount / 2) {
            hosts[host.key] = nil
        }
    }
}

/// Requests and retries of the last 10 seconds, in slots of a quarter of a second.
struct RetryWindow: Sendable {
    private struct Slot {
        var requests: UInt32 = 0
        var retries: UInt32 = 0
    }

    /// Forty, and the one that is under way: so no 10 seconds, wherever they begin, see more than they should.
    static let slotCount = 41

    /// The number of the newest slot in which something was counted.
    private(set) var newest: Int
    private var slots = [Slot](repeating: Slot(), count: Self.slotCount)
    private var requests = 0
    private var retries = 0

    init(at slot: Int) { newest = slot }

    static func slot(of time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        return min(max(0, Int(clamping: seconds)), .max / 8) * 4 + max(0, Int(attoseconds / 250_000_000_000_000_000))
    }

    mutating func countRequest(at slot: Int) {
        advance(to: slot)
        slots[newest % Self.slotCount].requests &+= 1
        requests += 1
    }

    mutating func takeRetry(at slot: Int) -> Bool {
        advance(to: slot)
        guard retries < 10 + requests / 10 else { return false }
        slots[newest % Self.slotCount].retries &+= 1
        retries += 1
        return true
    }

    private mutating func advance(to slot: Int) {
        guard slot > newest else { return }
        for step in 1...min(slot - newest, Self.slotCount) {
            let place = (newest + step) % Self.slotCount
            requests -= Int(slots[place].requests)
            retries -= Int(slots[place].retries)
            slots[place] = Slot()
        }
        newest = slot
    }
}
