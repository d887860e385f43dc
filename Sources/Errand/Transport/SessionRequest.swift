internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The URLRequest of an exchange, made so that URLSession sends what was meant.
struct SessionRequest {
    let urlRequest: URLRequest

    init(_ outgoing: OutgoingRequest, bodyStream: InputStream?) {
        var request = URLRequest(url: outgoing.url)
        if outgoing.method != .get { request.httpMethod = outgoing.method.rawValue }
        // Only the setter counts.
        request.timeoutInterval = OpenExchanges.never
        // A second line of a name would be joined with a bare comma, cookies too.
        for field in outgoing.headers.combined { request.setValue(field.value, forHTTPHeaderField: field.name) }
        if let bodyStream {
            request.httpBodyStream = bodyStream
            if !outgoing.headers.contains("Content-Type") {
                request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
            }
            if let byteCount = outgoing.body.byteCount {
                request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
                #if canImport(FoundationNetworking)
                // A single space removes a field: without it a stream is sent with both framings.
                request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
                #endif
            }
        }
        urlRequest = request
    }
}

extension Duration {
    /// The same in seconds.
    var timeInterval: Double {
        let parts = components
        return Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
    }
}

extension OutgoingBody {
    /// A new stream from the first byte, or `nil` when there is no body.
    ///
    /// - Parameter onRead: Told of every read.
    /// - Returns: A stream that nobody has opened, or `nil`.
    func stream(onRead: @escaping @Sendable () -> Void) -> InputStream? {
        isEmpty ? nil : BodyStream(self, onRead: onRead)
    }

    /// A stream whose first read fails, which ends the request at once.
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

    /// A negative result aborts the request at once.
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
