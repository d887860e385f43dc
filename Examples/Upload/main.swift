import Errand
import ErrandTerminal
import Foundation
import ToolSupport

// An uploader: a multipart form or a single file, read while it is sent, with a progress bar.

func fail(_ text: String, status: Int32) -> Never {
    StandardStream.report("Upload: \(text)")
    exit(status)
}

/// Sends the request, and returns the content of the response.
struct UploadFiles: Request, Sendable {
    typealias Model = Data

    let arguments: Arguments
    let address: Address

    var path: String { address.text }
    var method: HTTPMethod { arguments.method ?? (arguments.body == nil ? .post : .put) }
    var headers: HTTPHeaders { arguments.headers }
    var authorization: Authorization { headers["Authorization"] == nil ? address.authorization : .inherited }
    var limits: Limits { Limits(timeout: .seconds(arguments.timeout)) }
    // Another attempt could take effect twice.
    var retryPolicy: RetryPolicy { method.isIdempotent ? .inherited : .never }
    var body: RequestBody {
        get throws {
            if let file = arguments.body { return .file(URL(filePath: file)) }
            return try .multipart { form in
                for part in arguments.parts {
                    switch part {
                    case .field(let name, let text): form.append(text, name: name)
                    case .file(let name, let path): try form.append(file: URL(filePath: path), name: name)
                    }
                }
            }
        }
    }
}

/// Prints the content of a response on the standard output.
///
/// - Parameters:
///   - payload: The content.
///   - isCut: Whether the end is missing, possibly within a character.
func show(_ payload: Payload, isCut: Bool = false) {
    // Content that is not text is not printed.
    let texts = (0...(isCut ? 3 : 0)).lazy.compactMap { count in
        try? Payload(payload.data.dropLast(count), mediaType: payload.mediaType).text()
    }
    var text = texts.first ?? "\(payload.data.count) bytes that are no text"
    if isatty(STDOUT_FILENO) == 1 {
        text = StandardStream.escaped(text.replacing("\r\n", with: "\n"), except: "\n\t")
    }
    if let failure = StandardStream.print(text) {
        StandardStream.report("Upload: the output cannot be written: \(failure)")
    }
}

StandardStream.prepare()
let arguments: Arguments
do {
    arguments = try Arguments(CommandLine.arguments.dropFirst())
} catch {
    fail("\(error)", status: 2)
}
guard !arguments.wantsHelp, let address = arguments.address else {
    if let failure = StandardStream.print(Arguments.help) {
        fail("the output cannot be written: \(failure)", status: 1)
    }
    exit(0)
}

let agent = Agent(config: NetworkConfig())
let bar: [any Accessory] = arguments.isQuiet ? [] : [TerminalProgress("upload")]
do {
    let upload = UploadFiles(arguments: arguments, address: address).tag("upload")
    let response = try await agent.response(for: bar.reduce(upload) { $0.accessory($1) })
    show(response.payload)
    if !arguments.isQuiet { StandardStream.report("accepted with status \(response.statusCode)") }
} catch {
    if let response = (error as? NetworkError)?.response, !response.body.isEmpty {
        let type = response.headers["Content-Type"].flatMap(MediaType.init)
        let isCut = response.body.count == NetworkError.maximumBodyByteCount
        show(Payload(response.body, mediaType: type), isCut: isCut)
    }
    fail(address.message(of: error), status: 1)
}
