// What the sources use of Darwin, with the types that it has in Swift there. `.ci/apple` says how a line is completed.
//
// The types are those of the headers in github.com/apple-oss-distributions: xnu/bsd/sys (_types, stat.h, fcntl.h, socket.h,
// signal.h, uio.h, poll.h, statvfs.h, ttycom.h, syslimits.h), xnu/bsd/netinet (in.h, tcp.h), Libc/include (unistd.h, dirent.h,
// stdlib.h, string.h, time.h) and libpthread. A pointer without an annotation there may be nil here. What Swift adds to C is in
// github.com/swiftlang/swift, stdlib/public/Platform: `errno`, `open`, `fcntl`, `ioctl`, the `S_IF…` and `TIOC…` constants.
@_exported import DarwinTypes

// xnu/bsd/sys/_types/_timespec.h, stat.h, statvfs.h
func stat(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<stat>!) -> Int32
func lstat(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<stat>!) -> Int32
func fstat(_: Int32, _: UnsafeMutablePointer<stat>!) -> Int32
func fstatat(_: Int32, _: UnsafePointer<CChar>!, _: UnsafeMutablePointer<stat>!, _: Int32) -> Int32
func statvfs(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<statvfs>!) -> Int32
func futimens(_: Int32, _: UnsafePointer<timespec>!) -> Int32
func fchmod(_: Int32, _: mode_t) -> Int32
func mkdir(_: UnsafePointer<CChar>!, _: mode_t) -> Int32
let S_IFMT, S_IFIFO, S_IFCHR, S_IFDIR, S_IFREG, S_IFLNK, S_IFSOCK: mode_t

// xnu/bsd/sys/fcntl.h
func open(_: UnsafePointer<CChar>, _: Int32) -> Int32
func open(_: UnsafePointer<CChar>, _: Int32, _: mode_t) -> Int32
func fcntl(_: Int32, _: Int32) -> Int32
func fcntl(_: Int32, _: Int32, _: Int32) -> Int32
func fcntl(_: Int32, _: Int32, _: UnsafeMutableRawPointer) -> Int32
func flock(_: Int32, _: Int32) -> Int32
let O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK, O_APPEND, O_NOFOLLOW, O_CREAT, O_EXCL, O_CLOEXEC, AT_SYMLINK_NOFOLLOW: Int32
let F_GETFL, F_SETFD, F_SETFL, F_FULLFSYNC, F_SETNOSIGPIPE, FD_CLOEXEC, LOCK_EX, LOCK_NB, LOCK_UN: Int32

// Libc/include/unistd.h, stdio.h, stdlib.h, string.h, dirent.h; xnu/bsd/sys/dirent.h, uio.h, sysctl.h
func access(_: UnsafePointer<CChar>!, _: Int32) -> Int32
func close(_: Int32) -> Int32
func fsync(_: Int32) -> Int32
func ftruncate(_: Int32, _: off_t) -> Int32
func geteuid() -> uid_t
func getpid() -> pid_t
func isatty(_: Int32) -> Int32
func link(_: UnsafePointer<CChar>!, _: UnsafePointer<CChar>!) -> Int32
func pipe(_: UnsafeMutablePointer<Int32>!) -> Int32
func pread(_: Int32, _: UnsafeMutableRawPointer!, _: Int, _: off_t) -> Int
func pwrite(_: Int32, _: UnsafeRawPointer!, _: Int, _: off_t) -> Int
func read(_: Int32, _: UnsafeMutableRawPointer!, _: Int) -> Int
func rename(_: UnsafePointer<CChar>!, _: UnsafePointer<CChar>!) -> Int32
func unlink(_: UnsafePointer<CChar>!) -> Int32
func usleep(_: useconds_t) -> Int32
func write(_: Int32, _: UnsafeRawPointer!, _: Int) -> Int
func writev(_: Int32, _: UnsafePointer<iovec>!, _: Int32) -> Int
func opendir(_: UnsafePointer<CChar>!) -> UnsafeMutablePointer<DIR>!
func readdir(_: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>!
func closedir(_: UnsafeMutablePointer<DIR>!) -> Int32
func dirfd(_: UnsafeMutablePointer<DIR>!) -> Int32
func atexit(_: (@convention(c) () -> Void)!) -> Int32
func free(_: UnsafeMutableRawPointer!)
func getenv(_: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>!
func malloc(_: Int) -> UnsafeMutableRawPointer!
func mkstemp(_: UnsafeMutablePointer<CChar>!) -> Int32
func memchr(_: UnsafeRawPointer!, _: Int32, _: Int) -> UnsafeMutableRawPointer!
func memcmp(_: UnsafeRawPointer!, _: UnsafeRawPointer!, _: Int) -> Int32
func strerror(_: Int32) -> UnsafeMutablePointer<CChar>!
func strlen(_: UnsafePointer<CChar>!) -> Int
func cbrt(_: Double) -> Double
func sin(_: Double) -> Double
func sysctlbyname(_: UnsafePointer<CChar>!, _: UnsafeMutableRawPointer!, _: UnsafeMutablePointer<Int>!, _: UnsafeMutableRawPointer!, _: Int) -> Int32
var errno: Int32 { get set }
let F_OK, PIPE_BUF, STDERR_FILENO: Int32
let EPERM, ENOENT, EINTR, EAGAIN, EWOULDBLOCK, EEXIST, ENOTDIR, EISDIR, EMFILE, ENFILE, ELOOP, ENOTEMPTY, ENOSPC: Int32

// Libc/include/time.h (an enumeration there), xnu/bsd/sys/signal.h, libpthread/include/pthread/pthread.h
func clock_gettime(_: clockid_t, _: UnsafeMutablePointer<timespec>!) -> Int32
let CLOCK_REALTIME: clockid_t
func sigemptyset(_: UnsafeMutablePointer<sigset_t>!) -> Int32
func sigaddset(_: UnsafeMutablePointer<sigset_t>!, _: Int32) -> Int32
func pthread_sigmask(_: Int32, _: UnsafePointer<sigset_t>!, _: UnsafeMutablePointer<sigset_t>!) -> Int32
let SIGPIPE, SIG_BLOCK: Int32
func pthread_mutex_init(_: UnsafeMutablePointer<pthread_mutex_t>, _: UnsafePointer<pthread_mutexattr_t>?) -> Int32
func pthread_mutex_lock(_: UnsafeMutablePointer<pthread_mutex_t>) -> Int32
func pthread_mutex_trylock(_: UnsafeMutablePointer<pthread_mutex_t>) -> Int32
func pthread_mutex_unlock(_: UnsafeMutablePointer<pthread_mutex_t>) -> Int32
func pthread_mutex_destroy(_: UnsafeMutablePointer<pthread_mutex_t>) -> Int32

// xnu/bsd/sys/socket.h, poll.h, ttycom.h; xnu/bsd/netinet/in.h, tcp.h; Libc/include/arpa/inet.h
func accept(_: Int32, _: UnsafeMutablePointer<sockaddr>!, _: UnsafeMutablePointer<socklen_t>!) -> Int32
func bind(_: Int32, _: UnsafePointer<sockaddr>!, _: socklen_t) -> Int32
func getsockname(_: Int32, _: UnsafeMutablePointer<sockaddr>!, _: UnsafeMutablePointer<socklen_t>!) -> Int32
func getsockopt(_: Int32, _: Int32, _: Int32, _: UnsafeMutableRawPointer!, _: UnsafeMutablePointer<socklen_t>!) -> Int32
func setsockopt(_: Int32, _: Int32, _: Int32, _: UnsafeRawPointer!, _: socklen_t) -> Int32
func listen(_: Int32, _: Int32) -> Int32
func recv(_: Int32, _: UnsafeMutableRawPointer!, _: Int, _: Int32) -> Int
func send(_: Int32, _: UnsafeRawPointer!, _: Int, _: Int32) -> Int
func shutdown(_: Int32, _: Int32) -> Int32
func socket(_: Int32, _: Int32, _: Int32) -> Int32
func poll(_: UnsafeMutablePointer<pollfd>!, _: nfds_t, _: Int32) -> Int32
func ioctl(_: Int32, _: UInt, _: Int32) -> Int32
func ioctl(_: Int32, _: UInt, _: UnsafeMutableRawPointer) -> Int32
func inet_aton(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<in_addr>!) -> Int32
func inet_pton(_: Int32, _: UnsafePointer<CChar>!, _: UnsafeMutableRawPointer!) -> Int32
let AF_INET, AF_INET6, SOCK_STREAM, IPPROTO_TCP, TCP_NODELAY, SOL_SOCKET, SOMAXCONN, SHUT_WR, SHUT_RDWR: Int32
let SO_REUSEADDR, SO_LINGER, SO_NOSIGPIPE, SO_NWRITE, MSG_PEEK, MSG_DONTWAIT: Int32
let POLLIN, POLLOUT, POLLERR, POLLHUP, POLLNVAL: Int32
let TIOCGWINSZ: UInt
