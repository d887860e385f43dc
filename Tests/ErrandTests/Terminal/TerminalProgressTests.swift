import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandTerminal

@Suite struct TerminalProgressTests {
    @Test func aBatchMovesTheBarAndLeavesALine() async throws {
        let written = Record<String>()
        let bar = TerminalProgress("users\n\u{1B}[1m", width: 4) { written.add($0) }
        _ = try await Rig.numbers().agent.send(BatchRequest(GetNumber(), GetText()).accessory(bar))
        let lines = written.all.map { $0.replacing("\r\u{1B}[K", with: "") }
        #expect(
            lines == [
                "users[1m [----] 0 of 2", "users[1m [##--] 1 of 2", "users[1m [####] 2 of 2", "users[1m 2 done\n",
            ]
        )
    }

    @Test func failureAndCancellationArePrinted() async throws {
        let written = Record<String>()
        let bar = TerminalProgress("", width: 4) { written.add($0) }
        _ = try? await Rig.numbers().agent.send(ChainRequest(GetNumber()).then { _ in Refusing() }.accessory(bar))
        #expect(written.all.last == "\r\u{1B}[Kfailed in Refusing after 1\n")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try? await Rig.numbers().agent.send(ChainRequest(GetNumber()).accessory(bar))
        }
        _ = await task.value
        #expect(written.all.last == "\r\u{1B}[Kcancelled after 0\n")
    }

    @Test func aTransferShowsItsBytesAndClearsThem() {
        let written = Record<String>()
        let clock = Lock(Moment.now)
        let bar = TerminalProgress("file", width: 4, now: { clock.withLock { $0 } }, write: { written.add($0) })
        for completed in [0, 50, 50, 100] as [Int64] {
            clock.withLock { $0 = $0 + .milliseconds(100) }
            bar.request(
                RequestContext(),
                did: .didProgress(TransferProgress(direction: .download, completed: completed, total: 100))
            )
        }
        clock.withLock { $0 = $0 + .milliseconds(100) }
        bar.request(RequestContext(), did: .didProgress(TransferProgress(direction: .download, completed: 7)))
        bar.request(RequestContext(), did: .didStop(.cancelled))
        bar.request(RequestContext(), did: .didStop(.cancelled))
        #expect(
            written.all.map { String($0.dropFirst(4)) } == [
                "file [----] 0 of 100 bytes received", "file [##--] 50 of 100 bytes received",
                "file [####] 100 of 100 bytes received", "file 7 bytes received", "",
            ]
        )
    }

    @Test func bytesAreDrawnTenTimesPerSecondAtMost() {
        let written = Record<String>()
        let clock = Lock(Moment.now)
        let bar = TerminalProgress("", width: 4, now: { clock.withLock { $0 } }, write: { written.add($0) })
        for completed in 1...1_000 as ClosedRange<Int64> {
            clock.withLock { $0 = $0 + .milliseconds(1) }
            let progress = TransferProgress(direction: .upload, completed: completed << 16, total: 1_000 << 16)
            bar.request(RequestContext(), did: .didProgress(progress))
        }
        #expect(written.all.count == 11)
        #expect(written.all.last == "\r\u{1B}[K[####] 65.5 of 65.5 MB sent")
    }

    @Test(
        arguments: [
            (0, 999, "0 of 999 bytes sent"), (500, 1_000, "0.5 of 1.0 kB sent"), (1, 999_960, "0.0 of 1.0 MB sent"),
            (12_345_678, 700_000_000, "12.3 of 700.0 MB sent"), (1_234, nil, "1.2 kB sent"), (3, nil, "3 bytes sent"),
            (1_500_000_000, 2_000_000_000, "1.5 of 2.0 GB sent"),
        ] as [(Int64, Int64?, String)]
    )
    func bytesAreInTheUnitOfTheTotal(completed: Int64, total: Int64?, text: String) {
        let progress = TransferProgress(direction: .upload, completed: completed, total: total)
        #expect(TerminalProgress.bytes(of: progress) == text)
    }

    @Test(arguments: [
        (80, "film [###############---------------] 1.5 of 3.0 MB sent"),
        (40, "film [#######------] 1.5 of 3.0 MB sent"),
        (31, "film [##--] 1.5 of 3.0 MB sent"), (30, "film 1.5 of 3.0 MB sent"), (24, "film 1.5 of 3.0 MB sent"),
        (20, "film 1.5 of 3.0 MB…"), (2, "…"), (1, ""),
    ])
    func lineIsNarrowerThanTheTerminal(columns: Int, line: String) {
        let text = TerminalProgress.line("film", 0.5, "1.5 of 3.0 MB sent", barWidth: 30, columns: columns)
        #expect(text == line && text.count < columns)
    }

    @Test func sizeOfTheTerminalIsReadForEachLine() async throws {
        let written = Record<String>()
        let columns = Lock(40)
        let bar = TerminalProgress("映画", width: 30, columns: { columns.withLock { $0 } }, write: { written.add($0) })
        for count in [40, 16, 9] {
            columns.withLock { $0 = count }
            let progress = TransferProgress(direction: .download, completed: 5, total: 5)
            bar.request(RequestContext(), did: .didProgress(progress))
        }
        #expect(
            written.all.map { String($0.dropFirst(4)) } == [
                "映画 [##########] 5 of 5 bytes received", "映画 5 of 5 by…", "映画 5 …",
            ]
        )
    }

    @Test func bytesOfRequestAndResponseAreDistinguished() {
        let written = Record<String>()
        let bar = TerminalProgress("file", width: 4) { written.add($0) }
        for direction in [TransferProgress.Direction.upload, .download] {
            let progress = TransferProgress(direction: direction, completed: 1, total: 1)
            bar.request(RequestContext(), did: .didProgress(progress))
        }
        #expect(
            written.all.map { String($0.dropFirst(4)) } == [
                "file [####] 1 of 1 bytes sent", "file [####] 1 of 1 bytes received",
            ]
        )
    }

    @Test func nothingIsPrintedWithoutATerminal() {
        let bar = TerminalProgress("file", width: -3, write: nil)
        bar.request(RequestContext(), did: .didProgress(TransferProgress(direction: .download, completed: 1, total: 2)))
        bar.request(RequestContext(), did: .didStop(.cancelled))
    }
}
