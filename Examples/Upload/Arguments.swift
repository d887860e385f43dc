import Errand
import Foundation
import ToolSupport

/// The options of the command line.
struct Arguments {
    /// A part of the form.
    enum Part {
        case field(name: String, text: String)
        case file(name: String, path: String)
    }

    /// The URL, or `nil` for the help.
    var address: Address?
    var parts: [Part] = []
    /// The file that is the complete body, or `nil` for a form.
    var body: String?
    var method: HTTPMethod?
    var headers = HTTPHeaders()
    var timeout = 60
    var isQuiet = false
    var wantsHelp = false

    static let help = """
        Uploads files, unchanged or as a form, and prints the response.

        usage: Upload [options] URL [NAME=TEXT ...] [NAME=@FILE ...]
               Upload [options] --file FILE URL

          NAME=TEXT               a field of a multipart form
          NAME=@FILE              a file of a multipart form, with the media type of its extension
          -t, --text NAME=TEXT    a field whose text may begin with @; may be repeated
          -f, --file FILE         sends this file as the complete body, without a form
          -X, --method METHOD     the method (POST for a form, PUT for a file)
          -H, --header 'NAME: VALUE'
                                  a header field; may be repeated
              --timeout SECONDS   the time without any progress after which the upload is given up (60)
          -q, --quiet             no progress
          -h, --help              this text

        A user name and password in the URL, as in http://ada:secret@host/, are sent as Basic credentials to that origin
        only, unless there is a header field Authorization. They are not printed.

        Files are read while they are sent. A file that changes meanwhile is an error. The name of a file has to be UTF-8.
        The response is printed on the standard output, also if its status is an error: then up to its first 64 KiB, and
        the error on the standard error. Of a response that is no text, only the size is printed. For a terminal, control
        characters of one that is text are escaped.

        The exit status is 0 if the server accepted the upload, 1 if not, and 2 if the command line is wrong.
        """

    init(_ commandLine: some Sequence<String>) throws {
        var words = Words(commandLine)
        func split(_ text: String) throws -> (name: String, value: Substring) {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw Words.Wrong("'\(text)' is neither NAME=TEXT nor NAME=@FILE")
            }
            return (String(text[..<equals]), text[text.index(after: equals)...])
        }
        var operands: [String] = []
        var texts: [Part] = []
        while let word = try words.next() {
            switch word {
            case .operand(let text): operands.append(text)
            case .option(let option):
                switch option {
                case "-f", "--file": body = try words.value()
                case "-X", "--method": method = try words.method()
                case "-t", "--text":
                    let (name, value) = try split(try words.value())
                    texts.append(.field(name: name, text: String(value)))
                case "-q", "--quiet": isQuiet = true
                case "-h", "--help": wantsHelp = true
                case "--timeout": timeout = try words.number(in: 1...86_400)
                case "-H", "--header":
                    let (name, value) = try words.header()
                    headers.add(name, value)
                default: throw words.unknown(option)
                }
            }
        }
        if wantsHelp { return }
        guard let url = operands.first else { throw Words.Wrong("no URL; see --help") }
        address = try Address(url)
        parts = try operands.dropFirst().map { text in
            let (name, value) = try split(text)
            return value.first == "@"
                ? .file(name: name, path: String(value.dropFirst())) : .field(name: name, text: String(value))
        }
        parts += texts
        try check()
    }

    /// Checks what does not depend on one word alone.
    private func check() throws {
        guard parts.isEmpty != (body == nil) else {
            throw Words.Wrong(body == nil ? "nothing to send; see --help" : "--file sends one file, and no form")
        }
        let files =
            parts.compactMap { if case .file(_, let path) = $0 { path } else { nil } } + [body].compactMap(\.self)
        guard !files.contains("-") else {
            throw Words.Wrong("the standard input cannot be uploaded; write it to a file first (a file named - is ./-)")
        }
        guard body != nil || headers["Content-Type"] == nil else {
            throw Words.Wrong("a form has a Content-Type of its own; omit the header, or send a file with --file")
        }
        if let method, [.get, .head, .trace].contains(method) {
            throw Words.Wrong("a \(method) request has no content; use another method, such as POST or PUT")
        }
    }
}
