import Testing

@testable import Errand

/// The progress that the caller of a send receives from its attempts.
@Suite struct CallerProgressTests {
    private func up(_ completed: Int64, _ total: Int64? = 100) -> TransferProgress {
        TransferProgress(direction: .upload, completed: completed, total: total)
    }

    private func down(_ completed: Int64, _ total: Int64? = 100) -> TransferProgress {
        TransferProgress(direction: .download, completed: completed, total: total)
    }

    private func reports(_ attempts: [TransferProgress], succeeds: Bool = true) -> [TransferProgress] {
        var record = CallerProgress.Record()
        let reports = attempts.flatMap { record.report($0) }
        return reports + (succeeds ? [record.uploadEnd()].compactMap(\.self) : [])
    }

    @Test func uploadThatIsSentAgainContinuesWhereItWas() {
        let sent = [up(30), up(60), up(100), up(30), up(60), up(90), up(100)]
        #expect(reports(sent) == [up(30), up(60), up(100)])
        #expect(reports([up(60), up(30), up(90), up(100)]) == [up(60), up(90), up(100)])
    }

    @Test func endOfAnUploadIsReportedOnceAndOnlyIfItIsAccepted() {
        #expect(reports([up(50), up(100)], succeeds: false) == [up(50)])
        #expect(reports([up(100)], succeeds: true) == [up(100)])
        #expect(reports([up(100), down(50), down(100)]) == [up(100), down(50), down(100)])
        // The server may respond before it has read everything.
        #expect(reports([up(50)]) == [up(50), up(100)])
        #expect(reports([]) == [])
    }

    @Test func unknownLengthEndsAtOne() {
        #expect(reports([up(10, nil), up(20, nil), up(20, 20)]) == [up(10, nil), up(20, nil), up(20, 20)])
        #expect(reports([up(10, nil)]) == [up(10, nil), up(10, 10)])
        #expect(
            reports([up(20, nil), up(10, nil), up(30, nil), up(30, 30)]) == [up(20, nil), up(30, nil), up(30, 30)]
        )
    }

    @Test func downloadThatIsReceivedAgainNeverRunsBackwards() {
        #expect(reports([down(60), down(30), down(70), down(100)]) == [down(60), down(70), down(100)])
        // Another representation, smaller or larger than the first.
        #expect(reports([down(60), down(40, 50), down(50, 50)]) == [down(60), down(40, 50), down(50, 50)])
        #expect(reports([down(60), down(70, 1000), down(1000, 1000)]) == [down(60), down(1000, 1000)])
    }

    @Test func eachSendHasItsOwnProgressUntilItsEnd() {
        let seen = Record<TransferProgress>()
        let accessory = CallerProgress { seen.add($0) }
        var (first, second) = (RequestContext(), RequestContext())
        first = RequestContext(id: 1, typeName: "", method: .put, serviceID: "", tag: "", attempt: 1, attributes: [:])
        second = RequestContext(id: 2, typeName: "", method: .put, serviceID: "", tag: "", attempt: 1, attributes: [:])
        accessory.request(first, did: .willStart)
        accessory.request(second, did: .willStart)
        accessory.request(first, did: .didProgress(up(50)))
        accessory.request(second, did: .didProgress(up(20)))
        accessory.request(first, did: .willStop(.cancelled))
        accessory.request(first, did: .didProgress(up(60)))
        #expect(seen.all == [up(50), up(20)])
    }
}
