import CErrandCurl
import Foundation

extension Client {
    /// What libcurl takes by itself: one handle, whose caller waits on its own thread.
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

/// A handle of libcurl for GET requests to one URL.
///
/// Unchecked: the client above is called by one task.
private final class EasyHandle: @unchecked Sendable {
    static let user = User(id: 0, name: "", email: "", active: false)

    private typealias Perform = @convention(c) (UnsafeMutableRawPointer) -> Int32

    private let easy: UnsafeMutableRawPointer
    private let perform: Perform
    private var byteCount = 0

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
        let receive: @convention(c) (UnsafeRawPointer, Int, Int, UnsafeRawPointer) -> Int = { _, size, count, own in
            Unmanaged<EasyHandle>.fromOpaque(own).takeUnretainedValue().byteCount += size * count
            return size * count
        }
        let function = unsafeBitCast(receive, to: errand_curl_function.self)
        errand_curl_set_function(easy, Int32(ErrandCurlOptionWriteFunction), function)
    }

    deinit { errand_curl_easy_free(easy) }

    /// Returns whether a response with a body has arrived.
    func fetches() -> Bool {
        byteCount = 0
        return perform(easy) == 0 && byteCount > 0
    }
}
