#if !canImport(Darwin)
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The C library's `iconv`, because Foundation has only a few converters on Linux.
enum SystemCharset {
    /// The maximum number of bytes that one step of a conversion writes.
    private static let stepByteCount = 64 << 10

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
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var input = UnsafeMutablePointer(mutating: bytes.bindMemory(to: CChar.self).baseAddress)
        var rest = input == nil ? 0 : bytes.count
        var step = [CChar](repeating: 0, count: stepByteCount)
        // Called once more without input, for what the converter still holds.
        var isFlushing = rest == 0
        while true {
            let (status, error, written) = step.withUnsafeMutableBufferPointer { step -> (Int, Int32, Int) in
                var output = step.baseAddress
                var room = step.count
                let status =
                    isFlushing
                    ? iconv(converter, nil, nil, &output, &room) : iconv(converter, &input, &rest, &output, &room)
                let error = errno
                return (Int(status), error, step.count - room)
            }
            step.withUnsafeBytes { result.append(contentsOf: $0.prefix(written)) }
            if status == -1 {
                // Only a full buffer is not an error, and a step that writes nothing would never end.
                guard error == E2BIG, written > 0 else { return nil }
            } else if isFlushing {
                return result
            } else {
                isFlushing = true
            }
        }
    }
}
#endif
