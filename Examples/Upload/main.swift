import Errand
import Foundation

// An uploader: a multipart form or a single file, read while it is sent, with a progress bar.

func fail(_ text: String, status: Int32) -> Never {
    StandardStream.report("Upload: \(text)")
    exit(status)
}

/// Sends what the command line asks for, and returns the content of the response.
struct UploadFiles: Request, Sendable {
    typealias Model = Data

    let arguments: Arguments

    var path: String { arguments.url }
    var method: HTTPMethod { arguments.method ?? (arguments.body == nil ? .post : .put) }
    var headers: HTTPHeaders { arguments.headers }
    var limits: Limits { Limits(timeout: .seconds(arguments.timeout)) }
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

StandardStream.prepare()
let arguments: Arguments
do {
    arguments = try Arguments(CommandLine.arguments.dropFirst())
} catch {
    fail("\(error)", status: 2)
}
if arguments.wantsHelp {
    if let failure = StandardStream.print(Arguments.help) {
        fail("the output cannot be written: \(failure)", status: 1)
    }
    exit(0)
}

let agent = Agent(config: NetworkConfig())
let bar: [any Accessory] = arguments.isQuiet ? [] : [TerminalProgress("upload")]
do {
    let request = bar.reduce(UploadFiles(arguments: arguments).tag("upload")) { $0.accessory($1) }
    let response = try await agent.response(for: request)
    // What is no text is not printed, whatever the error says.
    var text = (try? response.payload.text()) ?? "\(response.model.count) bytes that are no text"
    if isatty(STDOUT_FILENO) == 1 {
        text = StandardStream.escaped(text.replacing("\r\n", with: "\n"), except: "\n\t")
    }
    if let failure = StandardStream.print(text) {
        StandardStream.report("Upload: the output cannot be written: \(failure)")
    }
    if !arguments.isQuiet { StandardStream.report("accepted with status \(response.statusCode)") }
} catch {
    fail("\(error)", status: 1)
}
