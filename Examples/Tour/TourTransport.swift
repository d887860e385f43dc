import Errand
import ErrandCurl
import Foundation

/// The transport of the tour, by the arguments of the command line.
struct TourTransport {
    let make: @Sendable () -> any Transport

    private static let usage = """
        usage: swift run Tour [--transport urlsession|curl]

        Sends requests over real sockets to a server in the same process, and prints whether each step works: declaring
        and configuring requests, callbacks, duplicates and limits, batches and chains, logs, decoding, errors, retries,
        refresh of credentials, caching, and transfers of files. It shows no event streams, multipart forms, cookies or
        paused downloads.

          --transport   what to send over: URLSession, the default, or the libcurl of the system, on Linux
          --help        this
        """

    /// Prints the usage and ends the process, if that is requested or the arguments are wrong.
    init(_ arguments: [String]) {
        switch arguments {
        case [], ["--transport", "urlsession"], ["--transport=urlsession"]:
            make = { URLSessionTransport() }
        case ["--help"], ["-h"]:
            print(Self.usage)
            exit(0)
        #if os(Linux)
        case ["--transport", "curl"], ["--transport=curl"]:
            if let missing = CurlTransport.unavailability { Self.fail(missing) }
            make = { CurlTransport() }
        #endif
        case _ where arguments.first?.hasPrefix("--transport") == true && arguments.count <= 2:
            Self.fail("--transport needs \(Self.transports)\n\n\(Self.usage)")
        default: Self.fail("unknown arguments: \(arguments.joined(separator: " "))\n\n\(Self.usage)")
        }
    }

    #if os(Linux)
    private static let transports = "urlsession or curl"
    #else
    private static let transports = "urlsession; curl is for Linux"
    #endif

    private static func fail(_ text: String) -> Never {
        FileHandle.standardError.write(Data("Tour: \(text)\n".utf8))
        exit(2)
    }
}
