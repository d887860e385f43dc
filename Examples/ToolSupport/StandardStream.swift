import Foundation

/// The standard streams, which may be closed, full, or a pipe without a reader.
///
/// `FileHandle.write(_:)` ends the process in these cases.
package enum StandardStream {
    /// Opens `/dev/null` in place of the streams that are closed, so that no file or connection gets their numbers, and
    /// ignores the signal of a pipe without a reader.
    package static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes data unchanged.
    ///
    /// - Returns: What failed, or `nil` if all was written.
    @discardableResult
    package static func write(_ data: some Collection<UInt8>, to descriptor: Int32) -> String? {
        var rest = Array(data)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(cString: strerror(errno)) }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    /// Prints a line on the standard output.
    ///
    /// - Returns: What failed, or `nil`.
    package static func print(_ line: String) -> String? { write("\(line)\n".utf8, to: STDOUT_FILENO) }

    /// Prints a line on the standard error; one that cannot be written is lost.
    package static func report(_ line: String) { write("\(line)\n".utf8, to: STDERR_FILENO) }

    /// Returns a text without an effect on a terminal: control characters and characters that change the order of
    /// others are escaped.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - kept: The characters that are not escaped.
    /// - Returns: The text.
    package static func escaped(_ text: String, except kept: String = "") -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case _ where kept.unicodeScalars.contains(scalar): result.append(scalar)
            case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
