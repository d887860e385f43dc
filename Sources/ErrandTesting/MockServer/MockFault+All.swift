extension MockFault {
    /// All faults, each with numbers that show its effect in well under a second.
    ///
    /// The order and the ``name`` of each stay the same from release to release; new ones are added at the end of a
    /// group.
    public static let all: [MockFault] = [
        .resetBeforeHead, .closeBeforeHead, .closeInHead(after: 17), .resetInBody(after: 5), .closeInBody(after: 5),
        .closeAfterResponse,
        .wrongLength(10), .wrongLength(-3), .negativeContentLength, .wordContentLength, .hexadecimalContentLength,
        .hugeContentLength,
        .duplicateContentLength, .lengthAndChunks, .badChunk, .unterminatedChunks, .trailers, .bodyOn204,
        .garbageStatusLine, .http09, .http2StatusLine, .statusBelow100, .noReason,
        .badHeaderLine, .emptyHeaderName, .latin1Header, .nulInHeader, .foldedHeader, .bareLF,
        .hugeHeaderLine(110_000), .manyHeaders(1_000), .endlessHeaders,
        .endlessBody, .gzipBomb(decodedByteCount: 64 << 20), .truncatedGzip, .badGzip, .unknownContentEncoding,
        .hang, .hangInBody(after: 5), .slowHead(byteCount: 8, every: .milliseconds(5)),
        .earlyHints, .continueThenFinal, .switchingProtocols,
    ]

    /// The name of the case, without its numbers.
    public var name: String {
        switch self {
        case .resetBeforeHead: "resetBeforeHead"
        case .closeBeforeHead: "closeBeforeHead"
        case .closeInHead: "closeInHead"
        case .resetInBody: "resetInBody"
        case .closeInBody: "closeInBody"
        case .closeAfterResponse: "closeAfterResponse"
        case .wrongLength: "wrongLength"
        case .negativeContentLength: "negativeContentLength"
        case .wordContentLength: "wordContentLength"
        case .hexadecimalContentLength: "hexadecimalContentLength"
        case .hugeContentLength: "hugeContentLength"
        case .duplicateContentLength: "duplicateContentLength"
        case .lengthAndChunks: "lengthAndChunks"
        case .badChunk: "badChunk"
        case .unterminatedChunks: "unterminatedChunks"
        case .trailers: "trailers"
        case .bodyOn204: "bodyOn204"
        case .garbageStatusLine: "garbageStatusLine"
        case .http09: "http09"
        case .http2StatusLine: "http2StatusLine"
        case .statusBelow100: "statusBelow100"
        case .noReason: "noReason"
        case .badHeaderLine: "badHeaderLine"
        case .emptyHeaderName: "emptyHeaderName"
        case .latin1Header: "latin1Header"
        case .nulInHeader: "nulInHeader"
        case .foldedHeader: "foldedHeader"
        case .bareLF: "bareLF"
        case .hugeHeaderLine: "hugeHeaderLine"
        case .manyHeaders: "manyHeaders"
        case .endlessHeaders: "endlessHeaders"
        case .endlessBody: "endlessBody"
        case .gzipBomb: "gzipBomb"
        case .truncatedGzip: "truncatedGzip"
        case .badGzip: "badGzip"
        case .unknownContentEncoding: "unknownContentEncoding"
        case .hang: "hang"
        case .hangInBody: "hangInBody"
        case .slowHead: "slowHead"
        case .earlyHints: "earlyHints"
        case .continueThenFinal: "continueThenFinal"
        case .switchingProtocols: "switchingProtocols"
        }
    }

    /// Whether the fault crashes a client that uses URLSession on Linux with a toolchain before 6.4.
    ///
    /// `fatalError` in NativeProtocol.swift (swift-corelibs-foundation, issue 5285). A test of `closeInHead` needs
    /// a child process; `URLSessionTransport` drops trailers, which end other clients of URLSession.
    public var killsURLSessionBefore64: Bool {
        switch self {
        case .closeInHead, .trailers: true
        default: false
        }
    }

    /// Whether the fault lasts until the client closes or the server stops.
    public var isEndless: Bool {
        switch self {
        case .hang, .hangInBody, .endlessHeaders, .endlessBody: true
        default: false
        }
    }
}

extension MockFault: CustomStringConvertible {
    /// The name, followed by the numbers of the fault in parentheses if it has any.
    public var description: String {
        switch self {
        case .closeInHead(let count), .resetInBody(let count), .closeInBody(let count), .wrongLength(let count),
            .hugeHeaderLine(let count), .manyHeaders(let count), .gzipBomb(let count), .hangInBody(let count):
            "\(name)(\(count))"
        case .slowHead(let count, let interval): "\(name)(\(count), \(interval))"
        default: name
        }
    }
}
