// The C library of this system, with what differs in musl: git.musl-libc.org, include/sys/socket.h, netinet/in.h,
// bits/alltypes.h, and what it does not have.
@_exported import Glibc

typealias pthread_t = OpaquePointer
func pthread_self() -> pthread_t!
let SOCK_STREAM, SOCK_CLOEXEC, IPPROTO_TCP, SHUT_RD, SHUT_WR, SHUT_RDWR, MSG_NOSIGNAL: Int32
