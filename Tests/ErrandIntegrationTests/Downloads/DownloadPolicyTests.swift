import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads together with other settings of a request: conditions, interceptors, caches, duplicates, mirrors.
@Suite(.limit(seconds: 60)) struct DownloadPolicyTests {
    private let host: DownloadServer
    private let get = GeneralRequest("/big.bin")

    init() throws { host = try DownloadServer() }

    /// Applies a closure to each attempt.
    private struct Hook: Interceptor {
        let body: @Sendable (OutgoingRequest, AttemptChain) async throws -> RawResponse

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse { try await body(request, next) }

        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    /// An agent with the same requests as ``agent(_:)``, which continues its downloads.
    private var passing: Agent { agent { try await $1($0) } }

    private func agent(
        _ hook: @escaping @Sendable (OutgoingRequest, AttemptChain) async throws -> RawResponse
    ) -> Agent { host.agent { $0.interceptors = [Hook(body: hook)] } }

    private static let repeating: @Sendable (OutgoingRequest, AttemptChain) async throws -> RawResponse = {
        request,
        next in
        do { return try await next(request) } catch { return try await next(request) }
    }

    // MARK: Acceptance

    @Test func aRequestThatAcceptsOnlyStatus200IsContinued() async throws {
        let request = get.acceptance(Acceptance(statusCodes: 200..<201, contentTypes: ["application/octet-stream"]))
        host.set { $0.headers["Content-Type"] = "application/octet-stream" }
        await host.cut(get)
        let file = try await host.agent().download(request, to: host.file("a"))
        #expect(file.resumedByteCount == 100_000 && host.data("a") == host.content)
        await host.cut(get)
        try host.content.write(to: host.file("a.part"))
        // The content of a status 416 is no part of the file, whatever its type.
        let confirmed = try await host.agent().download(request, to: host.file("a"))
        #expect(confirmed.resumedByteCount == 300_000)
    }

    @Test func aPartOfATypeThatIsNotAcceptedIsNotAppended() async throws {
        let request = get.acceptance(Acceptance(contentTypes: ["application/octet-stream"]))
        await host.cut(get)
        host.set { $0.headers["Content-Type"] = "text/html" }
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(request, to: host.file("a"))
        }
        #expect(error?.reason == .contentType("text/html"))
        #expect(host.data("a.part") == host.content.prefix(100_000))
    }

    // MARK: Interceptors

    @Test func anInterceptorThatRepeatsAnInterruptedPartDoesNotAppendItTwice() async throws {
        await host.cut(get, by: passing)
        host.set { $0.cuts = [.closed(50_000)] }
        try await agent(Self.repeating).download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func anInterceptorThatRepeatsARefusedRangeStoresNoErrorResponse() async throws {
        await host.cut(get, by: passing)
        host.set {
            ($0.content, $0.validator, $0.habit) = (
                DownloadServer.content(50_000, 5), ["ETag": "\"2\""], .ignoresIfRange
            )
        }
        try await agent(Self.repeating).download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func anInterceptorWithItsOwnErrorsDoesNotHideThatThePartIsOutdated() async throws {
        struct Own: Error {}
        await host.cut(get, by: passing)
        host.set { ($0.content, $0.validator, $0.habit) = (DownloadServer.content(250_000, 5), [:], .ignoresIfRange) }
        let agent = agent { request, next in
            do { return try await next(request) } catch { throw Own() }
        }
        try await agent.download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func anInterceptorMaySendAReceivedRequestAgain() async throws {
        let agent = agent { request, next in
            _ = try await next(request)
            return try await next(request)
        }
        let file = try await agent.download(get, to: host.file("a"))
        #expect(file.byteCount == 300_000 && host.data("a") == host.content && host.names == ["a"])
    }

    @Test func inAFolderTheURLNamesTheResponseOfAnInterceptor() async throws {
        let agent = agent { request, _ in RawResponse(body: Data("canned".utf8), url: request.url) }
        try await agent.download(get, to: host.folder)
        #expect(host.names == ["big.bin"])
    }

    // MARK: Caches and duplicates

    @Test func aDownloadIsNotStoredInACacheWhateverItsPolicy() async throws {
        // Without a declared length, nothing shows that the empty body in memory is not all.
        let fields: HTTPHeaders = ["Cache-Control": "max-age=600", "ETag": "\"1\""]
        host.server.on(.get, "/big.bin", .data(host.content, headers: fields).chunked(10_000))
        let agent = host.agent { $0.cache = ResponseCache(disk: nil) }
        for policy in [CachePolicy.http, .cacheElseNetwork(maxAge: .seconds(600))] {
            let download = get.downloading(to: host.file("a")).cachePolicy(policy)
            for _ in 0..<2 { #expect(try await agent.send(download).byteCount == 300_000) }
            #expect(host.data("a") == host.content)
            let body = try await agent.send(get.expecting(Data.self).cachePolicy(policy))
            #expect(body == host.content)
        }
    }

    @Test func downloadsToTwoFilesAreNotShared() async throws {
        let agent = host.agent()
        host.set { $0.isSlow = true }
        let downloads = ["a", "b"].map { get.downloading(to: host.file($0)).duplicatePolicy(.share) }
        let results = await agent.results(of: downloads)
        #expect(try results.map { try $0.get().url.lastPathComponent } == ["a", "b"])
        #expect(host.names == ["a", "b"])
    }

    @Test func aDownloadThatReplacesAnEqualOneHasItsFile() async throws {
        let agent = host.agent()
        let download = get.downloading(to: host.file("a")).duplicatePolicy(.cancelPrevious)
        for round in 0..<5 {
            host.set { $0.cuts = [.stalled(20_000)] }
            let first = Task { try await agent.send(download) }
            while (host.data("a.part") ?? Data()).count < 10_000, !Task.isCancelled { await Task.yield() }
            let second = try await agent.send(download)
            #expect(second.byteCount == 300_000 && host.data("a") == host.content, "round \(round)")
            await #expect(throws: CancellationError.self) { try await first.value }
        }
    }

    // MARK: Mirrors and redirects

    @Test func aMirrorContinuesWhatItHasSent() async throws {
        let agent = host.agent {
            $0.cdnURL = "http://127.0.0.1:1"
            $0.cdnFallbacks = [BaseURL(host.server.baseURL)]
        }
        await host.cut(get.usingCDN(), by: agent)
        let file = try await agent.download(get.usingCDN(), to: host.file("a"))
        #expect(file.resumedByteCount == 100_000 && host.data("a") == host.content && host.names == ["a"])
    }

    @Test func aRedirectToAnotherQueryIsAnotherContent() async throws {
        let target = Lock("/get?v=1&X-Amz-Date=20261122T100000Z&X-Amz-Signature=one")
        host.server.on(.get, "/latest") { _ in .redirect(to: target.withLock { $0 }) }
        let latest = GeneralRequest("/latest")
        await host.cut(latest)
        // A new signature is of the same content.
        target.withLock { $0 = "/get?v=1&X-Amz-Date=20261122T100500Z&X-Amz-Signature=two" }
        #expect(try await host.agent().download(latest, to: host.file("a")).resumedByteCount == 100_000)
        #expect(host.data("a") == host.content)
        await host.cut(latest)
        target.withLock { $0 = "/get?v=2&X-Amz-Date=20261122T100500Z&X-Amz-Signature=two" }
        host.set { $0.content = DownloadServer.content(300_000, 8) }
        #expect(try await host.agent().download(latest, to: host.file("a")).resumedByteCount == 0)
        #expect(host.data("a") == host.content)
    }

    @Test func aRedirectedPostLeavesNothing() async throws {
        host.server.on(.post, "/new", .redirect(to: "/big.bin", status: 303))
        await host.cut(GeneralRequest("/new").method(.post))
        #expect(host.names.isEmpty)
    }

    // MARK: Variants and lengths

    @Test func aDateIsNotTheValidatorOfOneOfSeveralVariants() async throws {
        host.set {
            $0.validator = ["Last-Modified": "Sun, 22 Nov 2026 10:00:00 GMT"]
            $0.headers["Vary"] = "Accept-Encoding, Accept-Language"
        }
        await host.cut(get.header("Accept-Language", "de"))
        host.set { $0.content = DownloadServer.content(300_000, 8) }
        let file = try await host.agent().download(get.header("Accept-Language", "fr"), to: host.file("a"))
        #expect(file.resumedByteCount == 0 && host.data("a") == host.content)
    }

    @Test func aPartOfUnknownLengthIsNotTakenForTheEnd() async throws {
        let (content, parts) = (host.content, Lock(0))
        host.server.on(.get, "/chunked") { request in
            guard request.headers["Range"] != nil else {
                let whole = MockResponse.data(content, headers: ["ETag": "\"c\""]).chunked(10_000)
                return parts.withLock { $0 } == 0 ? whole.faulted(.closeInBody(after: 100_000)) : whole
            }
            parts.withLock { $0 += 1 }
            let first = Int(request.headers["Range"]?.dropFirst(6).dropLast() ?? "") ?? 0
            let range = "bytes \(first)-\(first + 999)/*"
            return .data(
                content[first..<first + 1_000],
                status: 206,
                headers: ["ETag": "\"c\"", "Content-Range": range]
            )
        }
        let request = GeneralRequest("/chunked")
        await #expect(throws: NetworkError.self) { try await host.agent().download(request, to: host.file("a")) }
        #expect(host.names == ["a.part", "a.part.json"])
        try await host.agent().download(request, to: host.file("a"))
        #expect(host.data("a") == content && parts.withLock { $0 } == 1)
    }

    @Test func aLengthThatIsTooLargeIsAnError() async throws {
        host.server.on(.get, "/huge", .data(host.content).faulted(.hugeContentLength))
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(GeneralRequest("/huge"), to: host.file("a"))
        }
        #expect(error?.reason == .invalidContentLength)
        #expect(host.names.isEmpty)
    }

    @Test func aPartOfAContentOfAnotherLengthThanExpectedIsRemoved() async throws {
        await host.cut(get)
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: DownloadOptions(byteCount: 299_999))
        }
        #expect(error?.reason == .unexpectedLength(299_999, "the server declares 300000") && host.names.isEmpty)
    }

    // MARK: Callers

    /// Not `Sendable`.
    private final class Screen: Request {
        typealias Model = Data
        var path = "/big.bin"
    }

    @Test @MainActor func aRequestOfTheMainActorIsDownloadedAndPaused() async throws {
        let file = try await host.agent().download(Screen(), to: host.file("a"))
        #expect(file.byteCount == 300_000)
        host.set { $0.cuts = [.stalled(60_000)] }
        let handle = host.agent().startDownload(Screen(), to: host.file("b"))
        while (host.data("b.part") ?? Data()).count < 50_000, !Task.isCancelled { await Task.yield() }
        handle.pause()
        handle.resume()
        #expect(try await handle.value.byteCount == 300_000)
        #expect(host.data("b") == host.content)
    }

    @Test func aDeadlineFreesTheFileAtOnce() async throws {
        for _ in 0..<2 {
            host.set { $0.cuts = [.stalled(20_000)] }
            let error = await #expect(throws: NetworkError.self) {
                let limits = Limits(deadline: .seconds(5))
                return try await host.agent().download(get.limits(limits), to: host.file("a"))
            }
            #expect(error?.reason.isDeadline == true, "\(String(describing: error))")
        }
        let file = try await host.agent().download(get, to: host.file("a"))
        #expect(file.resumedByteCount == 40_000 && host.data("a") == host.content)
    }

    @Test func aTargetMayBeRelativeOrHaveAnyName() async throws {
        let names = ["with space", "ünï-\u{1F4C4}", "100%25", "a#b?c", "-rf"]
        for name in names {
            let target = URL(filePath: name, relativeTo: URL(filePath: host.folder.path, directoryHint: .isDirectory))
            try await host.agent().download(get, to: target)
            #expect(host.data(name) == host.content, "\(name)")
        }
        #expect(host.names == names.sorted())
    }

    // MARK: Responses that are not the content

    @Test(arguments: [202, 204, 205])
    func aResponseWithoutContentReplacesNoFile(status: Int) async throws {
        try Data("kept".utf8).write(to: host.file("a"))
        host.server.on(.get, "/big.bin", .status(status))
        for request in [get, get.header("Range", "bytes=0-9")] {
            let error = await #expect(throws: NetworkError.self) {
                try await host.agent().download(request, to: host.file("a"))
            }
            #expect(error?.reason == .status(status))
        }
        #expect(host.data("a") == Data("kept".utf8))
    }

    @Test func bytesBeyondTheDeclaredPartAreNotAppended() async throws {
        await host.cut(get)
        let (all, length) = (host.content, host.content.count)
        host.server.on(.get, "/big.bin") { _ in
            let fields: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes 100000-149999/\(length)"]
            return .data(Data(all[100_000..<150_000]) + Data(count: length - 150_000), status: 206, headers: fields)
        }
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"))
        }
        #expect(error?.kind == .invalidResponse && host.data("a") == nil)
    }

    /// Its name has no room for a suffix.
    @Test func aResponseOfAnInterceptorIsStoredUnderALongName() async throws {
        let agent = agent { request, _ in RawResponse(body: Data("canned".utf8), url: request.url) }
        let name = String(repeating: "a", count: 252)
        try await agent.download(get, to: host.file(name))
        #expect(host.names == [name] && host.data(name) == Data("canned".utf8))
    }
}

extension NetworkError.Reason {
    fileprivate var isDeadline: Bool { if case .deadlineExceeded = self { true } else { false } }
}
