internal import Foundation

extension POSIXError {
    /// The error of the system call that has just failed on this thread.
    static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
