import CErrandCurl
import Foundation

extension Client {
    /// The time of libcurl by itself: one handle, whose caller waits on its own thread.
    ///
    /// Without an agent, a transport or a decoder, and for one request after the other only.
    static let easy = Client(name: "libcurl") { server in
        let handle = EasyHandle(server.appending(path: "user"))
        return {
            guard handle?.fetches() == true else { throw URLError(.badServerResponse) }
            return EasyHandle.user
        }
    }
}

extension Client {
    /// libcurl with one handle and `JSONDecoder`, both on the caller's thread, which they block.
    static let easyModel = Client(name: "libcurl-model") { server in
        let handle = EasyHandle(server.appending(path: "user"))
        let decoder = JSONDecoder()
        return {
            guard let body = handle?.body() else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: body)
        }
    }

    /// The same for a caller that suspends: the handle has a thread of its own, and the caller decodes.
    static let easyAsync = Client(name: "libcurl-async") { server in
        let thread = EasyThread(server.appending(path: "user"))
        let decoder = JSONDecoder()
        return {
            guard let body = await thread.body() else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: body)
        }
    }
}

/// A thread that performs one request after the other, until the process ends.
///
/// Unchecked: `waiter` is written before a signal and read after it.
private final class EasyThread: @unchecked Sendable {
    private var waiter: UnsafeContinuation<Data?, Never>?
    private let signal = DispatchSemaphore(value: 0)

    init(_ url: URL) {
        let handle = EasyHandle(url)
        Thread.detachNewThread { [self] in
            while true {
                signal.wait()
                waiter?.resume(returning: handle?.body())
            }
        }
    }

    func body() async -> Data? {
        await withUnsafeContinuation {
            waiter = $0
            signal.signal()
        }
    }
}

/// A handle of libcurl for GET requests to one URL.
///
/// Unchecked: the client above is called by one task.
private final class EasyHandle: @unchecked Sendable {
    static let user = User(id: 0, name: "", email: "", active: false)

    private typealias Perform = @convention(c) (UnsafeMutableRawPointer) -> Int32

    private let easy: UnsafeMutableRawPointer
    private let perform: Perform
    private var received = Data()

    /// Creates a handle; `nil` if there is no libcurl.
    init?(_ url: URL) {
        guard errand_curl_missing() == nil, let easy = errand_curl_easy_create(),
            let library = dlopen("libcurl.so.4", RTLD_NOW), let symbol = dlsym(library, "curl_easy_perform")
        else { return nil }
        self.easy = easy
        perform = unsafeBitCast(symbol, to: Perform.self)
        _ = url.absoluteString.withCString { errand_curl_set_pointer(easy, Int32(ErrandCurlOptionURL), $0) }
        let own = Unmanaged.passUnretained(self).toOpaque()
        errand_curl_set_pointer(easy, Int32(ErrandCurlOptionWriteData), own)
        let receive: @convention(c) (UnsafeRawPointer, Int, Int, UnsafeRawPointer) -> Int = { bytes, size, count, own in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
            Unmanaged<EasyHandle>.fromOpaque(own).takeUnretainedValue().received.append(contentsOf: bytes)
            return size * count
        }
        let function = unsafeBitCast(receive, to: errand_curl_function.self)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionWriteFunction), function)
    }

    deinit { errand_curl_easy_free(easy) }

    /// Returns whether a response with a body has arrived.
    func fetches() -> Bool { body() != nil }

    /// Returns the body of a response, or `nil` if there is none.
    func body() -> Data? {
        received = Data()
        return perform(easy) == 0 && !received.isEmpty ? received : nil
    }
}
