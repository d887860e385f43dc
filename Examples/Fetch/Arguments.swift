import Errand
import Foundation

/// What the command line asks for.
struct Arguments {
    var urls: [String] = []
    /// The file, or `nil` if the responses name the files in the folder.
    var output: String?
    var folder = "."
    var sha256: String?
    var headers = HTTPHeaders()
    var atOnce = 3
    var retries = 5
    var timeout = 30
    var isQuiet = false
    var wantsHelp = false

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static let help = """
        Downloads files, and continues what was interrupted.

        usage: Fetch [options] URL ...

          -o, --output FILE       the file to write, for one URL
          -d, --directory FOLDER  the folder in which the responses name the files (the current one); it is created if
                                  it is missing
          -n, --at-once COUNT     how many downloads run at the same time, 1 to 64 (3)
          -H, --header 'NAME: VALUE'
                                  a header field for all requests; may be repeated
              --sha256 DIGEST     the SHA-256 that the file must have, for one URL
              --retries COUNT     how often a download continues after a failure, 0 to 1000 (5)
              --timeout SECONDS   the time without any data after which a connection is given up (30)
          -q, --quiet             no progress
          -h, --help              this text

        While a file is incomplete, its bytes are in FILE.part, and what is known of it in FILE.part.json. The same
        command continues it, if the server still has the same content. A file that is complete is downloaded again. In a
        folder, no file is replaced: a new one of the same name gets a number, such as FILE.1. With --output, the file is
        replaced, unless it is a device or a pipe.

        The exit status is 0 if all files are complete, 1 if any is not or the output cannot be written, 2 if the command
        line is wrong, and 130 after an interruption.
        """

    init(_ words: some Sequence<String>) throws {
        var rest = Array(words)[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Wrong(description: "\(option) needs a value; see --help") }
            return value
        }
        func number(of option: String, in range: ClosedRange<Int>) throws -> Int {
            let text = try value(of: option)
            guard let number = Int(text), range.contains(number) else {
                throw Wrong(
                    description:
                        "\(option) needs a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'"
                )
            }
            return number
        }
        while let word = rest.popFirst() {
            switch word {
            case "-o", "--output": output = try value(of: word)
            case "-d", "--directory": folder = try value(of: word)
            case "-n", "--at-once": atOnce = try number(of: word, in: 1...64)
            case "--retries": retries = try number(of: word, in: 0...1_000)
            case "--timeout": timeout = try number(of: word, in: 1...86_400)
            case "--sha256":
                let text = try value(of: word)
                guard text.utf8.count == 64, text.allSatisfy(\.isHexDigit) else {
                    throw Wrong(description: "\(word) needs 64 hexadecimal digits, not '\(text)'")
                }
                sha256 = text
            case "-q", "--quiet": isQuiet = true
            case "-h", "--help": wantsHelp = true
            case "-H", "--header":
                let text = try value(of: word)
                guard let colon = text.firstIndex(of: ":") else {
                    throw Wrong(description: "\(word) needs 'NAME: VALUE', not '\(text)'")
                }
                let name = text[..<colon].trimmingCharacters(in: .whitespaces)
                headers.add(name, text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
            case "--":
                urls += rest
                rest = []
            case _ where word.hasPrefix("-") && word != "-":
                throw Wrong(description: "there is no option \(word); see --help")
            default: urls.append(word)
            }
        }
        if wantsHelp { return }
        guard !urls.isEmpty else { throw Wrong(description: "no URL; see --help") }
        for url in urls {
            guard let parsed = URL(string: url), ["http", "https"].contains(parsed.scheme?.lowercased()),
                parsed.host()?.isEmpty == false
            else { throw Wrong(description: "'\(url)' is not an http or https URL") }
        }
        guard urls.count == 1 || output == nil && sha256 == nil else {
            throw Wrong(description: "--output and --sha256 are for one URL; there are \(urls.count)")
        }
    }
}
