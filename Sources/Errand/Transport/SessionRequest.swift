internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The URLRequest of an exchange, made so that URLSession sends what was meant.
struct SessionRequest {
    /// How a body is handed to URLSession.
    enum Body {
        case data(Data)
        case stream(InputStream)
    }

    let urlRequest: URLRequest

    init(_ outgoing: OutgoingRequest, body: Body?) {
        var request = URLRequest(url: outgoing.url)
        if outgoing.method != .get { request.httpMethod = outgoing.method.rawValue }
        // Only the setter counts.
        request.timeoutInterval = OpenExchanges.never
        for field in outgoing.headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
        if let body {
            if !outgoing.headers.contains("Content-Type") {
                request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
            }
            switch body {
            case .data(let data):
                // The system adds the length, and over HTTP/2 knows by it where the body ends.
                request.httpBody = data
            case .stream(let stream):
                request.httpBodyStream = stream
                guard let byteCount = outgoing.body.byteCount else { break }
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

extension OutgoingRequest {
    /// The most bytes of a body that shares an HTTP/2 connection; it is copied once more while it is sent.
    static let largestSharedBody = 1 << 20

    /// Whether the body has to be sent on a connection of its own.
    ///
    /// libcurl is not told the length of a stream. Over HTTP/2 (never without TLS) it marks the end of such a body only
    /// some time after its last byte. A server that knows the end by `Content-Length` may respond before that; if another
    /// exchange on the connection reads that response, libcurl loses it and sends the request again.
    var mustNotShareHTTP2: Bool {
        guard url.scheme == "https", !body.isEmpty else { return false }
        return body.byteCount.map { $0 > Self.largestSharedBody } ?? true
    }

    /// The body in memory if it has to be given as data, or `nil` if it is sent as a stream.
    ///
    /// Without TLS a stream is better: it can be read again when a kept-alive connection dies.
    func dataForSession() -> Data? {
        guard url.scheme == "https", !body.isEmpty, !mustNotShareHTTP2 else { return nil }
        return body.data ?? body.read()
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

    /// Reads a body of known length, or returns `nil` if it cannot be read or has another length.
    fileprivate func read() -> Data? {
        // An error here is met again, and reported, by the stream that is sent instead.
        guard isReplayable, let byteCount = byteCount.flatMap(Int.init(exactly:)), let reader = try? makeReader() else {
            return nil
        }
        // One byte more than it says shows a body that is too long.
        var data = Data(count: byteCount + 1)
        let filled = data.withUnsafeMutableBytes { buffer in
            var filled = 0
            while filled < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                guard let count = try? reader.read(into: rest), count > 0 else { break }
                filled += count
            }
            return filled
        }
        return filled == byteCount ? data.prefix(byteCount) : nil
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
