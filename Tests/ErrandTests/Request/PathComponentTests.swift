import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct PathComponentTests {
    @Test(arguments: [
        ("7", "7"), ("a b", "a%20b"), ("../admin", "..%2Fadmin"), ("x#y", "x%23y"), ("a?b=1", "a%3Fb%3D1"),
        ("a/b", "a%2Fb"), ("100%", "100%25"), ("%2e%2e", "%252e%252e"), ("é;v=1", "%C3%A9%3Bv%3D1"),
        ("a.b-c_d~", "a.b-c_d~"),
        ("a\r\nb", "a%0D%0Ab"), ("...", "..."), ("", ""), ("\\", "%5C"),
    ])
    func aComponentStaysOneComponent(value: String, encoded: String) async throws {
        #expect("/users/\(component: value)/orders" == "/users/\(encoded)/orders")
        let sent = try await Rig().wire(GeneralRequest("/users/\(component: value)/orders"))
        #expect(sent.url.absoluteString == "https://api.example/users/\(encoded)/orders")
    }

    @Test func numbersIdentifiersAndSubstringsAreComponents() throws {
        let id = try #require(UUID(uuidString: "3F2504E0-4F89-11D3-9A0C-0305E82C3301"))
        #expect("/\(component: 7)/\(component: id)/\(component: "a/b".prefix(2))" == "/7/\(id.uuidString)/a%2F")
    }
}
