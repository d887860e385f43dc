#if os(Linux)
internal import CErrandCurl
internal import Errand
internal import Foundation

extension CurlHandle {
    /// The metrics of the connection so far.
    var connectionMetrics: ConnectionMetrics {
        let isReused = number(ErrandCurlInfoConnectionCount) == 0
        // Each time is since the start of the transfer.
        let lookup = isReused ? 0 : size(ErrandCurlInfoNameLookupTime)
        let connect = isReused ? 0 : size(ErrandCurlInfoConnectTime)
        let tls = isReused ? 0 : size(ErrandCurlInfoTLSTime)
        return ConnectionMetrics(
            isReused: isReused,
            nameLookup: lookup > 0 ? .microseconds(lookup) : nil,
            connect: connect > 0 ? .microseconds(max(0, connect - lookup)) : nil,
            tls: tls > 0 ? .microseconds(max(0, tls - connect)) : nil,
            protocolName: protocolName,
            remoteAddress: remoteAddress,
            sentByteCount: Int64(number(ErrandCurlInfoRequestSize)) + size(ErrandCurlInfoUploadSize),
            receivedByteCount: Int64(number(ErrandCurlInfoHeaderSize)) + size(ErrandCurlInfoDownloadSize)
        )
    }

    /// Whether a connection carries one exchange at a time.
    var usesHTTP1: Bool { 1...2 ~= number(ErrandCurlInfoHTTPVersion) }

    /// By the `CURL_HTTP_VERSION_…` of the response.
    private var protocolName: String? {
        switch number(ErrandCurlInfoHTTPVersion) {
        case 1: "http/1.0"
        case 2: "http/1.1"
        case 3: exchange?.request.url.scheme == "https" ? "h2" : "h2c"
        case 30: "h3"
        default: nil
        }
    }

    private var remoteAddress: String? {
        let info = Int32(ErrandCurlInfoRemoteAddress)
        guard let text = errand_curl_get_pointer(easy, info)?.assumingMemoryBound(to: CChar.self), text[0] != 0 else {
            return nil
        }
        // The path of a Unix socket.
        if text[0] == UInt8(ascii: "/") { return String(cString: text) }
        let (host, port) = (String(cString: text), number(ErrandCurlInfoRemotePort))
        if lastRemote.host != host || lastRemote.port != port {
            lastRemote = (host, port, host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
        return lastRemote.text
    }

    private func number(_ info: Int) -> Int { errand_curl_get_long(easy, Int32(info)) }

    private func size(_ info: Int) -> Int64 { errand_curl_get_size(easy, Int32(info)) }
}
#endif
