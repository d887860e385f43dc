import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct GeneralRequestTests {
    /// Every property has another value than the default.
    private static var changed: GeneralRequest<JSONValueFormatter> {
        var request = GeneralRequest("/list")
            .service(Service(id: "special")).usingCDN().method(.post).query(["page": 1]).parameters(["a": 1])
            .parameterEncoding(.form).body(.empty).header("X-A", "1").authorization(.anonymous)
            .credentialPolicy(.requestOrigin).idempotencyKey(.automatic).limits(Limits(timeout: .seconds(7)))
            .priority(.high).retryPolicy(.never).redirectPolicy(.refuse).cachePolicy(.reload)
            .cacheIdentity(CacheIdentity(variant: "v")).duplicatePolicy(.share).duplicateKey("list")
            .acceptance(Acceptance(statusCodes: 200..<400)).filter(PassthroughFilter()).formattingContext(.caller)
            .accessory(LoggingAccessory { _ in }).tag("tagged").attribute("screen", "home")
        request.usesBaseHeaders = false
        request.usesBaseParameters = false
        request.allowsCellularAccess = false
        return request
    }

    private static func values(of request: some Request) -> [String: String] {
        let children = Mirror(reflecting: request).children.map { ($0.label ?? "", String(describing: $0.value)) }
        return Dictionary(children) { first, _ in first }
    }

    @Test func anotherFormatterKeepsEveryOtherMember() {
        let defaults = Self.values(of: GeneralRequest("/"))
        let changed = Self.values(of: Self.changed)
        let formatted = Self.values(of: Self.changed.expecting(String.self))
        #expect(changed.count > 25)
        for (name, value) in changed where name != "formatter" {
            #expect(value != defaults[name], "the test does not change \(name)")
            #expect(formatted[name] == value, "expecting(_:) drops \(name)")
        }
    }
}
