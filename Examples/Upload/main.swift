import Errand
import Foundation

// An uploader: a multipart form or a single file, read while it is sent, with a progress bar.

func fail(_ text: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("Upload: \(text)\n".utf8))
    exit(status)
}

/// Sends what the command line asks for, and returns the response's text.
struct UploadFiles: Request, Sendable {
    typealias Model = String

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

let arguments: Arguments
do {
    arguments = try Arguments(CommandLine.arguments.dropFirst())
} catch {
    fail("\(error)", status: 2)
}
if arguments.wantsHelp {
    print(Arguments.help)
    exit(0)
}

let agent = Agent(config: NetworkConfig())
let bar: [any Accessory] = arguments.isQuiet ? [] : [TerminalProgress("upload")]
do {
    let request = bar.reduce(UploadFiles(arguments: arguments).tag("upload")) { $0.accessory($1) }
    let response = try await agent.response(for: request)
    print(response.model)
    if !arguments.isQuiet { FileHandle.standardError.write(Data("accepted with status \(response.statusCode)\n".utf8)) }
} catch {
    fail("\(error)", status: 1)
}
