#if !canImport(FoundationNetworking)
internal import CoreFoundation
internal import Foundation
internal import ObjectiveC

extension OutgoingBody {
    /// Returns a new stream from the first byte, or `nil` if there is no body.
    ///
    /// - Parameters:
    ///   - onRead: Called with every read.
    ///   - onFailure: Called with the error if the body cannot be read, which the stream cannot report.
    /// - Returns: An unopened stream, or `nil`.
    func stream(
        onRead: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) -> InputStream? {
        isEmpty ? nil : BodyPump.stream(of: self, onRead: onRead, onFailure: onFailure)
    }

    /// Returns an empty stream, for an exchange that has ended.
    static func brokenStream() -> InputStream { InputStream(data: Data()) }
}

/// Writes a body into one end of a pair of streams whose other end URLSession reads, because it does not support a
/// subclass of `InputStream` safely.
///
/// Unchecked: after `open()` its state is used on its queue only.
private final class BodyPump: NSObject, StreamDelegate, @unchecked Sendable {
    private static let bufferSize = 64 << 10
    /// A key whose address associates the owner of a pump with the stream that URLSession reads; it is never read or written.
    nonisolated(unsafe) private static var key: UInt8 = 0

    private let body: OutgoingBody
    private let output: OutputStream
    private let onRead: @Sendable () -> Void
    private let onFailure: @Sendable (any Error) -> Void
    private let queue = DispatchQueue(label: "errand.transport.body")
    private var reader: (any BodyReader)?
    private var buffer = [UInt8](repeating: 0, count: bufferSize)
    /// The range of the buffer that was read and not yet written.
    private var pending = 0..<0

    static func stream(
        of body: OutgoingBody,
        onRead: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) -> InputStream? {
        var input: InputStream?
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: bufferSize, inputStream: &input, outputStream: &output)
        guard let input, let output else { return nil }
        let pump = BodyPump(body, output, onRead, onFailure)
        objc_setAssociatedObject(input, &key, Owner(pump), .OBJC_ASSOCIATION_RETAIN)
        pump.open()
        return input
    }

    /// Closes a pump when the stream that URLSession reads is deallocated.
    ///
    /// On the pump's queue, because a stream does not retain its delegate, which may be handling an event.
    private final class Owner {
        private let pump: BodyPump

        init(_ pump: BodyPump) { self.pump = pump }

        deinit { pump.queue.async { [pump] in pump.close() } }
    }

    private init(
        _ body: OutgoingBody,
        _ output: OutputStream,
        _ onRead: @escaping @Sendable () -> Void,
        _ onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        (self.body, self.output, self.onRead, self.onFailure) = (body, output, onRead, onFailure)
    }

    private func open() {
        output.delegate = self
        CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
        output.open()
    }

    private func close() {
        output.delegate = nil
        output.close()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasSpaceAvailable: write()
        case .errorOccurred, .endEncountered: output.close()
        default: break
        }
    }

    private func write() {
        do {
            if pending.isEmpty {
                let reader = try reader ?? body.makeReader()
                self.reader = reader
                let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
                onRead()
                guard count > 0 else { return output.close() }
                pending = 0..<count
            }
        } catch {
            // Left open until the task is cancelled: of a body without a length, its end would look complete.
            return onFailure(error)
        }
        let written = buffer.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { output.write($0 + pending.lowerBound, maxLength: pending.count) } ?? -1
        }
        guard written >= 0 else { return output.close() }
        pending = (pending.lowerBound + written)..<pending.upperBound
    }
}
#endif
