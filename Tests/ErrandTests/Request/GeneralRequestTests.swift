import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct GeneralRequestTests {
    /// Every property has another value than the default.
    private static var changed: GeneralRequest<JSONValueFormatter> {
        GeneralRequest("/list")
            .service(Service(id: "special")).usingCDN().method(.post).query(["page": 1]).parameters(["a": 1])
            .parameterEncoding(.form).body(.empty).header("X-A", "1").authorization(.anonymous)
            .credentialPolicy(.requestOrigin).idempotencyKey(.automatic).limits(Limits(timeout: .seconds(7)))
            .priority(.high).retryPolicy(.never).redirectPolicy(.refuse).cachePolicy(.reload)
            .cacheStorage(.memoryOnly).cacheIdentity(CacheIdentity(variant: "v")).duplicatePolicy(.share).duplicateKey(
                "list"
            )
            .acceptance(Acceptance(statusCodes: 200..<400)).filter(PassthroughFilter()).formattingContext(.caller)
            .accessory(LoggingAccessory { _ in }).tag("tagged").attribute("screen", "home")
            .usingBaseHeaders(false).usingBaseParameters(false).allowingCellularAccess(false)
    }

    /// The members that cannot throw, and those that can.
    private static func texts(of request: some Request) throws -> [String: String] {
        let children = Mirror(reflecting: RequestValues(request)).children.map { ($0.label ?? "", "\($0.value)") }
        let content = try [
            ("query", "\(request.query.names)"), ("parameters", "\(request.parameters.names)"),
            ("body", "\(request.body)"),
        ]
        return Dictionary(uniqueKeysWithValues: children + content)
    }

    @Test func everyMemberIsReadAndAnotherFormatterKeepsIt() throws {
        let (defaults, changed) = (try Self.texts(of: GeneralRequest("/")), try Self.texts(of: Self.changed))
        #expect(changed.count > 28)
        for (name, value) in changed { #expect(value != defaults[name], "\(name) is not changed") }
        #expect(try Self.texts(of: Self.changed.expecting(String.self)) == changed)
    }

    @Test func everyMemberOfAWrappedRequestIsRead() throws {
        var changed = try Self.texts(of: Self.changed)
        changed["filter"] = "\(RequestValues(Self.changed.raw).filter)"
        #expect(try Self.texts(of: Self.changed.raw) == changed)
    }
}
