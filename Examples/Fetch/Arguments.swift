import Errand
import Foundation
import ToolSupport

/// The options of the command line.
struct Arguments {
    var addresses: [Address] = []
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

        A user name and password in a URL, as in http://ada:secret@host/, are sent as Basic credentials to that origin
        only, unless there is a header field Authorization. They are not printed.

        While a file is incomplete, its bytes are in FILE.part, and its metadata in FILE.part.json. In a folder,
        where the response may give another name, they are in NAME-DIGEST.part, with the name in the URL and some digits
        that depend on the request, such as film.mp4-4893c685.part. The same command continues the file, if the server
        still has the same content. A file that is complete is downloaded again. In a folder, no file is replaced: a new
        one of the same name gets a number, such as FILE.1. With --output, the file is replaced, unless it is a device or
        a pipe. All files that are written can be read by their owner alone (mode 0600).

        The exit status is 0 if all files are complete, 1 if any is not or the output cannot be written, 2 if the command
        line is wrong, and 130 after an interruption.
        """

    init(_ commandLine: some Sequence<String>) throws {
        var words = Words(commandLine)
        var folder: String?
        while let word = try words.next() {
            switch word {
            case .operand(let url): addresses.append(try Address(url))
            case .option(let option):
                switch option {
                case "-o", "--output": output = try words.value()
                case "-d", "--directory": folder = try words.value()
                case "-n", "--at-once": atOnce = try words.number(in: 1...64)
                case "--retries": retries = try words.number(in: 0...1_000)
                case "--timeout": timeout = try words.number(in: 1...86_400)
                case "--sha256":
                    let text = try words.value()
                    guard text.utf8.count == 64, text.allSatisfy(\.isHexDigit) else {
                        throw Words.Wrong("\(option) needs 64 hexadecimal digits, not '\(text)'")
                    }
                    sha256 = text
                case "-q", "--quiet": isQuiet = true
                case "-h", "--help": wantsHelp = true
                case "-H", "--header":
                    let (name, value) = try words.header()
                    headers.add(name, value)
                default: throw words.unknown(option)
                }
            }
        }
        if wantsHelp { return }
        self.folder = folder ?? "."
        try check(folder: folder)
    }

    /// Checks what does not depend on one word alone.
    private func check(folder: String?) throws {
        guard !addresses.isEmpty else { throw Words.Wrong("no URL; see --help") }
        guard addresses.count == 1 || output == nil && sha256 == nil else {
            throw Words.Wrong("--output and --sha256 are for one URL; there are \(addresses.count)")
        }
        if let output {
            guard folder == nil else {
                throw Words.Wrong("--output names the file, and --directory lets the response name it; use one of them")
            }
            guard output != "-" else {
                throw Words.Wrong(
                    "--output needs a file, because a download that is interrupted is continued there; "
                        + "the standard output is not supported, and a file of this name is ./-"
                )
            }
            guard !output.hasSuffix("/") else {
                throw Words.Wrong("--output needs a file, and '\(output)' is a folder; use --directory for a folder")
            }
        }
        var known: Set<Substring> = []
        for address in addresses where !known.insert(address.text.prefix { $0 != "#" }).inserted {
            throw Words.Wrong("\(address.shown) is given twice; give each URL once")
        }
    }
}
