#if !canImport(Darwin)
internal import Foundation

/// The C library's `iconv`, because Foundation has only a few converters on Linux.
enum SystemCharset {
    /// Returns the text of the bytes in the first of these charsets that the system supports.
    static func text(of data: Data, charsets: [String]) throws(Charset.Failure) -> String {
        guard let converter = charsets.lazy.compactMap(open).first else { throw .unknown }
        defer { iconv_close(converter) }
        let converted = data.withUnsafeBytes { convert($0, with: converter) }
        guard let converted, let text = String(validating: converted, as: UTF8.self) else { throw .malformed }
        return text
    }

    private static func open(_ charset: String) -> iconv_t? {
        // Without //TRANSLIT or //IGNORE, malformed bytes are an error.
        let converter = iconv_open("UTF-8", charset)
        return converter == iconv_t(bitPattern: -1) ? nil : converter
    }

    /// Returns the bytes as UTF-8, or `nil` if some are malformed or the last character is incomplete.
    private static func convert(_ bytes: UnsafeRawBufferPointer, with converter: iconv_t) -> [UInt8]? {
        var input = UnsafeMutablePointer(mutating: bytes.bindMemory(to: CChar.self).baseAddress)
        var rest = bytes.count
        // A character of four bytes in UTF-8 has at least one in any charset.
        let capacity = 4 * bytes.count + 16
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            var output = buffer.baseAddress
            var room = capacity
            // Called once more without input, for what the converter still holds.
            guard rest == 0 || iconv(converter, &input, &rest, &output, &room) != -1,
                iconv(converter, nil, nil, &output, &room) != -1
            else { return nil }
            return Array(UnsafeRawBufferPointer(buffer).prefix(capacity - room))
        }
    }
}
#endif
