#if os(Linux)
internal import CErrandCurl
internal import Foundation

/// What the TLS connections of a transport have in common, shared by its event loops.
final class CurlTLS: Sendable {
    /// Unchecked: the store behind it is used under its own lock, and nothing else of it changes.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Creates the settings of a configuration, or returns `nil` if there is no memory.
    init?(_ configuration: CurlTransport.Configuration) {
        let acceptsAnyEnd: Int32 = configuration.acceptsMissingCloseNotify ? 1 : 0
        let pointer =
            switch configuration.trust {
            case .system:
                errand_curl_tls_create(errand_curl_trust_file(), errand_curl_trust_folder(), nil, 0, acceptsAnyEnd)
            case .file(let path): errand_curl_tls_create(path, nil, nil, 0, acceptsAnyEnd)
            case .pem(let data):
                data.withUnsafeBytes {
                    errand_curl_tls_create(nil, nil, $0.baseAddress, $0.count, acceptsAnyEnd)
                }
            }
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { errand_curl_tls_free(pointer) }
}
#endif
