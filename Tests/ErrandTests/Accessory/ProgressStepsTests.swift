import Testing

@testable import Errand

/// When the progress of a body is reported.
@Suite
struct ProgressStepsTests {
    private func told(_ total: Int64?, chunk: Int64, upTo end: Int64) -> [TransferProgress] {
        var steps = ProgressSteps(direction: .download, total: total)
        var told: [TransferProgress] = []
        for completed in stride(from: chunk, through: end, by: Int(chunk)) {
            if let progress = steps.progress(at: completed) { told.append(progress) }
        }
        if let last = steps.last(at: end) { told.append(last) }
        return told
    }

    @Test(
        arguments: [
            // total, chunk, end, how many are reported
            (100, 10, 100, 0),
            (65_536, 16_384, 65_536, 0),
            (65_537, 65_537, 65_537, 1),
            (1 << 20, 16 << 10, 1 << 20, 16),
            (1 << 30, 16 << 10, 1 << 30, 100),
            (1 << 30, 1 << 28, 1 << 30, 4),
        ] as [(Int64, Int64, Int64, Int)]
    )
    func progressIsReportedForEachHundredthAnd64KiB(_ total: Int64, _ chunk: Int64, _ end: Int64, _ count: Int) {
        let told = told(total, chunk: chunk, upTo: end)
        #expect(told.count == count)
        #expect(told.map(\.completed) == told.map(\.completed).sorted())
        #expect(Set(told.map(\.completed)).count == told.count)
        if count > 0 { #expect(told.last?.completed == end) }
    }

    @Test
    func withoutATotalTheEndReportsIt() {
        let told = told(nil, chunk: 100_000, upTo: 300_000)
        #expect(told.map(\.completed) == [100_000, 200_000, 300_000, 300_000])
        #expect(told.map(\.total) == [nil, nil, nil, 300_000])
    }

    @Test
    func bodySentAgainIsReportedFromItsStart() {
        var steps = ProgressSteps(direction: .upload, total: 200_000)
        #expect(steps.last(at: 200_000)?.completed == 200_000)
        #expect(steps.last(at: 200_000) == nil)
        steps.restart()
        #expect(steps.progress(at: 100_000)?.completed == 100_000)
    }

    @Test(arguments: [Int64?.none, 0])
    func endOfAnEmptyBodyIsReportedOnce(_ total: Int64?) {
        var steps = ProgressSteps(direction: .download, total: total, includesSmall: true)
        let last = steps.last(at: 0)
        #expect(last == TransferProgress(direction: .download, completed: 0, total: 0))
        #expect(last?.fractionCompleted == 1)
        #expect(steps.last(at: 0) == nil)
    }

    @Test(arguments: [Int64.max, .min, 0, -1])
    func noNumberTraps(_ number: Int64) {
        var steps = ProgressSteps(direction: .download, total: number)
        _ = steps.progress(at: number)
        _ = steps.progress(at: 5)
        _ = steps.last(at: number)
    }
}
