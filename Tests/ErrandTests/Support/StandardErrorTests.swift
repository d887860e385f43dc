import Foundation
import Testing

@testable import Errand

/// Lines for a pipe whose reader is late; a caller that blocks exceeds the limit of the suite.
@Suite(.limit(seconds: 60)) struct StandardErrorTests {
    /// A pipe that is full until it is read.
    private final class FullPipe {
        let input: Int32
        let descriptor: Int32
        private var filling = 0

        init() throws {
            var ends: [Int32] = [0, 0]
            let status = pipe(&ends)
            try #require(status == 0)
            (input, descriptor) = (ends[0], ends[1])
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            while write(descriptor, [0x2E], 1) == 1 { filling += 1 }
            _ = fcntl(descriptor, F_SETFL, 0)
        }

        deinit {
            close(input)
            close(descriptor)
        }

        /// Reads a number of bytes after those that filled it.
        func text(_ byteCount: Int) -> String {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 5000)
            while bytes.count < filling + byteCount {
                let count = read(input, &buffer, min(buffer.count, filling + byteCount - bytes.count))
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
            defer { filling = 0 }
            return String(decoding: bytes.dropFirst(filling), as: UTF8.self)
        }
    }

    @Test func linesWaitInOrderForALateReader() throws {
        let pipe = try FullPipe()
        let output = StandardError(to: pipe.descriptor)
        let lines = (0..<1000).map { "\($0) \(String(repeating: "x", count: $0 % 10 == 0 ? 9000 : 20))\n" }
        for line in lines { output.write(line) }
        let text = lines.joined()
        #expect(pipe.text(text.utf8.count) == text)
        output.finish()
        output.write("later\n")
        #expect(pipe.text(6) == "later\n")
    }

    @Test func linesBeyondTheLimitAreDroppedCompletely() throws {
        let pipe = try FullPipe()
        let output = StandardError(to: pipe.descriptor, limit: 1000)
        for number in 100..<1000 { output.write("\(number) \(String(repeating: "x", count: 95))\n") }
        let kept = (100..<110).map { "\($0) \(String(repeating: "x", count: 95))\n" }.joined()
        #expect(pipe.text(1000) == kept)
        output.finish()
        output.write("later\n")
        #expect(pipe.text(6) == "later\n")
    }

    @Test func aHangingReaderDoesNotHoldUpTheEnd() throws {
        let pipe = try FullPipe()
        let output = StandardError(to: pipe.descriptor)
        output.write("a\n")
        output.finish(limit: .milliseconds(20))
        #expect(pipe.text(2) == "a\n")
        output.finish()
    }

    @Test func aSlowReaderDoesNotHoldUpTheEndForLong() throws {
        let pipe = try FullPipe()
        let output = StandardError(to: pipe.descriptor)
        let line = String(repeating: "x", count: 4095) + "\n"
        for _ in 0..<50 { output.write(line) }
        let (isSlow, isDone) = (Lock(true), Lock(false))
        let input = pipe.input
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
        let reader = Thread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !isDone.withLock({ $0 }) {
                _ = read(input, &buffer, buffer.count)
                usleep(isSlow.withLock { $0 } ? 100_000 : 100)
            }
        }
        reader.start()
        let began = ContinuousClock.now
        output.finish(limit: .milliseconds(200))
        #expect(.now - began < .seconds(3))
        // Nothing may be written to the descriptor once another test has its number.
        isSlow.withLock { $0 = false }
        output.finish(limit: .seconds(20))
        isDone.withLock { $0 = true }
        while !reader.isFinished { usleep(1000) }
    }

    /// Another file may have got the number of the descriptor while a part of a line waited.
    @Test func aDescriptorIsCheckedBeforeEachPartOfALine() throws {
        let pipe = try FullPipe()
        let checkCount = Lock(0)
        let output = StandardError(to: pipe.descriptor) {
            checkCount.withLock {
                $0 += 1
                return $0 != 2
            }
        }
        output.write(String(repeating: "x", count: 20_000))
        #expect(pipe.text(4096) == String(repeating: "x", count: 4096))
        output.finish()
        output.write("b\n")
        #expect(pipe.text(2) == "b\n")
        output.finish()
    }

    @Test func nothingIsWrittenToADescriptorThatCannotBeUsed() throws {
        let pipe = try FullPipe()
        let isUsable = Lock(false)
        let output = StandardError(to: pipe.descriptor) { isUsable.withLock { $0 } }
        output.write("a\n")
        output.finish()
        isUsable.withLock { $0 = true }
        output.write("b\n")
        #expect(pipe.text(2) == "b\n")
        output.finish()
    }
}
