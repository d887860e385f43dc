internal import Foundation

/// A body whose chunks a closure returns.
struct ChunkSource: BodySource {
    let byteCount: Int64?
    let isReplayable: Bool
    /// Starts at the first chunk; the closure that it returns has no more chunks when it returns `nil`.
    let makeChunks: @Sendable () throws -> () throws -> Data?

    func makeReader() throws -> any BodyReader { Reader(try makeChunks()) }

    private final class Reader: BodyReader {
        private var nextChunk: (() throws -> Data?)?
        private var rest = Data()

        init(_ nextChunk: @escaping () throws -> Data?) { self.nextChunk = nextChunk }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            while rest.isEmpty {
                guard let chunk = try nextChunk?() else {
                    nextChunk = nil
                    return 0
                }
                rest = chunk
            }
            let count = min(buffer.count, rest.count)
            rest.prefix(count).withUnsafeBytes { buffer.copyMemory(from: $0) }
            rest = rest.dropFirst(count)
            return count
        }
    }
}
