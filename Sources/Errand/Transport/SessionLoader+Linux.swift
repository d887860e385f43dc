#if canImport(FoundationNetworking)
internal import Foundation
internal import FoundationNetworking

/// Loads a task with the system's loader, and prevents what that would let libcurl do.
///
/// - If a connection is lost, or a server refuses a stream of HTTP/2, libcurl begins the request again. URLSession cannot return
///   to the start of a body that was given as data, so that the header section would be followed by an empty body, whose
///   response would be the task's. libcurl asks before each beginning, and only the exchange decides.
/// - Before 8.5, libcurl begins a request on a connection with HTTP/1.1 that another one uses, if it has found HTTP/2 on a connection
///   to the same host. Each may then get the response of the other. Such a request begins alone.
/// - URLSession takes trailers for the beginning of another header section, and ends the process if a transfer succeeds without a
///   complete one (NativeProtocol.swift, "Transfer completed, but there's no response"). So lines that come after the header
///   section of a final response are dropped.
///
/// The names of what is private are those of swift-corelibs-foundation 6.3. If one is missing, tasks are loaded as by URLSession
/// alone. Everything runs on the queue of all sessions.
final class SessionLoader: URLProtocol {
    private typealias Begin =
        @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>?, UnsafePointer<CChar>?, Int32, Int32) -> Int32

    private static let system = URLSessionConfiguration.default.protocolClasses?.first as? URLProtocol.Type
    /// The maximum `Content-Length`: URLSession converts it to an integer, without a check, from a less precise number.
    private static let maximumLength = 1 << 62

    private var loader: URLProtocol?
    private var exchange: SessionExchange?
    private var exchanges: OpenExchanges?

    /// Makes a session load its tasks by this class, after the classes of its owner.
    static func load(tasksOf configuration: URLSessionConfiguration) {
        guard let system else { return }
        let classes = configuration.protocolClasses?.filter { $0 != system && $0 != SessionLoader.self }
        configuration.protocolClasses = (classes ?? []) + [SessionLoader.self]
    }

    override static func canInit(with request: URLRequest) -> Bool { system?.canInit(with: request) == true }

    override func startLoading() {
        guard let task, let loader = Self.system?.init(task: task, cachedResponse: nil, client: nil) else { return }
        self.loader = loader
        exchanges = (task.delegate as? SessionDelegate)?.exchanges
        exchange = exchanges?[task]
        if let exchange, let transfer = SessionTransfer(of: loader) {
            exchange.state.withLock { $0.transfer = transfer }
            let begin: Begin = { own, _, _, _, _ in
                // `CURL_PREREQFUNC_OK` and `CURL_PREREQFUNC_ABORT`.
                Unmanaged<SessionLoader>.fromOpaque(own).takeUnretainedValue().mayBegin() ? 0 : 1
            }
            transfer.set(.beginFunction, unsafeBitCast(begin, to: Int.self))
            transfer.set(.beginData, Int(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
            transfer.set(.maximumLength, Self.maximumLength)
            // The version that no server can refuse a stream of.
            if exchange.needsHTTP1 { transfer.set(.httpVersion, SessionTransfer.http1) }
        }
        loader.startLoading()
    }

    override func stopLoading() { loader?.stopLoading() }

    private func mayBegin() -> Bool {
        guard let task, let exchange, let transfer = exchange.state.withLock({ $0.transfer }) else { return false }
        let isShared = transfer.exclusiveSession.map { exchanges?.take($0, for: task) == false } ?? false
        return exchange.mayBegin(isShared: isShared, hasReadBody: task.countOfBytesSent > 0)
    }
}

extension SessionExchange {
    /// Returns whether libcurl may begin to send the request, which it does again if its connection dies or refuses it.
    ///
    /// - Parameters:
    ///   - isShared: Whether another request uses the connection, which can carry only one.
    ///   - hasReadBody: Whether libcurl has read a part of the body. If not, no server has the complete request.
    /// - Returns: Whether it may; otherwise nothing of the request is sent.
    func mayBegin(isShared: Bool, hasReadBody: Bool) -> Bool {
        state.withLock { state in
            let isRepeated = state.hasBegun && (request.mustNotBeginAgain || state.headerSection != nil)
            state.isInterrupted = isShared || isRepeated
            let isIncomplete = !request.body.isEmpty && !hasReadBody && state.headerSection == nil
            state.hasBegun = !state.isInterrupted || state.hasBegun && !isIncomplete
            return !state.isInterrupted && !state.isCancelled
        }
    }

    /// Whether the request must not be sent over HTTP/2.
    var needsHTTP1: Bool {
        let isRestarted = state.withLock { $0.retired != nil }
        return isRestarted || request.mustNotBeginAgain && !SessionTransfer.asksBeforeBeginning
            || SessionTransfer.mixesVersions && !SessionTransfer.seesVersion
    }
}

/// libcurl's handle of a task, found by reflection once, and the functions of the libcurl that Foundation has loaded, by name.
///
/// Unchecked: it is only used, and released, on the queue of all sessions.
struct SessionTransfer: @unchecked Sendable {
    /// The numbers of curl.h, `CURLOPT_…`, which never change.
    enum Option: Int32 {
        case httpVersion = 84
        case beginData = 10313
        case headerFunction = 20079
        case beginFunction = 20312
        case maximumLength = 30117
    }

    // This function takes a variable number of arguments; on Linux an integer or pointer is passed like any other.
    private typealias Set = @convention(c) (UnsafeMutableRawPointer, Int32, Int) -> Int32
    private typealias Count = @convention(c) (UnsafeMutableRawPointer) -> Int
    private typealias Pause = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
    private typealias Get = @convention(c) (UnsafeMutableRawPointer, Int32, UnsafeMutableRawPointer) -> Int32
    private typealias Negotiated =
        @convention(c) (UnsafeRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt32>) ->
        Void
    private typealias Version = @convention(c) (Int32) -> UnsafeRawPointer?
    private typealias Find = @convention(c) (UnsafePointer<CChar>) -> UnsafeRawPointer?
    private typealias Receive = @convention(c) (UnsafeRawPointer?, Int, Int, UnsafeRawPointer?) -> Int

    private static let setFunction = dlsym(nil, "curl_easy_setopt").map { unsafeBitCast($0, to: Set.self) }
    private static let pauseFunction = dlsym(nil, "curl_easy_pause").map { unsafeBitCast($0, to: Pause.self) }

    private static let getFunction = dlsym(nil, "curl_easy_getinfo").map { unsafeBitCast($0, to: Get.self) }
    private static let protocolFunction = dlsym(nil, "SSL_get0_alpn_selected").map {
        unsafeBitCast($0, to: Negotiated.self)
    }

    /// Whether libcurl is older than 8.5, which no longer begins two requests at once on a connection with HTTP/1.1.
    static let mixesVersions: Bool = {
        guard let function = dlsym(nil, "curl_version_info"),
            let info = unsafeBitCast(function, to: Version.self)(0)
        else { return true }
        // `version_num` of `curl_version_info_data`, after a number and a pointer.
        return info.load(fromByteOffset: 2 * MemoryLayout<Int>.size, as: UInt32.self) < 0x080500
    }()

    /// Whether the HTTP version of a connection is known before its first response, which needs OpenSSL.
    static var seesVersion: Bool { getFunction != nil && protocolFunction != nil }

    /// The TLS session of the connection that the transfer has at this moment, if libcurl could begin another request on it
    /// although it is not HTTP/2.
    var exclusiveSession: UnsafeRawPointer? {
        guard Self.mixesVersions, let get = Self.getFunction, let protocolOf = Self.protocolFunction else {
            return nil
        }
        // `CURLINFO_TLS_SSL_PTR`: the number of the library, `CURLSSLBACKEND_OPENSSL`, and its object.
        var session: UnsafeRawPointer?
        guard get(handle, 0x40002D, &session) == 0, let session, session.load(as: Int32.self) == 1,
            let ssl = session.load(fromByteOffset: MemoryLayout<Int>.size, as: UnsafeRawPointer?.self)
        else { return nil }
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        protocolOf(ssl, &name, &count)
        return UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8) ? nil : ssl
    }

    /// Whether libcurl asks before it begins a request, as it does since 7.80.
    static let asksBeforeBeginning: Bool = {
        guard let function = dlsym(nil, "curl_easy_option_by_name") else { return false }
        return unsafeBitCast(function, to: Find.self)("PREREQFUNCTION") != nil
    }()

    /// `CURL_HTTP_VERSION_1_1`.
    static let http1 = 2

    /// The object that the handle is valid with.
    private let owner: AnyObject
    private let handle: UnsafeMutableRawPointer

    /// Where each loader of the system has the owner, and that the handle, in bytes; `nil` until they are found.
    ///
    /// Reflection takes 94,000 instructions, an eighth of a send.
    private static let places = Lock<(owner: Int, handle: Int)?>(nil)

    /// Finds the handle of a loader of the system; `nil` if there is none.
    init?(of loader: URLProtocol) {
        let object = Unmanaged.passUnretained(loader).toOpaque()
        guard let places = Self.places.withLock({ $0 }) else {
            guard let owner = Self.property("easyHandle", of: loader), Mirror(reflecting: owner).displayStyle == .class,
                let handle = Self.property("rawHandle", of: owner) as? UnsafeMutableRawPointer
            else { return nil }
            (self.owner, self.handle) = (owner as AnyObject, handle)
            let owned = Unmanaged.passUnretained(self.owner).toOpaque()
            if let owner = Self.offset(of: owned, in: object), let handle = Self.offset(of: handle, in: owned) {
                Self.places.withLock { $0 = (owner, handle) }
            }
            return
        }
        guard let owned = object.load(fromByteOffset: places.owner, as: UnsafeRawPointer?.self),
            let handle = owned.load(fromByteOffset: places.handle, as: UnsafeMutableRawPointer?.self)
        else { return nil }
        owner = Unmanaged<AnyObject>.fromOpaque(owned).takeUnretainedValue()
        self.handle = handle
    }

    /// Returns where an object has a pointer, or `nil` if it is not in exactly one place.
    private static func offset(of pointer: UnsafeMutableRawPointer, in object: UnsafeMutableRawPointer) -> Int? {
        guard let function = dlsym(nil, "malloc_usable_size") else { return nil }
        let (count, size) = (unsafeBitCast(function, to: Count.self)(object), MemoryLayout<UnsafeRawPointer>.size)
        // After the two words that each object has.
        let offsets = stride(from: 2 * size, through: count - size, by: size)
            .filter { object.load(fromByteOffset: $0, as: UnsafeMutableRawPointer?.self) == pointer }
        return offsets.count == 1 ? offsets[0] : nil
    }

    func set(_ option: Option, _ value: Int) { _ = Self.setFunction?(handle, option.rawValue, value) }

    /// Drops lines that arrive from now on: trailers, if the header section of the final response is complete.
    func dropFurtherLines() {
        let drop: Receive = { _, size, count, _ in size * count }
        set(.headerFunction, unsafeBitCast(drop, to: Int.self))
    }

    /// Pauses, or continues, by the bits of curl.h.
    func pause(_ bits: Int32) {
        // It fails if the transfer has ended, which needs no handling.
        withExtendedLifetime(owner) { _ = Self.pauseFunction?(handle, bits) }
    }

    /// Returns the value of a stored property with this name.
    private static func property(_ name: String, of value: Any) -> Any? {
        var mirror: Mirror? = Mirror(reflecting: value)
        while let current = mirror {
            if let child = current.children.first(where: { $0.label == name }) {
                let content = Mirror(reflecting: child.value)
                return content.displayStyle == .optional ? content.children.first?.value : child.value
            }
            mirror = current.superclassMirror
        }
        return nil
    }
}
#endif
