#if canImport(FoundationNetworking)
internal import Foundation

extension OutgoingBody {
    /// Returns a new stream from the first byte, or `nil` if there is no body.
    ///
    /// - Parameters:
    ///   - onRead: Called with every read.
    ///   - onFailure: Not called here, because the stream itself reports that the body cannot be read.
    /// - Returns: An unopened stream, or `nil`.
    func stream(
        onRead: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable () -> Void
    ) -> InputStream? {
        isEmpty ? nil : BodyStream(self, onRead: onRead)
    }

    /// Returns a stream whose first read fails, which ends the request at once.
    static func brokenStream() -> InputStream { BodyStream(failing: NetworkError(.bodyUnreadable)) }
}

/// The stream that URLSession reads a body from, on the queue that all sessions share.
private final class BodyStream: InputStream {
    private var reader: (any BodyReader)?
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?
    private let onRead: (@Sendable () -> Void)?

    convenience init(_ body: OutgoingBody, onRead: @escaping @Sendable () -> Void) {
        do {
            self.init(try body.makeReader(), onRead: onRead)
        } catch {
            self.init(nil, onRead: nil)
            failure = error
        }
    }

    convenience init(failing error: any Error) {
        self.init(nil, onRead: nil)
        failure = error
    }

    init(_ reader: (any BodyReader)?, onRead: (@Sendable () -> Void)?) {
        self.reader = reader
        self.onRead = onRead
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
        guard failure == nil, let reader else { return failure == nil ? 0 : -1 }
        onRead?()
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
            if count == 0 { status = .atEnd }
            return count
        } catch {
            failure = error
            return -1
        }
    }
}
#endif
