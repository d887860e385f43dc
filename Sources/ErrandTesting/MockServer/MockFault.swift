/// A fault in the response of a ``MockServer``.
///
/// The status, the header fields, the body, the delay and the pieces of the response are used as far as the fault
/// allows. A fault that truncates the body omits at least its last byte, so the body must not be empty. By default, the
/// connection is closed after the fault.
///
/// Two faults crash a client that uses URLSession on Linux with a Swift toolchain before 6.4; see
/// ``killsURLSessionBefore64``.
@nonexhaustive
public enum MockFault: Sendable, Hashable {
    // MARK: Cuts

    /// The connection is reset (RST) without a response.
    case resetBeforeHead
    /// The connection is closed (FIN) without a response.
    case closeBeforeHead
    /// The connection is closed after this many bytes of the status line and header section, at most all but the last.
    ///
    /// Crashes a URLSession client on Linux toolchains before 6.4, unless `Content-Length` has been sent by then.
    case closeInHead(after: Int)
    /// The connection is reset after this many bytes of the body, at most all but the last.
    case resetInBody(after: Int)
    /// The connection is closed after this many bytes of the body, at most all but the last.
    case closeInBody(after: Int)
    /// The response is correct, and the connection is closed after it although it appears reusable.
    case closeAfterResponse

    // MARK: Lengths and chunks

    /// `Content-Length` is this many bytes more, or less if negative, than the body has.
    ///
    /// The connection is closed after a body that is too short; after one that is too long it stays open, with the
    /// surplus in place of the next response.
    case wrongLength(Int)
    /// `Content-Length: -5`, then the body.
    case negativeContentLength
    /// `Content-Length: many`, then the body.
    case wordContentLength
    /// `Content-Length: 0x10`, then the body.
    case hexadecimalContentLength
    /// A `Content-Length` beyond `Int64`, then the body.
    case hugeContentLength
    /// Two `Content-Length` lines that differ, then the body.
    case duplicateContentLength
    /// Both `Content-Length` and `Transfer-Encoding: chunked`, as in a request smuggling attack; the body is chunked.
    case lengthAndChunks
    /// A chunked body with an invalid chunk size in place of the last chunk.
    case badChunk
    /// A chunked body without the last chunk.
    case unterminatedChunks
    /// A chunked body with a trailer field, which is valid; the connection stays open.
    ///
    /// Crashes a URLSession client on Linux toolchains before 6.4.
    case trailers
    /// A status 204 with `Content-Length` and a body; the connection stays open.
    case bodyOn204

    // MARK: Status lines

    /// The first line is not a status line.
    case garbageStatusLine
    /// The body without a header section, as in HTTP/0.9.
    case http09
    /// The first line is `HTTP/2 200 OK`.
    case http2StatusLine
    /// The status is 099.
    case statusBelow100
    /// The first line is `HTTP/1.1 200` without a reason; the connection stays open.
    case noReason

    // MARK: Header lines

    /// A header line without a colon; the connection stays open.
    case badHeaderLine
    /// A header line that begins with its colon; the connection stays open.
    case emptyHeaderName
    /// A header value in Latin-1, which is not UTF-8; the connection stays open.
    case latin1Header
    /// A header value with a NUL; the connection stays open.
    case nulInHeader
    /// A header value that continues in a second line (obsolete line folding); the connection stays open.
    case foldedHeader
    /// The status line and the header lines end with LF alone; the connection stays open.
    case bareLF
    /// One header line of this many bytes; the connection stays open.
    case hugeHeaderLine(Int)
    /// This many additional header lines; the connection stays open.
    case manyHeaders(Int)
    /// Header lines until the client closes or the server stops.
    case endlessHeaders

    // MARK: Bodies

    /// The response's body, repeated until the client closes or the server stops; chunked if the response is.
    case endlessBody
    /// A gzip body of zero bytes that decodes to this many bytes and is about 1,032 times smaller when sent.
    ///
    /// It is valid and has a `Content-Length`; the connection stays open.
    case gzipBomb(decodedByteCount: Int)
    /// The first half of a gzip body as if it were complete; the connection stays open.
    case truncatedGzip
    /// A gzip header followed by invalid data; the connection stays open.
    case badGzip
    /// `Content-Encoding: x-unknown`; the connection stays open.
    case unknownContentEncoding

    // MARK: Time

    /// No response until the client closes or the server stops.
    case hang
    /// The header section and this many bytes of the body, at most all but the last, then nothing until the client closes or
    /// the server stops.
    case hangInBody(after: Int)
    /// The status line and header section in pieces of this many bytes with a pause between them; the connection stays
    /// open.
    case slowHead(byteCount: Int, every: Duration)

    // MARK: Interim responses

    /// `103 Early Hints` before the response, which is valid; the connection stays open.
    case earlyHints
    /// An unsolicited `100 Continue` before the response, which is valid; the connection stays open.
    case continueThenFinal
    /// An unsolicited `101 Switching Protocols`, after which the connection is closed.
    case switchingProtocols
}
