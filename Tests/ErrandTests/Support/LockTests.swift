import Dispatch
import Errand
import Testing

@Suite struct LockTests {
    @Test func noChangeIsLostAmongThreads() {
        let count = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 1000) { _ in count.withLock { $0 += 1 } }
        #expect(count.withLock { $0 } == 1000)
    }

    @Test func anErrorUnlocks() {
        let value = Lock("a")
        #expect(throws: Boom()) { try value.withLock { _ throws(Boom) in throw Boom() } }
        #expect(value.withLock { $0 } == "a")
    }
}
