internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What URLSession's errors mean.
///
/// On Linux one code stands for a dozen failures that only libcurl's words tell apart.
enum SessionFailure {
    /// Returns what the caller of the transport gets for an error of the system.
    ///
    /// - Parameters:
    ///   - error: What URLSession reported.
    ///   - idleTimeout: The limit of the exchange, for the reason of a timeout.
    ///   - hasHead: Whether a head arrived before the failure.
    /// - Returns: ``NetworkError`` or `CancellationError`.
    static func classify(_ error: any Error, idleTimeout: Duration, hasHead: Bool) -> any Error {
        guard let error = error as? URLError else {
            return NetworkError(.other("the system failed: \(type(of: error))"), underlying: error)
        }
        if error.code == .cancelled { return CancellationError() }
        let reason = reason(of: error.code, idleTimeout: idleTimeout, hasHead: hasHead) ?? reason(of: words(of: error))
        return NetworkError(reason, underlying: error)
    }

    private static func reason(
        of code: URLError.Code,
        idleTimeout: Duration,
        hasHead: Bool
    ) -> NetworkError.Reason? {
        switch code {
        case .timedOut: .idleTimeout(idleTimeout)
        case .cannotConnectToHost: .connectionRefused
        case .cannotFindHost, .dnsLookupFailed: .hostNotFound
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: .noConnection
        case .networkConnectionLost: hasHead ? .closedInBody : .connectionReset
        // "Empty reply from server"
        case .badServerResponse: .closedWithoutResponse
        // A first line that is not one of HTTP is taken for another protocol.
        case .unsupportedURL: .malformedStatusLine
        case .badURL: .unsupportedHost("as given")
        case .secureConnectionFailed: .certificateRefused("the TLS handshake failed")
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
            .certificateRefused("it has no trusted root")
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid: .certificateRefused("it is not valid today")
        case .cannotDecodeContentData, .cannotDecodeRawData: .invalidContentCoding
        case .cannotParseResponse: .malformedStatusLine
        case .zeroByteResource: .closedWithoutResponse
        default: nil
        }
    }

    /// The words of libcurl, newest phrase first where one contains another.
    private static func reason(of words: String) -> NetworkError.Reason {
        for (phrase, reason) in phrases where words.contains(phrase) { return reason }
        // Words of the system may hold the URL, and so a secret; a code cannot.
        return .other("the transfer failed for a reason the system does not name")
    }

    private static let phrases: [(String, NetworkError.Reason)] = [
        ("SSL certificate", .certificateRefused("it has no trusted root, another name, or is out of date")),
        ("SSL", .certificateRefused("the TLS handshake failed")),
        ("transfer closed with", .closedInBody),
        ("Illegal or missing hexadecimal", .malformedChunk),
        ("chunk", .malformedChunk),
        ("Too large response header", .headTooLarge),
        ("Out of memory", .headTooLarge),
        ("Invalid Content-Length", .invalidContentLength),
        ("Nul byte in header", .malformedHeader),
        ("Failed writing header", .malformedHeader),
        ("Header without colon", .malformedHeader),
        ("Unsupported HTTP", .malformedStatusLine),
        ("content encoding", .invalidContentCoding),
        ("content unencoding", .invalidContentCoding),
        ("Error while processing content", .invalidContentCoding),
        ("Connection died", .sendFailed),
        ("Send failure", .sendFailed),
        ("operation aborted by callback", .bodyUnreadable),
        ("Recv failure", .connectionReset),
        ("Empty reply", .closedWithoutResponse),
    ]

    private static func words(of error: URLError) -> String {
        (error.userInfo[NSLocalizedDescriptionKey] as? String) ?? error.localizedDescription
    }
}
