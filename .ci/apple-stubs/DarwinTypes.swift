// The types of Darwin's C library that the sources use; see Darwin.swift. They are in a module of their own, because Swift allows
// no type and no function of one name, such as `stat`, in one module.

typealias blksize_t = Int32
typealias dev_t = Int32
typealias fsblkcnt_t = UInt32
typealias fsfilcnt_t = UInt32
typealias gid_t = UInt32
typealias in_addr_t = UInt32
typealias in_port_t = UInt16
typealias ino_t = UInt64
typealias mode_t = UInt16
typealias nfds_t = UInt32
typealias nlink_t = UInt16
typealias off_t = Int64
typealias pid_t = Int32
typealias sa_family_t = UInt8
typealias sigset_t = UInt32
typealias socklen_t = UInt32
typealias time_t = Int
typealias uid_t = UInt32
typealias useconds_t = UInt32

struct timespec { var tv_sec: time_t, tv_nsec: Int }
struct stat { var st_dev: dev_t, st_mode: mode_t, st_nlink: nlink_t, st_ino: ino_t, st_uid: uid_t, st_gid: gid_t, st_rdev: dev_t, st_atimespec: timespec, st_mtimespec: timespec, st_ctimespec: timespec, st_birthtimespec: timespec, st_size: off_t, st_blocks: Int64, st_blksize: blksize_t, st_flags: UInt32 }
struct statvfs { var f_bsize: UInt, f_frsize: UInt, f_blocks: fsblkcnt_t, f_bfree: fsblkcnt_t, f_bavail: fsblkcnt_t }
struct iovec { var iov_base: UnsafeMutableRawPointer?, iov_len: Int }
struct DIR { var __dd_fd: Int32 }
struct dirent { var d_ino: UInt64, d_namlen: UInt16, d_type: UInt8, d_name: (CChar, CChar) }
struct clockid_t { var rawValue: UInt32 }
struct pthread_mutex_t { var __sig: Int }
struct pthread_mutexattr_t { var __sig: Int }
struct sockaddr { var sa_len: UInt8, sa_family: sa_family_t }
struct in_addr { var s_addr: in_addr_t }
struct in6_addr { var __u6_addr: (UInt64, UInt64) }
struct sockaddr_in { var sin_len: UInt8, sin_family: sa_family_t, sin_port: in_port_t, sin_addr: in_addr }
struct linger { var l_onoff: Int32, l_linger: Int32 }
struct pollfd { var fd: Int32, events: Int16, revents: Int16 }
struct winsize { var ws_row: UInt16, ws_col: UInt16, ws_xpixel: UInt16, ws_ypixel: UInt16 }
