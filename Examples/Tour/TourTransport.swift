import Errand
import ErrandCurl
import Foundation

/// What the tour sends over, by the arguments of the command line.
struct TourTransport {
    let make: @Sendable () -> any Transport

    private static let usage = """
        usage: swift run Tour [--transport urlsession|curl]

        Shows every capability over real sockets, and prints whether each one works.

          --transport   what to send over: URLSession, the default, or the libcurl of the system, on Linux
          --help        this
        """

    /// Ends the process after printing the usage if that is what is asked for, or if the arguments are wrong.
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
        default: Self.fail("unknown arguments: \(arguments.joined(separator: " "))\n\n\(Self.usage)")
        }
    }

    private static func fail(_ text: String) -> Never {
        FileHandle.standardError.write(Data("Tour: \(text)\n".utf8))
        exit(2)
    }
}
