#if canImport(Darwin)
internal import CoreFoundation
internal import Foundation

/// The converters of Core Foundation.
enum SystemCharset {
    /// Returns the text of the bytes in the first of these charsets that the system supports.
    static func text(of data: Data, charsets: [String]) throws(Charset.Failure) -> String {
        for charset in charsets {
            let encoding = CFStringConvertIANACharSetNameToEncoding(charset as CFString)
            guard encoding != kCFStringEncodingInvalidId, CFStringIsEncodingAvailable(encoding) else { continue }
            let converted = CFStringConvertEncodingToNSStringEncoding(encoding)
            guard let text = String(data: data, encoding: String.Encoding(rawValue: converted)) else {
                throw .malformed
            }
            return text
        }
        throw .unknown
    }
}
#endif
