import ErrandTesting
import Testing

@testable import Errand

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
        let bar = TerminalProgress("file", width: 4) { written.add($0) }
        for completed in [0, 50, 50, 100] as [Int64] {
            bar.request(
                RequestContext(),
                did: .didProgress(TransferProgress(direction: .download, completed: completed, total: 100))
            )
        }
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

    @Test func bytesOfTheRequestAreDistinguishedFromThoseOfTheResponse() {
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
