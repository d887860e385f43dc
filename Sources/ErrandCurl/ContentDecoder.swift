#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// The decoder of a content with one or more codings.
///
/// Bytes are put in with ``feed(_:)`` and read decoded with ``read(into:)``, so the memory in use does not depend on
/// the decoded size. The content of an error response that cannot be decoded from its first byte on is read as it was received.
/// Must not be used by two threads at once.
final class ContentDecoder {
    /// The names of the codings that can be decoded, for `Accept-Encoding`.
    static let names: [String] = codings.filter { errand_decoder_exists(Int32($0.number)) != 0 }.map(\.name)

    private static let codings: [(name: String, number: Int)] = [
        ("gzip", ErrandCodingGzip), ("deflate", ErrandCodingDeflate), ("br", ErrandCodingBrotli),
        ("zstd", ErrandCodingZstandard),
    ]

    /// More than any server needs; each has its own buffer.
    private static let maximumCodings = 4

    /// The maximum number of bytes that are kept until the first one is decoded.
    private static let maximumUndecodedSize = 64 << 10

    /// The decoder of one coding.
    private final class Stage {
        let name: String
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
            (self.name, self.decoder) = (name, decoder)
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
                guard result >= 0 else { throw NetworkError.undecodable(name, isSupported: true) }
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
    /// The bytes that are read as they were received if none can be decoded; `nil` if damaged data is an error, or after the
    /// first decoded byte.
    private var undecoded: Data?
    /// Why the content is read as it was received.
    private var failure: NetworkError?

    /// Creates a decoder of codings in the order in which they were applied.
    ///
    /// - Parameters:
    ///   - codings: The names of the codings.
    ///   - limits: The limits for codings within another one; the caller checks the output of the last one.
    ///   - isOfError: Whether the content is that of an error response.
    /// - Throws: `NetworkError` for a coding that is not supported, unless the content is that of an error response.
    init(_ codings: [String], _ limits: BodyLimits, isOfError: Bool) throws(NetworkError) {
        let stages = codings.prefix(Self.maximumCodings).reversed().compactMap { Stage($0) }
        if stages.count < codings.count {
            let unsupported = codings.filter { Stage($0) == nil }
            let names = (unsupported.isEmpty ? codings : unsupported).joined(separator: ", ")
            failure = .undecodable(names, isSupported: false)
        }
        (self.stages, self.limits, undecoded) = (stages, limits, isOfError ? Data() : nil)
        if let failure, !isOfError { throw failure }
    }

    /// Adds coded bytes.
    func feed(_ data: Data) {
        guard !data.isEmpty else { return }
        receivedByteCount += data.count
        undecoded?.append(data)
        guard failure == nil, let first = stages.first else { return }
        if undecoded?.count ?? 0 > Self.maximumUndecodedSize { undecoded = nil }
        if first.input.isEmpty { first.input = data } else { first.input.append(data) }
    }

    /// Decodes into a buffer.
    ///
    /// - Returns: The number of bytes, 0 if more input is needed.
    /// - Throws: `NetworkError` for damaged data.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkError) -> Int {
        if failure == nil {
            do throws(NetworkError) {
                let count = try read(into: buffer, from: stages.count - 1)
                if count > 0 { undecoded = nil }
                return count
            } catch {
                guard undecoded != nil else { throw error }
                failure = error
            }
        }
        guard let rest = undecoded else { return 0 }
        let part = rest.prefix(buffer.count)
        buffer.copyBytes(from: part)
        undecoded = Data(rest.dropFirst(part.count))
        return part.count
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

    /// Returns the error of a content that was not decoded, or ended early; content without a byte, as for HEAD, has not.
    ///
    /// - Parameter marksEnd: Whether the content has an end of its own. Otherwise, a connection that was lost looks like it.
    /// - Returns: The error, or `nil` if the content is complete.
    func failure(marksEnd: Bool) -> NetworkError? {
        if let failure { return failure }
        guard receivedByteCount > 0, let damaged = stages.first(where: { !$0.isComplete }) else { return nil }
        return marksEnd ? NetworkError.undecodable(damaged.name, isSupported: true) : NetworkError(.closedInBody)
    }
}
#endif
