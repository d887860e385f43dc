internal import Dispatch
public import Foundation

/// An interceptor that keeps the cookies of responses and sends them with later requests (RFC 6265).
///
/// ```swift
/// let jar = CookieJar(file: .homeDirectory.appending(path: ".shop/cookies"))
/// config.interceptors.append(jar)
/// jar.removeAll()     // such as when the user signs out
/// ```
///
/// By default there is no jar: cookies are neither kept nor sent. A jar belongs to the agents and services whose
/// interceptors contain it; a service's is used in place of the config's. Cookies are received from every response,
/// including redirects and errors, and are selected again for each URL. A request's own `Cookie` field is sent in place
/// of the jar's cookies.
///
/// A cookie is sent to the host that has set it, or, if it has a `Domain`, to the hosts in that domain. A domain without a dot,
/// such as `com`, and a part of an IP address are rejected. Other public suffixes, such as `co.uk`, are not known: if you send
/// requests to hosts that you don't trust and that share such a suffix, give each a jar of its own. `Secure` cookies are
/// received and sent with `https` only. `__Host-` and `__Secure-` are applied. `SameSite` is not, because your own program
/// makes all requests.
///
/// These limits apply:
///
/// - A jar keeps 50 cookies for each domain and 3000 in all. If there are more, the least recently used ones are removed.
/// - A cookie has at most 4096 bytes, and is kept for at most 400 days.
/// - From one response, 256 cookies are read.
/// - A `Cookie` field has at most 32 KiB: cookies that are not `Secure` are omitted first, then cookies with a `Domain`, then the
///   least recently sent ones.
///
/// Cookies identify the user. A response is stored and shared only for the same jar and the same cookies. It is neither stored
/// nor shared if the cookies have changed, if a redirect led to it, or if the request has a `Cookie` field of its own.
///
/// ``removeAll()`` begins with another identity. A request that had cookies to send, and that still waits, then fails with
/// ``NetworkError/Reason/credentialChanged``. If cookies only change while a request waits, it is sent with the current ones.
public final class CookieJar: ExchangeInterceptor {
    struct State {
        var store = CookieStore()
        /// A unique text that changes if all cookies are removed.
        var name = UUID().uuidString
        /// The number of removals by the program.
        var removals = 0
        var isSaving = false
        /// Whether the last write has failed, or cookies were set since the last one.
        var isUnsaved = false
        var lastFailure: (any Error)?
    }

    let state = Lock(State())
    let now: @Sendable () -> Date
    private let file: CookieFile?
    private let writes = DispatchQueue(label: "errand.cookies", qos: .utility)

    /// Creates a jar in memory.
    ///
    /// - Parameter now: Returns the current time. Replace it in tests only.
    public init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
        file = nil
    }

    /// Creates a jar whose cookies with a date of expiry are kept in a file.
    ///
    /// The file is read at once, and written by a queue of the jar soon after a change; see ``flush()``. It is not
    /// encrypted, and only its owner may read it. Without ``flush()``, a date of expiry in it may be wrong by up to a
    /// minute. If the file is damaged or cannot be read, the jar is empty, ``lastFailure`` is the reason, and the next
    /// change replaces the file. A device or a pipe is never replaced. Only one jar may use a file at a time.
    ///
    /// - Parameters:
    ///   - file: The file. It and its folder are created with the first cookie.
    ///   - now: Returns the current time. Replace it in tests only.
    public init(file: URL, now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
        let file = CookieFile(path: file.path(percentEncoded: false))
        self.file = file
        do {
            let time = now()
            guard let content = try file.read(at: time) else { return }
            state.withLock { state in
                state.name = content.name
                for cookie in content.cookies { _ = state.store.set(cookie, isSecure: true, at: time) }
            }
        } catch {
            state.withLock { $0.lastFailure = error }
        }
    }

    /// The cookies that have not expired, in the order in which they were set.
    public var cookies: [Cookie] {
        let now = now()
        return state.withLock { $0.store.cookies(at: now) }
    }

    /// The last failure to read or write the file, such as ``DamagedFile`` or a full disk, or `nil` if there was none.
    public var lastFailure: (any Error)? { state.withLock { $0.lastFailure } }

    /// Returns the cookies that are sent to a URL, in their order.
    public func cookies(for url: URL) -> [Cookie] {
        guard let origin = CookieOrigin(url) else { return [] }
        let now = now()
        return state.withLock { $0.store.cookies(for: origin, at: now, isUse: false) }
    }

    /// Sets a cookie as a response from a URL would.
    ///
    /// - Parameters:
    ///   - line: The value of a `Set-Cookie` field, such as `"session=1; Path=/; Max-Age=3600"`.
    ///   - url: The URL of the response.
    /// - Returns: Whether the line is a cookie that the URL may set. An expired cookie removes the one that it would
    ///   replace.
    @discardableResult
    public func set(_ line: String, from url: URL) -> Bool {
        let time = now()
        guard let origin = CookieOrigin(url), let cookie = Cookie(line, from: origin, at: time) else { return false }
        set([cookie], from: origin, at: time)
        return true
    }

    /// Removes all cookies; responses that were stored or shared with them are not used again, and responses that are still
    /// being received set no cookies.
    public func removeAll() {
        state.withLock { state in
            state.store = CookieStore()
            state.name = UUID().uuidString
            state.removals += 1
            save(&state)
        }
    }

    /// Removes the cookies for which a closure returns `true`; responses that are still being received set no cookies.
    ///
    /// - Parameter isRemoved: Called with each cookie.
    public func removeAll(where isRemoved: (Cookie) -> Bool) {
        // Neither a response that arrives while the closure is called, nor one to a request that is sent then.
        state.withLock { $0.removals += 1 }
        let removed = Set(cookies.filter(isRemoved))
        state.withLock { state in
            state.removals += 1
            if state.store.removeAll(where: { removed.contains($0) }) { save(&state) }
        }
    }

    /// Waits until the file contains the current cookies, or the attempt to write them has failed; blocks the thread.
    ///
    /// Call it before the process ends, if the last response may have set a cookie. A write that failed before is
    /// repeated; ``lastFailure`` has the reason if it fails again.
    public func flush() {
        state.withLock { if $0.isUnsaved { save(&$0) } }
        waitForWrites()
    }

    /// Waits for the writes that have begun.
    func waitForWrites() { writes.sync {} }

    func set(_ cookies: [Cookie], from origin: CookieOrigin, at time: Date, since removals: Int? = nil) {
        state.withLock { state in
            guard removals == nil || removals == state.removals else { return }
            let changes = cookies.map { state.store.set($0, isSecure: origin.isSecure, at: time) }
            state.isUnsaved = true
            if changes.contains(true) { save(&state) }
        }
    }

    // MARK: The file

    /// Writes the file soon; changes that follow until then are written with it.
    ///
    /// Called under the lock of the change, so that a change that can be seen has its write in the queue.
    private func save(_ state: inout State) {
        guard let file, !state.isSaving else { return }
        state.isSaving = true
        writes.async { [self] in write(to: file) }
    }

    private func write(to file: CookieFile) {
        let time = now()
        let content = state.withLock { state in
            (state.isSaving, state.isUnsaved) = (false, false)
            return CookieFile.Content(
                name: state.name,
                cookies: state.store.cookies(at: time).filter { $0.expires != nil }
            )
        }
        do {
            try file.write(content)
        } catch {
            state.withLock { ($0.lastFailure, $0.isUnsaved) = (error, true) }
        }
    }
}
