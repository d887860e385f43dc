import Foundation
import Testing

@testable import Errand

/// A reader that is slow for as long as other tests run beside it is taken for one that has stopped.
@Suite(.timing, .serialized)
struct StandardErrorTimingTests {
    /// What exceeds the pipe's capacity waits for its reader, also at the end of the process.
    @Test func manyLinesArriveBeforeTheProcessEnds() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for number in 0..<4000 { StandardError.write("line \(number) \(String(repeating: "x", count: 90))\n") }
            exit(EXIT_SUCCESS)
        }
        let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("line ") }
        #expect(lines.count == 4000)
        #expect(lines.last?.hasPrefix("line 3999 ") == true)
    }
}
