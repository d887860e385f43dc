import Errand
import ErrandCurl
import Foundation
import Testing

/// The transport that the tests of this target use: URLSession, or libcurl with `ERRAND_TRANSPORT=curl` in the environment.
enum TransportUnderTest {
    static let isCurl = ProcessInfo.processInfo.environment["ERRAND_TRANSPORT"] == "curl"

    /// Returns a new transport.
    static func make(maximumConnectionsPerHost count: Int = 8) -> any StoppableTransport {
        #if os(Linux)
        if isCurl {
            let configuration = CurlTransport.Configuration(maximumConnectionsPerHost: count)
            // Such a configuration is valid.
            return (try? CurlTransport(configuration: configuration)) ?? CurlTransport()
        }
        #endif
        return URLSessionTransport(maximumConnectionsPerHost: count)
    }
}

extension Agent {
    /// Creates an agent with the transport under test; it takes precedence over the initializer with defaults.
    convenience init(config: NetworkConfig) { self.init(config: config, transport: TransportUnderTest.make()) }
}

extension Trait where Self == ConditionTrait {
    /// For what concerns URLSession alone.
    static var onURLSession: Self { .disabled(if: TransportUnderTest.isCurl, "a fact of URLSession") }

    /// For what URLSession cannot do.
    static var onCurl: Self { .enabled(if: TransportUnderTest.isCurl, "URLSession cannot do that") }
}
