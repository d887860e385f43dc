#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

/// One handle of libcurl, which carries one transfer at a time and is used again for the next.
///
/// Used by the event loop's thread only.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    /// The exchange of the transfer, or `nil` between two.
    private(set) var exchange: CurlExchange?
    /// The place among the handles in use.
    var place = 0

    /// The transfers that the handle belongs to; unchecked, because they own it.
    unowned(unsafe) let transfers: CurlTransfers

    let configuration: CurlTransport.Configuration
    private let loop: OpaquePointer
    /// What the TLS connections that the handle makes use, and what they find.
    private let tls: UnsafeMutablePointer<errand_curl_tls_use>
    private let errorText: UnsafeMutablePointer<CChar>
    /// Whether a request has content, or states that it has none.
    private enum Content {
        case none, empty, some

        init(of request: OutgoingRequest) {
            self = request.hasBody ? .some : [.post, .put, .patch].contains(request.method) ? .empty : .none
        }
    }

    /// The URL of the last request, because many have the same one.
    private var url = ""
    private let parsedURL: UnsafeMutableRawPointer?
    /// The header fields of the last request and their list, because most requests have the same ones.
    private var fields: [HTTPHeaders.Field] = []
    private var content = Content.none
    private var list: UnsafeMutableRawPointer?
    private var resolve: UnsafeMutableRawPointer?
    /// The remote address of the last transfer, because most have the same one.
    var lastRemote: (host: String, port: Int, text: String) = ("", 0, "")
    /// Whether options are set that only some requests set.
    private var isChanged = false
    private var waitsForMultiplexing = false
    private var hasLargeBuffer = false
    private var bypassesProxy = false
    /// Whether libcurl has begun to send the request.
    private var hasBegun = false
    /// Whether it has begun on a connection with HTTP/2 over TLS.
    private(set) var usesSecureHTTP2 = false
    /// The TLS session of the connection that it has begun on, if that has HTTP/1.1 and may be given to others.
    private var session: UnsafeRawPointer?
    /// Whether the request has to begin with another handle.
    private(set) var isInterrupted = false
    /// Why no request may be sent: libcurl does not support what the configuration requires.
    private(set) var refusal: NetworkError?

    /// Whether libcurl can send a second request on a connection with HTTP/2 and without TLS, which 7.88 cannot.
    private static let reusesClearHTTP2 = errand_curl_version_number() >> 8 != 0x0758

    /// Whether libcurl can lose a response that ends before its request, on a shared HTTP/2 connection, as 7.88 does
    /// and 8.14 does not.
    private static let losesEarlyResponses = errand_curl_version_number() < 0x080E00

    /// Whether libcurl may swap responses, as it may before 8.5.
    ///
    /// It begins a request on a connection with HTTP/1.1 that another one uses, if it has found HTTP/2 on a connection to
    /// the same host.
    static let mixesVersions = errand_curl_version_number() < 0x080500

    /// `CURL_ERROR_SIZE`.
    private static let errorTextSize = 256

    /// Creates a handle, or returns `nil` if there is no memory.
    init?(_ configuration: CurlTransport.Configuration, of transfers: CurlTransfers, on loop: OpaquePointer) {
        guard let easy = errand_curl_easy_create() else { return nil }
        self.easy = easy
        self.configuration = configuration
        self.transfers = transfers
        self.loop = loop
        // Not before: without a handle nothing would free them.
        errorText = .allocate(capacity: Self.errorTextSize)
        errorText.initialize(repeating: 0, count: Self.errorTextSize)
        parsedURL = errand_curl_url_create()
        tls = .allocate(capacity: 1)
        tls.initialize(to: errand_curl_tls_use(tls: transfers.tls.pointer, wants_certificate: 0))
        setUp()
    }

    deinit {
        errand_curl_easy_free(easy)
        errand_curl_url_free(parsedURL)
        errand_curl_list_free(list)
        errand_curl_list_free(resolve)
        tls.deallocate()
        errorText.deallocate()
    }

    // MARK: One transfer

    /// Sets what a request needs.
    func begin(_ exchange: CurlExchange) {
        self.exchange = exchange
        (hasBegun, usesSecureHTTP2, isInterrupted, session) = (false, false, false, nil)
        errorText[0] = 0
        tls.pointee.wants_certificate = 0
        let request = exchange.request
        setURL(request.url.absoluteString)
        setFields(of: request)
        setMethod(of: request, exchange)
        setHost(of: request.url)
        // Over TLS the first connection shows soon whether others are needed.
        let isSecure = request.url.scheme == "https"
        if isSecure != waitsForMultiplexing {
            waitsForMultiplexing = isSecure
            set(ErrandCurlOptionWaitForMultiplexing, isSecure ? 1 : 0)
        }
        if let bypass = transfers.proxyBypass, bypass.includes(request.url) != bypassesProxy {
            bypassesProxy.toggle()
            set(ErrandCurlOptionNoProxy, bypassesProxy ? "*" : "")
        }
        // A buffer of this size is a slow allocation, so only a body that is read as it arrives has one.
        let isStreamed = exchange.options.readAhead == 0
        if isStreamed != hasLargeBuffer {
            // libcurl refuses while it keeps the buffer of a transfer that ended before it had a connection.
            let code = errand_curl_set_long(easy, Int32(ErrandCurlOptionBufferSize), isStreamed ? 64 << 10 : 16 << 10)
            if code == 0 { hasLargeBuffer = isStreamed }
        }
        let isReusable = isSecure || configuration.httpVersion != .http2 || Self.reusesClearHTTP2
        let isAlone = isSecure && Self.losesEarlyResponses && request.isLarge
        if exchange.options.isStream || !isReusable || isAlone {
            change(ErrandCurlOptionFreshConnection, 1)
            change(ErrandCurlOptionForbidReuse, 1)
        }
        if exchange.isRestarted {
            // The version that no server can refuse a stream of.
            if isSecure { change(ErrandCurlOptionHTTPVersion, CurlTransport.Configuration.HTTPVersion.http1.number) }
            change(ErrandCurlOptionFreshConnection, 1)
        }
        exchange.handle = self
    }

    /// Returns whether libcurl may begin to send the request, which it does again if a kept connection dies.
    ///
    /// A request with a body begins again with another handle: libcurl may still have bytes that it read for the first time.
    func mayBegin(from port: Int32) -> Bool {
        defer { hasBegun = true }
        errand_curl_loop_expect_response(loop, port)
        guard let exchange else { return false }
        // The same response would follow; of the connection before.
        let isTooLarge = hasBegun && hasTooLargeHeader(endedWith: nil)
        usesSecureHTTP2 = waitsForMultiplexing && errand_curl_uses_http2(easy) != 0
        session = waitsForMultiplexing && !usesSecureHTTP2 && Self.mixesVersions ? currentSession : nil
        let isTaken = session.map { transfers.isInUse($0, beside: self) } ?? false
        let hasBody = exchange.request.hasBody
        let isIncomplete = hasBody && !exchange.hasReadBody && !exchange.request.mayBeSentTwice
        let isRepeated = hasBegun && (isTooLarge || !isIncomplete)
        isInterrupted = isTaken || isRepeated && hasBody
        let mayRepeat = !isRepeated || exchange.mayRepeat(after: isTooLarge ? .headerSectionTooLarge : nil)
        return mayRepeat && !isInterrupted
    }

    /// Whether the handle's transfer uses a connection with HTTP/1.1, named by its TLS session, at this moment.
    ///
    /// It ends here later than in libcurl, which may use the connection from then on.
    func uses(_ session: UnsafeRawPointer) -> Bool { self.session == session && currentSession == session }

    private var currentSession: UnsafeRawPointer? { errand_curl_tls_session(easy).map { UnsafeRawPointer($0) } }

    /// Whether a header section over HTTP/2 was larger than libcurl accepts.
    ///
    /// A field of more than 64 KiB ends the session within libcurl 7.88, as any violation of HTTP/2 by the server does, and
    /// is reported as an empty response.
    ///
    /// - Parameter code: The error that ended the transfer, or `nil` if libcurl is about to send the request again.
    /// - Returns: Whether it was, as far as libcurl lets it be known.
    func hasTooLargeHeader(endedWith code: Int32?) -> Bool {
        guard usesSecureHTTP2, let exchange, !exchange.hasHeader else { return false }
        if let code { return code == 52 }
        let message = String(cString: errorText)
        // This version notes a time when a response has ended, or when the first byte of a body is sent, and not if the server
        // has refused the stream.
        return message.isEmpty
            ? !exchange.request.hasBody && errand_curl_get_size(easy, Int32(ErrandCurlInfoResponseTime)) > 0
            : CurlMessage.reason(in: message, hasHeader: false) == .headerSectionTooLarge
    }

    /// Whether the server has requested a client certificate on a connection that was made for the transfer.
    var isAskedForCertificate: Bool { tls.pointee.wants_certificate != 0 }

    /// Makes the handle ready for another request.
    func end() {
        (exchange, session) = (nil, nil)
        guard isChanged else { return }
        isChanged = false
        set(ErrandCurlOptionCustomRequest, nil)
        // This makes the method POST, so GET comes after it.
        set(ErrandCurlOptionCopiedPost, nil)
        set(ErrandCurlOptionNoBody, 0)
        set(ErrandCurlOptionUpload, 0)
        set(ErrandCurlOptionGet, 1)
        errand_curl_set_size(easy, Int32(ErrandCurlOptionBodySize), -1)
        errand_curl_set_size(easy, Int32(ErrandCurlOptionPostSize), -1)
        set(ErrandCurlOptionFreshConnection, 0)
        set(ErrandCurlOptionForbidReuse, 0)
        set(ErrandCurlOptionHTTPVersion, configuration.httpVersion.number)
        set(ErrandCurlOptionResolve, nil)
    }

    /// libcurl's message for the last error, or its code's message.
    func errorMessage(_ code: Int32) -> String {
        errorText[0] == 0 ? String(cString: errand_curl_error_text(code)) : String(cString: errorText)
    }

    /// `errno` of the last connection that failed.
    var systemError: Int32 { Int32(truncatingIfNeeded: errand_curl_get_long(easy, Int32(ErrandCurlInfoSystemError))) }

    /// The time of the event loop.
    var now: Int64 { errand_curl_loop_time(loop) }

    /// Why the last socket of the event loop could not be created, or 0 if it could.
    var socketError: Int32 { errand_curl_loop_socket_error(loop) }

    // `CURLPAUSE_RECV`; it fails if the transfer has ended, which needs no handling.
    func pause() { _ = errand_curl_easy_pause(easy, 1) }

    /// Continues a paused transfer (`CURLPAUSE_CONT`).
    ///
    /// - Returns: The error of libcurl that ends the transfer, or `nil`. After an error, libcurl does not watch its
    ///   sockets and timers.
    func resume() -> Int32? {
        let code = errand_curl_easy_pause(easy, 0)
        // 43 is `CURLE_BAD_FUNCTION_ARGUMENT`: the transfer has ended, and its end is reported like any other.
        return code == 0 || code == 43 ? nil : code
    }

    // MARK: Options

    /// Sets the options that all requests share.
    private func setUp() {
        let own = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        errand_curl_loop_prepare(loop, easy)
        set(ErrandCurlOptionErrorBuffer, errorText)
        for option in [
            ErrandCurlOptionPrivate, ErrandCurlOptionHeaderData, ErrandCurlOptionWriteData, ErrandCurlOptionReadData,
            ErrandCurlOptionSeekData, ErrandCurlOptionBeginData,
        ] { set(option, own) }
        errand_curl_set_function(easy, Int32(ErrandCurlOptionHeaderFunction), Callbacks.header)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionWriteFunction), Callbacks.write)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionReadFunction), Callbacks.read)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionSeekFunction), Callbacks.seek)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionBeginFunction), Callbacks.begin)
        set(ErrandCurlOptionNoSignal, 1)
        // http and https: `CURLPROTO_HTTP | CURLPROTO_HTTPS`.
        set(ErrandCurlOptionProtocols, 3)
        set(ErrandCurlOptionDisallowUserInURL, 1)
        // The signed URL is sent unchanged.
        set(ErrandCurlOptionPathAsIs, 1)
        // The content is decoded by ContentDecoder.
        set(ErrandCurlOptionContentDecoding, 0)
        set(ErrandCurlOptionSuppressConnectHeaders, 1)
        // The idle timeout covers the connection.
        set(ErrandCurlOptionConnectTimeout, Int(Int32.max))
        set(ErrandCurlOptionBufferSize, 16 << 10)
        if list != nil { set(ErrandCurlOptionHTTPHeader, list) }
        configuration.apply(to: self)
        keepTrust()
        // Ending a transfer does not wait for its name lookup; since 7.87.
        set(ErrandCurlOptionQuickExit, 1)
    }

    /// Lets the trusted certificates be read once, in place of libcurl for each connection.
    private func keepTrust() {
        guard errand_curl_tls_apply(easy, tls) != 0 else { return }
        for option in [
            ErrandCurlOptionTrustFile, ErrandCurlOptionProxyTrustFile, ErrandCurlOptionTrust,
            ErrandCurlOptionProxyTrust,
        ] { set(option, nil) }
        for option in [ErrandCurlOptionTrustFolder, ErrandCurlOptionProxyTrustFolder] {
            set(option, ERRAND_CURL_EMPTY_FOLDER)
        }
    }

    /// Sets a URL, parsed: libcurl would parse its text, write it as text and parse that for each transfer.
    private func setURL(_ text: String) {
        guard text != url else { return }
        url = text
        set(ErrandCurlOptionURL, text)
        // A URL that cannot be parsed is an error of the transfer.
        set(ErrandCurlOptionParsedURL, parsedURL.flatMap { errand_curl_url_set($0, text) == 0 ? $0 : nil })
    }

    private func setFields(of request: OutgoingRequest) {
        let content = Content(of: request)
        if list != nil, content == self.content,
            request.headers.elementsEqual(fields, by: { $0.isIdentical(to: $1) })
        {
            return
        }
        errand_curl_list_free(list)
        list = nil
        fields = Array(request.headers)
        self.content = content
        for field in request.fields(userAgent: configuration.userAgent) {
            // A field without a value ends in a semicolon (CURLOPT_HTTPHEADER).
            add(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if !request.headers.contains("Accept") { add("Accept:") }
        // libcurl would state the type of a form.
        if content == .empty, !request.headers.contains("Content-Type") { add("Content-Type:") }
        if content == .some { add("Expect:") }
        set(ErrandCurlOptionHTTPHeader, list)
    }

    private func add(_ line: String) { list = errand_curl_list_append(list, line) ?? list }

    /// Sets the method and how the body is sent.
    private func setMethod(of request: OutgoingRequest, _ exchange: CurlExchange) {
        let method = request.method
        guard !request.hasBody else {
            // Read from the exchange, which libcurl asks before it sends the request again.
            change(ErrandCurlOptionUpload, 1)
            errand_curl_set_size(easy, Int32(ErrandCurlOptionBodySize), request.body.byteCount ?? -1)
            if method != .put { change(ErrandCurlOptionCustomRequest, method.rawValue) }
            return
        }
        switch method {
        case .get: break
        case .head: change(ErrandCurlOptionNoBody, 1)
        case .post, .put, .patch:
            // A length of 0 is stated (RFC 9110, section 8.6).
            change(ErrandCurlOptionPost, 1)
            errand_curl_set_size(easy, Int32(ErrandCurlOptionPostSize), 0)
            set(ErrandCurlOptionCopiedPost, "")
            if method != .post { change(ErrandCurlOptionCustomRequest, method.rawValue) }
        default: change(ErrandCurlOptionCustomRequest, method.rawValue)
        }
    }

    /// Sets the addresses of a host that has its own.
    private func setHost(of url: URL) {
        guard !configuration.addresses.isEmpty, let host = url.host(percentEncoded: false)?.lowercased(),
            let addresses = configuration.addresses.first(where: { $0.key.asciiHost.withoutRoot == host.withoutRoot })?
                .value
        else { return }
        let port = url.port ?? (url.scheme == "https" ? 443 : 80)
        errand_curl_list_free(resolve)
        let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
        resolve = errand_curl_list_append(nil, "\(host):\(port):\(list)")
        isChanged = true
        set(ErrandCurlOptionResolve, resolve)
    }

    private func change(_ option: Int, _ value: Int) {
        isChanged = true
        set(option, value)
    }

    private func change(_ option: Int, _ value: String) {
        isChanged = true
        set(option, value)
    }

    @discardableResult
    func set(_ option: Int, _ value: Int) -> Int32 { errand_curl_set_long(easy, Int32(option), value) }

    /// The library copies the text.
    @discardableResult
    func set(_ option: Int, _ value: String) -> Int32 {
        value.withCString { errand_curl_set_pointer(easy, Int32(option), $0) }
    }

    @discardableResult
    func set(_ option: Int, _ value: UnsafeRawPointer?) -> Int32 {
        errand_curl_set_pointer(easy, Int32(option), value)
    }

    // Sets an option that is required for safety: unless libcurl accepts it, no request is sent.

    func require(_ option: Int, _ value: Int, for property: String) { check(set(option, value), property) }
    func require(_ option: Int, _ value: String, for property: String) { check(set(option, value), property) }

    /// The library copies the bytes.
    func require(_ option: Int, _ value: Data, for property: String) {
        let code = value.withUnsafeBytes { bytes in
            bytes.baseAddress.map { errand_curl_set_bytes(easy, Int32(option), $0, bytes.count) } ?? 0
        }
        check(code, property)
    }

    private func check(_ code: Int32, _ property: String) {
        guard code != 0, refusal == nil else { return }
        refusal = NetworkError(
            .tlsHandshakeFailed(
                "libcurl \(CurlTransport.libraryVersion ?? "") does not accept `\(property)` of the transport's "
                    + "configuration: \(String(cString: errand_curl_error_text(code)))"
            )
        )
    }
}

extension OutgoingRequest {
    /// Whether sending the body takes so long that a response may arrive before its end.
    fileprivate var isLarge: Bool { body.byteCount.map { $0 > 64 << 10 } ?? true }
}

extension String {
    /// Whether both are sent as the same bytes; `==` is also true for two encodings of one letter.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        let result = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { others in
                guard bytes.count == others.count else { return false }
                guard let start = bytes.baseAddress, let other = others.baseAddress else { return true }
                return memcmp(start, other, bytes.count) == 0
            }
        }
        return (result ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// The name of a host in ASCII, as it is sent.
    fileprivate var asciiHost: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return self }
        return URL(string: "http://\(self)/")?.host(percentEncoded: false) ?? self
    }

    /// A host name in lower case, without the dot of the root at its end.
    var withoutRoot: String { (hasSuffix(".") ? String(dropLast()) : self).lowercased() }
}

extension HTTPHeaders.Field {
    fileprivate func isIdentical(to other: HTTPHeaders.Field) -> Bool {
        name.hasSameBytes(as: other.name) && value.hasSameBytes(as: other.value)
    }
}
#endif
