#if os(Linux)
internal import CErrandCurl
internal import Foundation
internal import Synchronization

/// Ends the threads of all event loops when the process exits.
///
/// The TLS library frees what it shares while the process exits. A thread that uses it meanwhile would crash, so the handler
/// of this type, which is registered later and so called earlier, waits until there is none.
enum CurlExit {
    private struct Threads {
        var loops: [Int: CurlEventLoop] = [:]
        var lastID = 0
    }

    private static let threads = LoopLock(Threads())
    private static let hasBegun = Atomic(false)

    /// The maximum time that the end of the process is delayed, in steps of a millisecond.
    private static let patience = 500

    private static let registration: Void = { atexit { CurlExit.exit() } }()

    /// Whether the process exits, so that nothing of libcurl may be used or freed.
    static var isExiting: Bool { hasBegun.load(ordering: .acquiring) }

    /// Records that a thread begins.
    ///
    /// - Returns: What to pass to ``end(_:)``, or `nil` if the thread must not begin.
    static func begin(_ loop: CurlEventLoop) -> Int? {
        _ = registration
        let id = threads.withLock { threads in
            threads.lastID &+= 1
            threads.loops[threads.lastID] = loop
            return threads.lastID
        }
        guard isExiting else { return id }
        end(id)
        return nil
    }

    static func end(_ id: Int) { threads.withLock { _ = $0.loops.removeValue(forKey: id) } }

    private static func exit() {
        hasBegun.store(true, ordering: .releasing)
        for loop in threads.withLock({ Array($0.loops.values) }) { loop.wake() }
        for _ in 0..<patience where !threads.withLock(\.loops.isEmpty) { usleep(1000) }
    }
}
#endif
