#if canImport(FoundationNetworking)
internal import Foundation

extension OutgoingBody {
    /// Returns a new stream from the first byte, or `nil` if there is no body.
    ///
    /// - Parameters:
    ///   - onRead: Called with every read.
    ///   - onFailure: Called with the error if the body cannot be read; the stream itself can only report that it is not.
    /// - Returns: An unopened stream, or `nil`.
    func stream(
        onRead: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) -> InputStream? {
        isEmpty ? nil : BodyStream(self, onRead: onRead, onFailure: onFailure)
    }

    /// Returns a stream whose first read fails, which ends the request at once.
    static func brokenStream() -> InputStream { BodyStream(failing: NetworkError(.bodyNotRead)) }
}

/// The stream that URLSession reads a body from, on the queue that all sessions share.
private final class BodyStream: InputStream {
    private var reader: (any BodyReader)?
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?
    private let onRead: @Sendable () -> Void
    private let onFailure: @Sendable (any Error) -> Void

    init(
        _ body: OutgoingBody,
        onRead: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        (self.onRead, self.onFailure) = (onRead, onFailure)
        do {
            reader = try body.makeReader()
        } catch {
            failure = error
        }
        super.init(data: Data())
    }

    init(failing error: any Error) {
        (onRead, onFailure) = ({}, { _ in })
        failure = error
        super.init(data: Data())
    }

    override func open() { if status == .notOpen { status = .open } }
    override func close() { (status, reader) = (.closed, nil) }
    override var hasBytesAvailable: Bool { status != .atEnd && status != .closed }
    override var streamStatus: Stream.Status { failure == nil ? status : .error }
    override var streamError: (any Error)? { failure }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    /// Returns a negative number if reading fails, which aborts the request at once.
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        if let failure {
            onFailure(failure)
            return -1
        }
        guard let reader else { return 0 }
        onRead()
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
            if count == 0 { status = .atEnd }
            return count
        } catch {
            failure = error
            onFailure(error)
            return -1
        }
    }
}
#endif
