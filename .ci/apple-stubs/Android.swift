// The C library of this system, with what differs in Bionic: android.googlesource.com/platform/bionic, libc/include/pthread.h,
// iconv.h, dirent.h, sys/socket.h, netinet/in.h.
@_exported import Glibc

typealias pthread_t = Int
func pthread_self() -> pthread_t
typealias iconv_t = OpaquePointer
func iconv_open(_: UnsafePointer<CChar>, _: UnsafePointer<CChar>) -> iconv_t
func iconv_close(_: iconv_t) -> Int32
func iconv(_: iconv_t, _: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _: UnsafeMutablePointer<Int>?, _: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _: UnsafeMutablePointer<Int>?) -> Int
let SOCK_STREAM, SOCK_CLOEXEC, IPPROTO_TCP, SHUT_RD, SHUT_WR, SHUT_RDWR, MSG_NOSIGNAL: Int32
