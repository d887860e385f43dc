import Errand
import Foundation
import TestSupport
import Testing

/// The helpers that let the tests run on a busy machine.
@Suite struct OwnWorkTests {
    @Test func aTestThatHangsIsCancelledAfterItsLimit() async throws {
        let isCancelled = Lock(false)
        // A task of its own, because the limit cancels the task that runs the test.
        let hanging = Task {
            try await OwnWork.run("hanging", limit: .milliseconds(200), hasOwnThread: false) {
                do {
                    try await Task.sleep(for: .seconds(3600))
                } catch {
                    isCancelled.withLock { $0 = true }
                    throw error
                }
            }
        }
        #expect(try await hanging.value == false)
        #expect(isCancelled.withLock { $0 })
    }

    @Test func waitingForThePoolDoesNotCountAgainstTheLimit() async throws {
        let end = ContinuousClock.now + .seconds(1)
        let limited = Task {
            try await OwnWork.run("limited", limit: .milliseconds(400), hasOwnThread: false) {
                // As many as the pool has threads, for longer than the limit.
                await withTaskGroup { group in
                    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                        group.addTask { while ContinuousClock.now < end {} }
                    }
                }
            }
        }
        #expect(try await limited.value)
    }

    @Test func testsWithTheirOwnThreadsDoNotBlockOthers() async throws {
        let count = 3
        let arrived = Lock(0)
        // On a pool with two threads the third would never arrive.
        @Sendable func meet() {
            arrived.withLock { $0 += 1 }
            while arrived.withLock({ $0 }) < count { Thread.sleep(forTimeInterval: 0.001) }
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    let ended = try await OwnWork.run("blocking", limit: .seconds(60), hasOwnThread: true) { meet() }
                    #expect(ended)
                }
            }
            try await group.waitForAll()
        }
        #expect(arrived.withLock { $0 } == count)
    }

    @Test func errorOfATestIsThrown() async {
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            _ = try await OwnWork.run("throwing", limit: .seconds(60), hasOwnThread: false) { throw Failure() }
        }
    }
}
