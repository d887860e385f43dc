public import Foundation

/// A system call that failed while a ``MockServer`` was started.
public struct MockServerError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The operation that failed, such as `bind to 127.0.0.1:80`.
    public let operation: String
    /// The value of `errno`.
    public let code: Int32

    /// Creates an error with the current value of `errno`.
    init(_ operation: String) {
        code = errno
        self.operation = operation
    }

    /// The operation, the system's text for the error and its number.
    public var description: String { "\(operation): \(String(cString: strerror(code))) (errno \(code))" }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
