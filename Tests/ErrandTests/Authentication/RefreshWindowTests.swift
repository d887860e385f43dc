import Testing

@testable import Errand

@Suite
struct RefreshWindowTests {
    @Test
    func noWindowHoldsMoreStartsThanAllowed() {
        var generator = SeededGenerator()
        var window = RefreshWindow(maximumCount: 5, duration: .seconds(30))
        var now = Duration.zero
        var starts: [Duration] = []
        var refusals = 0
        for _ in 0..<10_000 {
            now += .milliseconds(Int.random(in: 0..<9_000, using: &generator))
            let recent = starts.suffix(5).filter { $0 > now - .seconds(30) }.count
            let isAdmitted = window.admit(at: now)
            #expect(isAdmitted == (recent < 5))
            if isAdmitted { starts.append(now) } else { refusals += 1 }
        }
        for (first, sixth) in zip(starts, starts.dropFirst(5)) { #expect(sixth - first >= .seconds(30)) }
        #expect(refusals > 0)
    }

    @Test(arguments: [0, -1])
    func windowOfZeroAdmitsNone(count: Int) {
        var window = RefreshWindow(maximumCount: count)
        let isAdmitted = window.admit(at: .zero)
        #expect(!isAdmitted)
    }
}
