// Foundation of the Apple platforms, as far as the sources use it: developer.apple.com/documentation/foundation, pages of the
// names below. What is the same in the Foundation of this toolchain is taken from it, name by name, so that nothing of the C
// library of this system comes along. A method of a delegate is required here if the transport has it, because an optional one
// with another signature is never called.
@_exported import CoreFoundation
@_exported import Darwin
@_exported import Dispatch
@_exported import FoundationEssentials
@_exported import ObjectiveC

// MARK: Streams

open class Stream {
    public enum Event: Sendable { case openCompleted, hasBytesAvailable, hasSpaceAvailable, errorOccurred, endEncountered }
    unowned(unsafe) open var delegate: (any StreamDelegate)?
    open func open() {}
    open func close() {}
    init()
}
@available(*, unavailable) extension Stream: Sendable {}
open class InputStream: Stream {
    init(data: Data)
}
open class OutputStream: Stream {
    func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int
}
extension Stream {
    // The parameters are of the type `AutoreleasingUnsafeMutablePointer` there, for which `&` is written as well.
    class func getBoundStreams(withBufferSize bufferSize: Int, inputStream: inout InputStream?, outputStream: inout OutputStream?)
}
protocol StreamDelegate: NSObjectProtocol {
    func stream(_ aStream: Stream, handle eventCode: Stream.Event)
}
// developer.apple.com/documentation/corefoundation/cfwritestreamsetdispatchqueue(_:_:); the types are bridged there.
typealias CFWriteStream = OutputStream
func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream!, _ q: DispatchQueue!)

// MARK: Requests and responses

struct URLRequest: Sendable, Hashable {
    init(url: URL)
    var url: URL? { get set }
    var httpMethod: String? { get set }
    var httpBody: Data? { get set }
    var httpBodyStream: InputStream? { get set }
    var allHTTPHeaderFields: [String: String]? { get set }
    var timeoutInterval: TimeInterval { get set }
    var allowsCellularAccess: Bool { get set }
    mutating func setValue(_ value: String?, forHTTPHeaderField field: String)
    @available(*, unavailable, message: "iOS 18.4, macOS 15.4")
    var cookiePartitionIdentifier: String? { get set }
}
open class URLResponse: @unchecked Sendable {
    var expectedContentLength: Int64 { get }
    init()
}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    var statusCode: Int { get }
    var allHeaderFields: [AnyHashable: Any] { get }
    func value(forHTTPHeaderField field: String) -> String?
}
public enum NSURLRequest { public enum CachePolicy: Sendable { case useProtocolCachePolicy, reloadIgnoringLocalCacheData } }
public enum HTTPCookie { public enum AcceptPolicy: Sendable { case always, never, onlyFromMainDocumentDomain } }
open class URLCache: @unchecked Sendable {}
open class HTTPCookieStorage: @unchecked Sendable {}
open class URLCredentialStorage: @unchecked Sendable {}
open class URLCredential: @unchecked Sendable {}
open class URLProtectionSpace: @unchecked Sendable {
    var authenticationMethod: String { get }
}
open class URLAuthenticationChallenge: @unchecked Sendable {
    var protectionSpace: URLProtectionSpace { get }
}
let NSURLAuthenticationMethodServerTrust: String

// MARK: Sessions

open class URLSession: @unchecked Sendable {
    public enum ResponseDisposition: Sendable { case cancel, allow, becomeDownload, becomeStream }
    public enum AuthChallengeDisposition: Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    init(configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue?)
    var configuration: URLSessionConfiguration { get }
    func dataTask(with request: URLRequest) -> URLSessionDataTask
    func finishTasksAndInvalidate()
    func invalidateAndCancel()
    func flush(completionHandler: @escaping @Sendable () -> Void)
}
open class URLSessionConfiguration: @unchecked Sendable {
    class var ephemeral: URLSessionConfiguration { get }
    func copy() -> Any
    var urlCache: URLCache? { get set }
    var requestCachePolicy: NSURLRequest.CachePolicy { get set }
    var httpCookieStorage: HTTPCookieStorage? { get set }
    var httpShouldSetCookies: Bool { get set }
    var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy { get set }
    var urlCredentialStorage: URLCredentialStorage? { get set }
    var httpAdditionalHeaders: [AnyHashable: Any]? { get set }
    var httpMaximumConnectionsPerHost: Int { get set }
    @available(*, unavailable, message: "iOS 18.4, macOS 15.4")
    var usesClassicLoadingMode: Bool { get set }
}
open class URLSessionTask: @unchecked Sendable {
    var taskIdentifier: Int { get }
    var originalRequest: URLRequest? { get }
    var response: URLResponse? { get }
    func cancel()
    func resume()
    func suspend()
}
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
protocol URLSessionDelegate: NSObjectProtocol, Sendable {}
protocol URLSessionTaskDelegate: URLSessionDelegate {
    func urlSession(_ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge, completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
    func urlSession(_ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
    func urlSession(_ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64, totalBytesExpectedToSend: Int64)
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}
protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse, completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

// MARK: The same as here

@_exported import class Foundation.Bundle
@_exported import protocol Foundation.CustomNSError
@_exported import class Foundation.DateFormatter
@_exported import class Foundation.FileHandle
@_exported import class Foundation.NSError
@_exported import class Foundation.NSObject
@_exported import protocol Foundation.NSObjectProtocol
@_exported import class Foundation.OperationQueue
@_exported import struct Foundation.ObjCBool
@_exported import class Foundation.PropertyListSerialization
@_exported import class Foundation.Thread
@_exported import let Foundation.NSLocalizedDescriptionKey
@_exported import struct Foundation.CharacterSet
@_exported import struct Foundation.URLError
@_exported import struct Foundation.URLResourceValues
@_exported import enum Glibc.POSIXErrorCode
