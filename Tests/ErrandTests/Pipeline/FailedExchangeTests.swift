import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// After a redirect, an error names the method and the URL of the exchange that failed.
@Suite(.limit(seconds: 60))
struct FailedExchangeTests {
    /// How the GET fails that follows the POST.
    enum Failure: CaseIterable {
        case status, contentType, notJSON, shape, model, tooLarge, reset, envelope, serviceError

        func response() throws -> TransportResponse {
            switch self {
            case .status: .json("1", status: 500)
            case .contentType: .html("1")
            case .notJSON: .json("{")
            case .shape, .model: .json(#""text""#)
            case .tooLarge: .json(String(repeating: " ", count: 2_000) + "1")
            case .reset: throw NetworkError(.connectionReset)
            case .envelope: .json("{}")
            case .serviceError: .json(#"{"code": 7, "msg": "no"}"#)
            }
        }
    }

    private let post = GeneralRequest("/order").method(.post).expecting(Int.self)

    private func rig(
        status: Int = 303,
        config change: (inout NetworkConfig) -> Void = { _ in },
        _ response: @escaping @Sendable () throws -> TransportResponse
    ) -> Rig {
        Rig(config: .test(change)) { request in
            guard request.url.path() == "/order" else { return try response() }
            return .status(status, headers: ["Location": "https://other.example/done"])
        }
    }

    @Test(arguments: Failure.allCases)
    func errorNamesTheLastExchange(kind: Failure) async throws {
        let rig = rig { config in
            if kind == .envelope || kind == .serviceError {
                config.filter = EnvelopeFilter(code: "code", message: "msg", data: "data")
            }
        } _: {
            try kind.response()
        }
        var request = post.limits(Limits(maximumBodySize: 1_000))
        if kind == .contentType { request = request.acceptance(Acceptance(contentTypes: ["application/json"])) }
        if kind == .shape { request = request.acceptance(Acceptance(shape: .integer)) }
        let error = try #require(await failure { try await rig.agent.send(request) })
        #expect("\(error)".hasPrefix("GET other.example: "), "\(error)")
        guard let error = error as? NetworkError else { return }
        #expect(error.method == .get && error.host == "other.example" && error.path == nil)
    }

    @Test func errorOfAnInterceptorNamesTheExchangeOfItsResponse() async throws {
        let rejecting = ClosureInterceptor { request, next in
            let response = try await next(request)
            throw NetworkError(.other("rejected"), response: response)
        }
        let rig = rig(config: { $0.interceptors = [rejecting] }, { .json("1") })
        let error = try #require(await failure { try await rig.agent.send(post) })
        #expect("\(error)".hasPrefix("GET other.example: "), "\(error)")
    }

    @Test(arguments: [(303, "GET"), (302, "GET"), (307, "POST"), (308, "POST")])
    func methodIsTheRedirectedRequests(status: Int, method: String) async throws {
        let rig = rig(status: status) { .json("1", status: 404) }
        let error = try #require(await failure { try await rig.agent.send(post) })
        #expect("\(error)".hasPrefix("\(method) other.example: "), "\(error)")
    }
}
