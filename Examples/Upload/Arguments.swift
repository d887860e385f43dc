import Errand
import Foundation

/// What the command line asks for.
struct Arguments {
    /// A part of the form.
    enum Part {
        case field(name: String, text: String)
        case file(name: String, path: String)
    }

    var url = ""
    var parts: [Part] = []
    /// The file that is the whole body, or `nil` for a form.
    var body: String?
    var method: HTTPMethod?
    var headers = HTTPHeaders()
    var timeout = 60
    var isQuiet = false
    var wantsHelp = false

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static let help = """
        Uploads files, as a form or as they are, and prints the response.

        usage: Upload [options] URL [NAME=TEXT ...] [NAME=@FILE ...]
               Upload [options] --file FILE URL

          NAME=TEXT               a field of a multipart form
          NAME=@FILE              a file of a multipart form; its type is that of its extension
          -t, --text NAME=TEXT    a field whose text may begin with @; may be repeated
          -f, --file FILE         sends this file as the whole body, without a form
          -X, --method METHOD     the method (POST for a form, PUT for a file)
          -H, --header 'NAME: VALUE'
                                  a header field; may be repeated
              --timeout SECONDS   the time without any progress after which the upload is given up (60)
          -q, --quiet             no progress
          -h, --help              this text

        Files are read while they are sent. A file that changes meanwhile is an error. The name of a file has to be UTF-8.
        A response that is no text is not printed. For a terminal, control characters of one that is text are escaped.

        The exit status is 0 if the server accepted the upload, 1 if not, and 2 if the command line is wrong.
        """

    init(_ words: some Sequence<String>) throws {
        var rest = Array(words)[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Wrong(description: "\(option) needs a value; see --help") }
            return value
        }
        func split(_ text: String) throws -> (name: String, value: Substring) {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw Wrong(description: "'\(text)' is neither NAME=TEXT nor NAME=@FILE")
            }
            return (String(text[..<equals]), text[text.index(after: equals)...])
        }
        var operands: [String] = []
        var texts: [Part] = []
        while let word = rest.popFirst() {
            switch word {
            case "-f", "--file": body = try value(of: word)
            case "-X", "--method": method = HTTPMethod(rawValue: try value(of: word))
            case "-t", "--text":
                let (name, value) = try split(try value(of: word))
                texts.append(.field(name: name, text: String(value)))
            case "-q", "--quiet": isQuiet = true
            case "-h", "--help": wantsHelp = true
            case "--timeout":
                let text = try value(of: word)
                guard let number = Int(text), (1...86_400).contains(number) else {
                    throw Wrong(description: "\(word) needs a number from 1 to 86400, not '\(text)'")
                }
                timeout = number
            case "-H", "--header":
                let text = try value(of: word)
                guard let colon = text.firstIndex(of: ":") else {
                    throw Wrong(description: "\(word) needs 'NAME: VALUE', not '\(text)'")
                }
                let name = text[..<colon].trimmingCharacters(in: .whitespaces)
                headers.add(name, text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
            case _ where word.hasPrefix("-") && word.count > 1:
                throw Wrong(description: "there is no option \(word); see --help")
            default: operands.append(word)
            }
        }
        if wantsHelp { return }
        guard let first = operands.first else { throw Wrong(description: "no URL; see --help") }
        guard let parsed = URL(string: first), ["http", "https"].contains(parsed.scheme?.lowercased()),
            parsed.host()?.isEmpty == false
        else { throw Wrong(description: "'\(first)' is not an http or https URL") }
        url = first
        parts = try operands.dropFirst().map { text in
            let (name, value) = try split(text)
            return value.first == "@"
                ? .file(name: name, path: String(value.dropFirst())) : .field(name: name, text: String(value))
        }
        parts += texts
        guard parts.isEmpty != (body == nil) else {
            throw Wrong(description: body == nil ? "nothing to send; see --help" : "--file sends one file, and no form")
        }
    }
}
