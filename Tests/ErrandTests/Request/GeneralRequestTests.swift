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

    private static func texts(of values: RequestValues) -> [String: String] {
        let children = Mirror(reflecting: values).children.map { ($0.label ?? "", String(describing: $0.value)) }
        return Dictionary(children) { first, _ in first }
    }

    /// Content is read apart, because it may throw.
    private static let content = ["query", "parameters", "body"]

    @Test func anotherFormatterKeepsEveryOtherMember() {
        let defaults = Self.texts(of: GeneralRequest("/").base.base)
        let changed = Self.texts(of: Self.changed.base.base)
        #expect(changed.count > 25)
        for (name, value) in changed { #expect(value != defaults[name], "the test does not change \(name)") }
        #expect(Self.texts(of: Self.changed.expecting(String.self).base.base) == changed)
    }

    @Test func allMembersOfARequestAreRead() {
        let changed = Self.texts(of: Self.changed.base.base)
        let read = Self.texts(of: RequestValues(Self.changed))
        for (name, value) in changed where !Self.content.contains(name) {
            #expect(read[name] == value, "RequestValues does not read \(name)")
        }
    }

    @Test func allMembersOfAWrappedRequestAreRead() throws {
        let changed = Self.texts(of: Self.changed.base.base)
        let read = Self.texts(of: RequestValues(Self.changed.filter(PassthroughFilter()).raw))
        for (name, value) in changed where !Self.content.contains(name) {
            #expect(read[name] == value, "RequestWrapper does not forward \(name)")
        }
        #expect(try Self.changed.raw.query.names == ["page"] && Self.changed.raw.parameters.names == ["a"])
        #expect(try !Self.changed.raw.body.isAutomatic)
    }
}
