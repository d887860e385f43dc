import Errand
import ErrandTesting
import Foundation
import Testing

/// Fails if no test overrides a member of `Request` in the spelling of its documentation.
@Suite struct RequestMembersGuardTests {
    /// A requirement of the protocol and the spelling that its comment gives.
    struct Member: Sendable {
        let name: String
        let spelling: String
    }

    private static func source(_ path: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }

    /// Read from the source: reflection cannot see requirements.
    private static func members() throws -> [Member] {
        var members: [Member] = []
        var spelling: String?
        for line in try source("../../../Sources/Errand/Request/Request.swift").split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let start = line.range(of: "/// Spelling: `") {
                spelling = String(line[start.upperBound...].prefix { $0 != "`" })
            } else if line.hasPrefix("var _") {
                // Not to be overridden.
                continue
            } else if line.hasPrefix("var ") || line.hasPrefix("func ") {
                let name = line.split(separator: " ")[1].prefix { $0.isLetter }
                members.append(Member(name: String(name), spelling: try #require(spelling, "\(name) has no spelling")))
                spelling = nil
            }
        }
        return members
    }

    @Test func everyMemberIsOverriddenInTheSpellingOfItsDocumentation() throws {
        let tests = try Self.source("RequestMembersTests.swift") + Self.source("RequestMembersTests+Responses.swift")
        let members = try Self.members()
        #expect(members.count > 30)
        for member in members {
            // A body of dots stands for any.
            let spelling = member.spelling.components(separatedBy: "{ …")[0]
            #expect(tests.contains(spelling), "no test overrides \(member.name) as documented: \(member.spelling)")
        }
    }

    @Test func thePlanNamesEveryMemberThatHasAValue() async throws {
        let names = try await Rig().agent.plan(for: GeneralRequest("/x")).entries
            .map { String($0.name.prefix { $0 != "." }) }
        let hooks = ["check", "didProduce", "shouldCache"]
        for member in try Self.members() where !hooks.contains(member.name) {
            #expect(names.contains(member.name), "\(member.name)")
        }
    }
}
