import Testing

@testable import Errand

@Suite struct SlidingWindowTests {
    @Test func callsAreForgottenSlotBySlot() {
        var window = SlidingWindow(step: .seconds(1), count: 3)
        for second in 0..<3 { window.add(calls: 2, marked: 1, at: .seconds(second)) }
        #expect(window.calls == 6 && window.marked == 3)
        window.advance(to: .milliseconds(3_999))
        #expect(window.calls == 4 && window.marked == 2)
        window.advance(to: .seconds(60))
        #expect(window.calls == 0 && window.marked == 0)
    }

    @Test func extremeTimesAndNumbersDoNotTrap() {
        var window = SlidingWindow(step: .milliseconds(1), count: 10)
        for seconds in [0, 1e9, 1e17, -1e9] {
            window.add(calls: 1, marked: .max - 1, at: .seconds(seconds))
            window.add(calls: 1, marked: 1, at: .seconds(seconds))
        }
        #expect(window.calls > 0)
    }
}
