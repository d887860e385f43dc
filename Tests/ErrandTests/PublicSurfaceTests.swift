import Foundation
import Testing

/// What users see of the library has a name and a page.
@Suite struct PublicSurfaceTests {
    private static func publicNames() throws -> [String] {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/Errand")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }
        let name = /^ *public .*\b(?:struct|class|actor|enum|protocol|func|var|let|typealias) (\w+)/
        return try (files ?? []).filter { $0.pathExtension == "swift" }.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).matches(of: name.anchorsMatchLineEndings())
                .map { String($0.output.1) }
        }
    }

    @Test func noPublicNameBeginsWithAnUnderscore() throws {
        let names = try Self.publicNames()
        #expect(names.count > 500)
        #expect(names.filter { $0.hasPrefix("_") } == [])
    }

    @Test(arguments: ["VerbFormatter", "GeneralFilter", "CompositionFormatter", "SafeDescription"])
    func typesThatUsersNeverNameAreNotPublic(_ name: String) throws {
        #expect(try !Self.publicNames().contains(name))
    }
}
