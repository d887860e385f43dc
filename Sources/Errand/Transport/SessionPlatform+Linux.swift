#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking

/// The specifics of URLSession in swift-corelibs-foundation.
enum SessionPlatform {
    /// A timeout that is never reached, in seconds: it exceeds the range of URLSession's clock, and its timer is not started.
    static let never: TimeInterval = 1e13

    /// Lets the process exit while a session uses TLS; must be called before the first session is created.
    ///
    /// OpenSSL frees its state in an exit handler, which it installs when libcurl initializes it. Sessions run, and are freed,
    /// on other threads meanwhile, and would use that state. So OpenSSL is initialized here without the handler, as toolchains
    /// from 6.4 do. It has no effect if OpenSSL was initialized before, or is not the TLS library of libcurl.
    static func prepareForExit() { _ = isPreparedForExit }

    private static let isPreparedForExit: Bool = {
        typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> Int32
        guard let function = dlsym(nil, "OPENSSL_init_crypto") else { return false }
        // `OPENSSL_INIT_NO_ATEXIT` of crypto.h.
        return unsafeBitCast(function, to: Initialize.self)(0x0008_0000, nil) == 1
    }()

    /// Sets what the library depends on in a configuration.
    static func adjust(_ configuration: URLSessionConfiguration) { SessionLoader.load(tasksOf: configuration) }

    /// Returns the queue for callbacks, or `nil` to let the session create one.
    static func delegateQueue() -> OperationQueue? { InlineQueue() }

    /// Returns the response to a challenge.
    static func disposition(for challenge: URLAuthenticationChallenge) -> URLSession.AuthChallengeDisposition {
        .cancelAuthenticationChallenge
    }

    /// Returns whether to respond to a redirect.
    ///
    /// That is not allowed if the task was cancelled: a response that comes after the task has ended ends the process
    /// (HTTPURLProtocol.swift, "Received callback for HTTP redirection, but we're not waiting for it").
    ///
    /// The exchange's flag is set before its task is cancelled. If it isn't set yet, the response is queued before
    /// URLSession can act on a cancellation.
    static func mayCompleteRedirect(of exchange: SessionExchange?) -> Bool { exchange?.isCancelled == false }

    /// Throws for an IPv6 literal, on which URLSession fails with a "bad URL" error.
    ///
    /// - Parameter url: The URL of a request.
    /// - Throws: ``NetworkError`` with ``NetworkError/Reason/invalidURL(_:)``.
    static func checkHost(of url: URL) throws(NetworkError) {
        guard url.absoluteString.utf8.contains(UInt8(ascii: "[")), url.host()?.contains(":") == true else {
            return
        }
        throw NetworkError(.unsupportedHost(url.origin.authority, orElse: ", or CurlTransport of ErrandCurl"))
    }

    /// Sets the length of a body that is sent as a stream.
    static func state(_ byteCount: Int64, in request: inout URLRequest) {
        request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
        // A single space removes a field: without it a stream is sent with both framings.
        request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
    }
}

/// The session of a transport.
final class SessionHolder: Sendable {
    private let session: Lock<URLSession>

    init(_ session: URLSession) { self.session = Lock(session) }

    var current: URLSession { session.withLock { $0 } }

    /// Closes the connections that no exchange uses: `flush` has no effect on this platform, so another session is used.
    ///
    /// The old one is not invalidated: another thread may be about to create a task with it, which would end the process.
    /// Its connections are closed with the last reference to it, which its exchanges have.
    func closeIdleConnections(_ makeSession: () -> URLSession) {
        let new = makeSession()
        let old = session.withLock { session in
            defer { session = new }
            return session
        }
        withExtendedLifetime(old) {}
    }
}

extension OutgoingRequest {
    /// The maximum size of a body that shares an HTTP/2 connection; the body is copied once more while it is sent.
    private static let largestSharedBody = 1 << 20

    /// Whether the request must not share a connection with others, before it or beside it.
    ///
    /// A kept connection may have been closed by the server. Whether a request without a body has arrived there is not known.
    var needsNewConnection: Bool {
        body.isEmpty ? !mayBeSentTwice : mustNotShareHTTP2 || !SessionTransfer.asksBeforeBeginning
    }

    /// Whether libcurl must not begin to send the request a second time.
    ///
    /// It does if a kept-alive connection dies without a byte of a response, or if a server refuses a stream of HTTP/2. A body
    /// would be empty then.
    var mustNotBeginAgain: Bool { !body.isEmpty || !mayBeSentTwice }

    /// Whether the body has to be sent on a connection of its own.
    ///
    /// libcurl does not know the length of a stream. Over HTTP/2 (never without TLS) it marks the end of such a body only
    /// some time after its last byte. A server that knows the end by `Content-Length` may respond before that; if another
    /// exchange on the connection reads that response, libcurl loses it and sends the request again.
    private var mustNotShareHTTP2: Bool {
        guard !body.isEmpty, url.scheme == "https" else { return false }
        // A body that can be read only once is not read before it is sent.
        return !body.isReplayable || body.byteCount.map { $0 > Self.largestSharedBody } ?? true
    }

    /// The body in memory if it has to be given as data, or `nil` if it is sent as a stream.
    ///
    /// Without TLS a stream is better: it can be read again when a kept-alive connection dies.
    func dataForSession() -> Data? {
        guard !body.isEmpty, url.scheme == "https", !mustNotShareHTTP2 else { return nil }
        return body.data ?? body.read()
    }
}

extension OutgoingBody {
    /// Reads a body of known length, or returns `nil` if it cannot be read or has another length.
    fileprivate func read() -> Data? {
        // An error here occurs again, and is reported, in the stream that is sent instead.
        guard isReplayable, let byteCount = byteCount.flatMap(Int.init(exactly:)), byteCount >= 0,
            let reader = try? makeReader()
        else { return nil }
        // Reading one byte more than its length detects a body that is too long.
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
}
#endif
