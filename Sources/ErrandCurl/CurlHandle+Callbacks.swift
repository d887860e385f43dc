#if os(Linux)
internal import CErrandCurl
internal import Foundation

extension CurlHandle {
    /// What libcurl calls during a transfer, with the handle as the last argument.
    enum Callbacks {
        private typealias Reception = @convention(c) (UnsafePointer<CChar>, Int, Int, UnsafeRawPointer) -> Int
        private typealias Supply = @convention(c) (UnsafeMutableRawPointer, Int, Int, UnsafeRawPointer) -> Int
        private typealias Begin =
            @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>?, UnsafePointer<CChar>?, Int32, Int32) -> Int32
        private typealias Seek = @convention(c) (UnsafeRawPointer, Int64, Int32) -> Int32

        /// `CURL_READFUNC_ABORT`, `CURL_SEEKFUNC_OK` and `CURL_SEEKFUNC_FAIL`.
        private static let (readAborts, seekSucceeds, seekFails): (Int, Int32, Int32) = (0x1000_0000, 0, 1)

        // Fewer bytes than there were end the transfer.
        static let header = function(
            { bytes, size, count, handle in
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                let handle = Self.handle(handle)
                return handle.exchange?.receive(line: line, at: handle.now) == true ? line.count : 0
            } as Reception
        )

        static let write = function(
            { bytes, size, count, handle in
                let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
                let handle = Self.handle(handle)
                return handle.exchange?.receive(bytes, at: handle.now) == true ? bytes.count : -1
            } as Reception
        )

        static let read = function(
            { buffer, size, count, handle in
                let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                let handle = Self.handle(handle)
                return handle.exchange?.supply(buffer, at: handle.now) ?? readAborts
            } as Supply
        )

        static let seek = function(
            { handle, offset, origin in
                offset == 0 && origin == SEEK_SET && Self.handle(handle).exchange?.rewind() == true
                    ? seekSucceeds : seekFails
            } as Seek
        )

        // `CURL_PREREQFUNC_OK` and `CURL_PREREQFUNC_ABORT`.
        static let begin = function(
            { handle, _, _, _, port in Self.handle(handle).mayBegin(from: port) ? 0 : 1 } as Begin
        )

        private static func function<Function>(_ function: Function) -> errand_curl_function {
            unsafeBitCast(function, to: errand_curl_function.self)
        }

        private static func handle(_ handle: UnsafeRawPointer) -> CurlHandle {
            Unmanaged<CurlHandle>.fromOpaque(handle).takeUnretainedValue()
        }
    }
}
#endif
