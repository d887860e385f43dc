import Errand
import ErrandCurl
import ErrandTesting
import Foundation

/// What the arguments of the command line ask for.
struct TourOptions {
    /// Makes a transport of the kind that is asked for.
    private(set) var makeTransport: @Sendable () -> any Transport = { URLSessionTransport() }
    /// The file for the waterfall, or `nil`.
    private(set) var waterfall: URL?
    /// The folder of the cassettes and what is done with them, or `nil` for none.
    private(set) var cassettes: (folder: URL, mode: Cassette.Mode)?

    private static let usage = """
        usage: swift run Tour [--transport urlsession|curl] [--waterfall FILE]
                              [--record FOLDER | --replay FOLDER]

        Sends requests over real sockets to a server in the same process, and prints whether each step works: declaring
        and configuring requests, callbacks, duplicates and limits, batches and chains, logs, decoding, errors, retries,
        refresh of credentials, caching, and transfers of files. It shows no event streams, multipart forms, cookies or
        paused downloads.

          --transport   what to send over: URLSession, the default, or the libcurl of the system, on Linux
          --waterfall   a file, to which a page is written that shows each send on a time axis
          --record      a folder, in which each step is recorded that does not look at the server itself
          --replay      the folder, from which these steps are replayed in any order, without a connection
          --help        this
        """

    /// Prints the usage and ends the process, if that is requested or the arguments are wrong.
    init(_ arguments: [String]) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            func value(_ what: String) -> String {
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    Self.fail("\(argument) needs \(what)\n\n\(Self.usage)")
                }
                return value
            }
            switch parts.first {
            case "--help", "-h":
                print(Self.usage)
                exit(0)
            case "--transport": makeTransport = Self.transport(named: value(Self.transports))
            case "--record": cassettes = (URL(filePath: value("a folder")), .record)
            case "--replay": cassettes = (URL(filePath: value("a folder")), .replay)
            case "--waterfall": waterfall = URL(filePath: value("a file"))
            default: Self.fail("unknown argument: \(argument)\n\n\(Self.usage)")
            }
        }
    }

    private static func transport(named name: String) -> @Sendable () -> any Transport {
        switch name {
        case "urlsession": return { URLSessionTransport() }
        #if os(Linux)
        case "curl":
            if let missing = CurlTransport.unavailability { fail(missing) }
            return { CurlTransport() }
        #endif
        default: fail("--transport needs \(transports)\n\n\(usage)")
        }
    }

    #if os(Linux)
    private static let transports = "urlsession or curl"
    #else
    private static let transports = "urlsession; curl is for Linux"
    #endif

    static func fail(_ text: String) -> Never {
        FileHandle.standardError.write(Data("Tour: \(text)\n".utf8))
        exit(2)
    }
}
