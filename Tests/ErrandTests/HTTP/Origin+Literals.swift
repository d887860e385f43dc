@testable import Errand

// In tests of tables, any text is a host.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension Origin: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self.init(text) }
}
