public import Errand
public import Foundation

extension MockAnswer {
    /// Answers with JSON text and `Content-Type: application/json`; the text is not checked.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockAnswer {
        data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Answers with plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockAnswer {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Answers with an HTML page in UTF-8.
    public static func html(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> MockAnswer {
        data(Data(text.utf8), contentType: "text/html; charset=utf-8", status: status, headers: headers)
    }

    /// Answers with bytes.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of `Content-Type`; `nil` sends none, and `headers` may hold one.
    ///   - status: The status code.
    ///   - headers: Further header fields; one given here replaces the content type.
    /// - Returns: The answer, with the status and the body given.
    public static func data(
        _ body: Data,
        contentType: String? = "application/octet-stream",
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> MockAnswer {
        var fields = HTTPHeaders()
        fields["Content-Type"] = contentType
        return MockAnswer(status: status, headers: fields.merging(headers), body: body)
    }

    /// Answers with a status and no body.
    public static func status(_ code: Int, headers: HTTPHeaders = [:]) -> MockAnswer {
        MockAnswer(status: code, headers: headers)
    }

    /// Answers with a redirect.
    ///
    /// - Parameters:
    ///   - target: The value of `Location`, sent as it is.
    ///   - status: The status code: 301, 302, 303, 307 or 308.
    ///   - body: The text of the body.
    /// - Returns: The answer, with `Location` and a body of plain text.
    public static func redirect(to target: String, status: Int = 302, body: String = "") -> MockAnswer {
        text(body, status: status, headers: ["Location": target])
    }

    /// Waits before the first byte of the answer; ends early when the client or the server closes.
    ///
    /// - Parameter duration: The pause, in whole milliseconds, rounded up.
    /// - Returns: The answer with that delay in place of any other.
    public func delayed(by duration: Duration) -> MockAnswer { with { $0.delay = duration } }

    /// Sends the body in pieces with a pause after each; each is a chunk of its own where the answer is chunked.
    ///
    /// - Parameters:
    ///   - byteCount: The size of a piece; less than 1 counts as 1.
    ///   - interval: The pause, in whole milliseconds, rounded up.
    /// - Returns: The answer with that drip in place of any other.
    public func dripping(_ byteCount: Int, every interval: Duration) -> MockAnswer {
        with { $0.drip = Drip(byteCount: max(1, byteCount), interval: interval) }
    }

    /// Sends the body with `Transfer-Encoding: chunked` and without its length.
    ///
    /// - Parameter size: The size of a chunk in bytes; `nil` puts all that is sent at once into one chunk.
    /// - Returns: The answer with a chunked body.
    public func chunked(_ size: Int? = nil) -> MockAnswer {
        with {
            $0.isChunked = true
            $0.chunkByteCount = size.map { max(1, $0) }
        }
    }

    /// Compresses the body and says so with `Content-Encoding: gzip`.
    ///
    /// The format is right but nothing gets smaller: the blocks are stored ones.
    public func gzipped() -> MockAnswer {
        with {
            $0.body = Gzip.stored($0.body)
            $0.headers["Content-Encoding"] = "gzip"
        }
    }

    /// Says `Connection: close` and closes after the answer.
    public func closingConnection() -> MockAnswer { with { $0.closesConnection = true } }

    /// Lets the answer go wrong in one of the ways of ``MockFault``.
    public func faulted(_ fault: MockFault) -> MockAnswer { with { $0.fault = fault } }

    private func with(_ change: (inout MockAnswer) -> Void) -> MockAnswer {
        var answer = self
        change(&answer)
        return answer
    }
}
