#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation
internal import Synchronization

/// Ends the threads of all event loops when the process exits.
///
/// The TLS library frees what it shares while the process exits. A thread that uses it meanwhile would crash, so the handler
/// of this type, which is registered later and so called earlier, waits until there is none.
enum CurlExit {
    private static let loops = Lock<[ObjectIdentifier: CurlEventLoop]>([:])
    private static let hasBegun = Atomic(false)

    /// The maximum time that the end of the process is delayed, in steps of a millisecond.
    private static let patience = 500

    private static let registration: Void = { atexit { CurlExit.exit() } }()

    /// Whether the process exits, so that nothing of libcurl may be used or freed.
    static var isExiting: Bool { hasBegun.load(ordering: .acquiring) }

    /// Records that a thread begins; returns `false` if it must not.
    static func begin(_ loop: CurlEventLoop) -> Bool {
        _ = registration
        loops.withLock { $0[ObjectIdentifier(loop)] = loop }
        guard isExiting else { return true }
        end(loop)
        return false
    }

    static func end(_ loop: CurlEventLoop) { loops.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(loop)) } }

    private static func exit() {
        hasBegun.store(true, ordering: .releasing)
        for loop in loops.withLock({ Array($0.values) }) { loop.wake() }
        for _ in 0..<patience where !loops.withLock(\.isEmpty) { usleep(1000) }
    }
}
#endif
