/// A way in which the answer of a ``MockServer`` goes wrong.
///
/// The status, the fields and the body of the answer are used as far as the fault leaves room for them, and its delay
/// and drip apply. A fault that cuts the body keeps at least its last byte back, so it needs a body that is not empty.
/// Where nothing else is said, the connection is closed after the fault.
///
/// Two faults end the whole process of a client that uses URLSession on Linux with a Swift toolchain before 6.4; see
/// ``killsURLSessionBefore64``.
public enum MockFault: Sendable, Hashable {
    // MARK: Cuts

    /// The connection is reset (RST) and nothing is answered.
    case resetBeforeHead
    /// The connection is closed (FIN) and nothing is answered.
    case closeBeforeHead
    /// The connection is closed after so many bytes of the head, at most all but the last.
    ///
    /// Kills a URLSession process on Linux toolchains before 6.4, unless `Content-Length` has been sent by then.
    case closeInHead(after: Int)
    /// The connection is reset after so many bytes of the body.
    case resetInBody(after: Int)
    /// The connection is closed after so many bytes of the body.
    case closeInBody(after: Int)
    /// The answer is right and the connection is closed after it without having said so: it looks reusable.
    case closeAfterAnswer

    // MARK: Lengths and chunks

    /// `Content-Length` says so many bytes more, or less when negative, than the body has.
    ///
    /// The connection is closed after a body that is too short; after one that is too long it stays open, with the
    /// surplus where the next answer should begin.
    case wrongLength(Int)
    /// `Content-Length: -5`, then the body.
    case negativeContentLength
    /// `Content-Length: many`, then the body.
    case wordContentLength
    /// `Content-Length: 0x10`, then the body.
    case hexadecimalContentLength
    /// A `Content-Length` beyond `Int64`, then the body.
    case hugeContentLength
    /// Two lines `Content-Length` that differ, then the body.
    case duplicateContentLength
    /// Both `Content-Length` and `Transfer-Encoding: chunked`, as in a request smuggling attack; the body is chunked.
    case lengthAndChunks
    /// A chunked body, at whose half a chunk size is no hexadecimal number.
    case badChunk
    /// A chunked body without the last chunk.
    case unterminatedChunks
    /// A chunked body with a trailer field; by the book, and the connection stays open.
    ///
    /// Kills a URLSession process on Linux toolchains before 6.4.
    case trailers
    /// A status 204 with `Content-Length` and body in spite of it; the connection stays open.
    case bodyOn204

    // MARK: Status lines

    /// The first line is no status line at all.
    case garbageStatusLine
    /// The body without any head, as in HTTP/0.9.
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
    /// A header value in Latin-1, which is no UTF-8; the connection stays open.
    case latin1Header
    /// A header value with a NUL; the connection stays open.
    case nulInHeader
    /// A header value that goes on in a second line (obsolete folding); the connection stays open.
    case foldedHeader
    /// All lines of the head end with LF alone; the connection stays open.
    case bareLF
    /// One header line of so many bytes; the connection stays open.
    case hugeHeaderLine(Int)
    /// So many additional header lines; the connection stays open.
    case manyHeaders(Int)
    /// Header lines until the client closes or the server stops.
    case endlessHeaders

    // MARK: Bodies

    /// A body that repeats the answer's until the client closes or the server stops; chunked if the answer is.
    case endlessBody
    /// A gzip body of zero bytes that decodes to so many bytes and is about 1,032 times smaller on the wire.
    ///
    /// By the book, with its `Content-Length`; the connection stays open.
    case gzipBomb(decodedByteCount: Int)
    /// The first half of a gzip body as if it were all; the connection stays open.
    case truncatedGzip
    /// A gzip header followed by what is no compressed data; the connection stays open.
    case badGzip
    /// `Content-Encoding: x-unknown`; the connection stays open.
    case unknownContentEncoding

    // MARK: Time

    /// No answer until the client closes or the server stops.
    case hang
    /// The head and so many bytes of the body, then nothing until the client closes or the server stops.
    case hangInBody(after: Int)
    /// The head in pieces of so many bytes with a pause after each; the connection stays open.
    case slowHead(byteCount: Int, every: Duration)

    // MARK: Interim answers

    /// `103 Early Hints` before the answer; by the book, and the connection stays open.
    case earlyHints
    /// `100 Continue` nobody asked for before the answer; by the book, and the connection stays open.
    case continueThenFinal
    /// `101 Switching Protocols` nobody asked for, then the end.
    case switchingProtocols
}
