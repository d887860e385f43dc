internal import Foundation

/// The content codings of responses (RFC 9110, section 8.4).
package enum ContentCoding {
    /// The names that a content can be encoded with, by the HTTP Content Coding Registry of IANA, without `identity`.
    ///
    /// Servers also state what is no coding, such as `utf-8`, `none` or `aws-chunked`. Such a content is not encoded.
    package static let registered: Set<String> = [
        "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip", "x-compress", "x-gzip",
        "zstd",
    ]
}

extension HTTPHeaders {
    /// Whether the content is not encoded, so that a range or a length counts its bytes.
    var hasIdentityCoding: Bool {
        guard contains("Content-Encoding") else { return true }
        return values(for: "Content-Encoding").flatMap { $0.lowercased().split(separator: ",") }
            .allSatisfy { !ContentCoding.registered.contains($0.trimmingCharacters(in: .whitespaces)) }
    }
}

extension NetworkError {
    /// Creates the error of a content that cannot be decoded.
    ///
    /// - Parameters:
    ///   - coding: The name of the coding, or the value of the field.
    ///   - isSupported: Whether the transport can decode the coding, so that the data is at fault.
    /// - Returns: ``Reason/invalidContentCoding`` with what happened.
    package static func undecodable(_ coding: String, isSupported: Bool) -> NetworkError {
        let coding = coding.shortened(to: 100)
        return NetworkError(.invalidContentCoding).with(
            note: isSupported
                ? ": its data with the coding '\(coding)' is damaged or ends early"
                : ": the coding '\(coding)' is not supported; send an Accept-Encoding without it"
        )
    }
}
