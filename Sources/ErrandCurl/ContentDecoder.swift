#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The decoder of a content with one or more codings.
///
/// Bytes are put in with ``feed(_:)`` and read decoded with ``read(into:)``, so the memory in use does not depend on
/// the decoded size. Must not be used by two threads at once.
final class ContentDecoder {
    /// The names of the codings that can be decoded, for `Accept-Encoding`.
    static let names: [String] = codings.filter { errand_decoder_exists(Int32($0.number)) != 0 }.map(\.name)

    private static let codings: [(name: String, number: Int)] = [
        ("gzip", ErrandCodingGzip), ("deflate", ErrandCodingDeflate), ("br", ErrandCodingBrotli),
        ("zstd", ErrandCodingZstandard),
    ]

    /// More than any server needs; each has its own buffer.
    private static let maximumCodings = 4

    /// The decoder of one coding.
    private final class Stage {
        let decoder: OpaquePointer
        var input = Data()
        /// The number of bytes that were decoded.
        var byteCount = 0
        var isComplete = false
        /// Whether the output was full, so that there may be more without further input.
        var hasMore = false

        init?(_ name: String) {
            // RFC 9110, section 8.4.1.3: "x-gzip" is "gzip".
            let name = name == "x-gzip" ? "gzip" : name
            guard let coding = codings.first(where: { $0.name == name }),
                let decoder = errand_decoder_create(Int32(coding.number))
            else { return nil }
            self.decoder = decoder
        }

        deinit { errand_decoder_free(decoder) }

        /// Decodes from the input; returns the number of bytes, 0 if there is not enough input.
        func decode(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkError) -> Int {
            guard let output = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            while !input.isEmpty || hasMore {
                var (consumed, produced) = (0, 0)
                let result = input.withUnsafeBytes { bytes in
                    var none: UInt8 = 0
                    return withUnsafePointer(to: &none) { none in
                        errand_decoder_decode(
                            decoder,
                            bytes.bindMemory(to: UInt8.self).baseAddress ?? none,
                            bytes.count,
                            &consumed,
                            output,
                            buffer.count,
                            &produced
                        )
                    }
                }
                guard result >= 0 else { throw NetworkError(.invalidContentCoding) }
                (isComplete, hasMore) = (result == 1, produced == buffer.count)
                input = consumed == input.count ? Data() : input.dropFirst(consumed)
                byteCount += produced
                if produced > 0 { return produced }
                // No input was used and no output made: the rest waits for more input.
                if consumed == 0 { return 0 }
            }
            return 0
        }
    }

    /// The last coding that was applied comes first, because it is removed first.
    private let stages: [Stage]
    private let limits: BodyLimits
    private var receivedByteCount = 0

    /// Creates a decoder of codings in the order in which they were applied.
    ///
    /// - Parameters:
    ///   - codings: The names of the codings.
    ///   - limits: The limits for codings within another one; the caller checks the output of the last one.
    /// - Throws: `NetworkError` for a coding that is not supported.
    init(_ codings: [String], _ limits: BodyLimits) throws(NetworkError) {
        guard codings.count <= Self.maximumCodings else { throw NetworkError(.invalidContentCoding) }
        var stages: [Stage] = []
        for name in codings.reversed() {
            guard let stage = Stage(name) else { throw NetworkError(.invalidContentCoding) }
            stages.append(stage)
        }
        self.stages = stages
        self.limits = limits
    }

    /// Adds coded bytes.
    func feed(_ data: Data) {
        guard !data.isEmpty, let first = stages.first else { return }
        receivedByteCount += data.count
        if first.input.isEmpty { first.input = data } else { first.input.append(data) }
    }

    /// Decodes into a buffer.
    ///
    /// - Returns: The number of bytes, 0 if more input is needed.
    /// - Throws: `NetworkError` for damaged data.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkError) -> Int {
        try read(into: buffer, from: stages.count - 1)
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, from place: Int) throws(NetworkError) -> Int {
        let stage = stages[place]
        while true {
            let count = try stage.decode(into: buffer)
            if count > 0 || place == 0 { return count }
            var part = Data(count: 16 << 10)
            var failure: NetworkError?
            let partCount = part.withUnsafeMutableBytes { bytes -> Int in
                do throws(NetworkError) {
                    return try read(into: bytes, from: place - 1)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            guard partCount > 0 else { return 0 }
            try limits.checkExpansion(to: stages[place - 1].byteCount, of: receivedByteCount)
            stage.input.append(part.prefix(partCount))
        }
    }

    /// Whether the content has not ended early; content without a byte, as for HEAD, has not.
    var isComplete: Bool { receivedByteCount == 0 || stages.allSatisfy(\.isComplete) }
}
#endif
