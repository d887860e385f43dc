internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Maps URLSession's errors to the library's.
///
/// On Linux one code covers a dozen failures that only libcurl's messages distinguish.
enum SessionFailure {
    /// Returns the error of the transport for an error of the system.
    ///
    /// - Parameters:
    ///   - error: The error that URLSession reported.
    ///   - idleTimeout: The limit of the exchange, for the reason of a timeout.
    ///   - hasHeader: Whether a header section arrived before the failure.
    ///   - coding: The `Content-Encoding` in it, or `nil` if there is none.
    /// - Returns: ``NetworkError`` or `CancellationError`.
    static func classify(
        _ error: any Error,
        idleTimeout: Duration,
        hasHeader: Bool,
        coding: String? = nil
    ) -> any Error {
        guard let error = error as? URLError else {
            return NetworkError(.other("the system failed: \(type(of: error))"), underlying: error)
        }
        if error.code == .cancelled { return CancellationError() }
        let words = words(of: error)
        let reason: NetworkError.Reason =
            if isVague(error.code),
                let reason = CurlMessage.reason(
                    in: words,
                    hasHeader: hasHeader,
                    proxiedURL: ProxyVariables.nameProxy ? error.failingURL : nil
                )
            {
                reason
            } else if let reason = Self.reason(of: error.code, idleTimeout: idleTimeout, hasHeader: hasHeader) {
                reason
            } else {
                // The system's messages may contain the URL, and so a secret; a code cannot.
                .other("the transfer failed for a reason the system does not name")
            }
        guard case .invalidContentCoding = reason, let coding else { return NetworkError(reason, underlying: error) }
        let isSupported = !words.contains("Unrecognized content encoding")
        var undecodable = NetworkError.undecodable(coding, isSupported: isSupported)
        undecodable.details.value.underlying = error
        return undecodable
    }

    /// Whether libcurl's message is more specific than the code.
    ///
    /// On Linux, after one address of the host has refused the connection, any later failure is reported as a refused
    /// connection, and a first line that is not HTTP as an unsupported URL.
    private static func isVague(_ code: URLError.Code) -> Bool {
        switch code {
        case .unknown, .cannotConnectToHost, .unsupportedURL: true
        default: false
        }
    }

    private static func reason(
        of code: URLError.Code,
        idleTimeout: Duration,
        hasHeader: Bool
    ) -> NetworkError.Reason? {
        switch code {
        case .timedOut: .idleTimeout(idleTimeout)
        case .cannotConnectToHost: .connectionRefused
        case .cannotFindHost, .dnsLookupFailed: .hostNotFound
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: .noConnection
        case .networkConnectionLost: CurlMessage.reset(hasHeader)
        // "Empty reply from server"
        case .badServerResponse: .closedWithoutResponse
        // A first line that is not HTTP's is taken for another protocol.
        case .unsupportedURL: .malformedStatusLine
        case .badURL: .unsupportedHost
        case .secureConnectionFailed: .tlsHandshakeFailed("the system gives no reason")
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
            .certificateRefused("its issuer is not trusted")
        case .serverCertificateHasBadDate: .certificateRefused("it has expired")
        case .serverCertificateNotYetValid: .certificateRefused("it is not valid yet")
        case .clientCertificateRequired: .tlsHandshakeFailed(CurlMessage.needsClientCertificate)
        case .clientCertificateRejected: .tlsHandshakeFailed("the server rejected the client's certificate")
        case .appTransportSecurityRequiresSecureConnection:
            .invalidURL(
                "App Transport Security does not allow http for this host; use https, or add an exception to Info.plist"
            )
        case .cannotDecodeContentData, .cannotDecodeRawData: .invalidContentCoding
        case .cannotParseResponse: .malformedStatusLine
        case .zeroByteResource: .closedWithoutResponse
        default: nil
        }
    }

    private static func words(of error: URLError) -> String {
        (error.userInfo[NSLocalizedDescriptionKey] as? String) ?? error.localizedDescription
    }
}
