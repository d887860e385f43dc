public import Errand
import Foundation

/// A declaration of a request that a test may want to fail for; see `audit(_:)` of `Agent`.
public struct AuditFinding: Sendable, Hashable, CustomStringConvertible {
    /// What is found.
    @nonexhaustive
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// A retry policy has hardly an effect, because the request may not be sent twice.
        case retryWithoutKey
        /// The path seems to contain a secret, which logs would show.
        case secretInPath
        /// Credentials are sent over http.
        case credentialsOverHTTP
        /// The deadline ends a send before the timeout could.
        case deadlineBelowTimeout
        /// Sends of different users have the same duplicate key, because a hook has no credential scope.
        case duplicateKeyOfAllUsers
        /// The request cannot be sent, such as one by GET with a body.
        case invalid
        /// An agent would report a `Diagnostic` in a send.
        case diagnostic
    }

    /// What is found.
    public let rule: Rule
    /// The type of the request.
    public let request: String
    /// Why it matters.
    public let reason: String
    /// How to fix it, usually a line of code; empty if the reason says it.
    public let remedy: String

    /// One line with the request, the reason and the remedy.
    public var description: String { "\(request): \(reason)\(remedy.isEmpty ? "" : ": \(remedy)") (\(rule.rawValue))" }
}

extension Agent {
    /// Returns what is questionable in the declarations of requests, without sending them, for a test such as
    /// `#expect(try await agent.audit(GetUser(id: 7), ListOrders()).isEmpty)`.
    ///
    /// - Parameter requests: Requests with the values of a usual send.
    /// - Returns: The findings, in the order of the requests.
    /// - Throws: An error of the requests' own members or of hooks.
    public func audit<each R: Request>(_ requests: repeat each R) async throws -> [AuditFinding] {
        var findings: [AuditFinding] = []
        for request in repeat each requests { findings += try await audit(one: request) }
        return findings
    }

    private func audit<R: Request>(one request: R) async throws -> [AuditFinding] {
        let name = SentRequest.name(of: R.self)
        do {
            return try await plan(for: request).audited(name)
        } catch let error as NetworkError {
            return [AuditFinding(rule: .invalid, request: name, reason: "\(error)", remedy: "")]
        }
    }
}

extension RequestPlan {
    fileprivate func audited(_ name: String) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        func add(_ rule: AuditFinding.Rule, _ reason: String, _ remedy: String) {
            findings.append(AuditFinding(rule: rule, request: name, reason: reason, remedy: remedy))
        }
        if !request.mayBeSentTwice, retryPolicy.maximumAttempts != 1, self["retryPolicy"]?.source != .library {
            add(
                .retryWithoutKey,
                "a \(request.method) that may have arrived is not sent again, whatever the retry policy",
                "var idempotencyKey: IdempotencyKey { .automatic }, if the service knows Idempotency-Key, or .never"
            )
        }
        for number in secretParts {
            add(.secretInPath, "component \(number) of the path seems to be a secret", #"write it as \(secret: …)"#)
        }
        if request.url.scheme == "http", !isLoopback, hasCredentials {
            add(.credentialsOverHTTP, "credentials are sent over http, which anyone on the way can read", "use https")
        }
        if let deadline = limits.deadline, let timeout = limits.timeout, deadline < timeout,
            self["limits.timeout"]?.source != .library
        {
            add(
                .deadlineBelowTimeout,
                "the deadline of \(deadline) ends the send before the timeout of \(timeout)",
                "set a timeout below the deadline, which leaves time for a retry"
            )
        }
        if self["duplicateKey"]?.value.isEmpty == false, let identity = self["identity"]?.value, identity != "known" {
            add(
                .duplicateKeyOfAllUsers,
                "sends of all users have the same duplicateKey, because the user is \(identity)",
                "implement credentialScope(for:) of the hook"
            )
        }
        for diagnostic in diagnostics { add(.diagnostic, "\(diagnostic)", "") }
        return findings
    }

    private var hasCredentials: Bool {
        request.url.user() != nil || request.headers.contains { secrets.isSecret(header: $0.name) }
            || URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems?
                .contains { secrets.isSecret(queryName: $0.name) } == true
    }

    private var isLoopback: Bool {
        let host = request.url.host() ?? ""
        let isAddress = host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isASCII && $0.isNumber }
        // Every spelling of ::1, such as 0:0:0:0:0:0:0:1.
        let isOne = host.contains(":") && host.drop { "[0:".contains($0) }.prefix { $0 != "]" } == "1"
        return isAddress || isOne || host == "localhost" || host.hasSuffix(".localhost")
    }

    /// The numbers of the components of the shown path that look like a token, or follow a name of a secret and look like one.
    private var secretParts: [Int] {
        let parts = (self["path"]?.value ?? "").split(separator: "/")
        return parts.indices.filter { index in
            let isNamed = index > 0 && secrets.isSecret(queryName: String(parts[index - 1]))
            return !parts[index].contains(Secrets.mask) && Self.looksSecret(parts[index], isNamed: isNamed)
        }.map { $0 + 1 }
    }

    /// Whether a text has a long word with letters of both cases and digits, or after a name of a secret one of letters and digits;
    /// identifiers, digests, names and slugs have none.
    private static func looksSecret(_ text: Substring, isNamed: Bool) -> Bool {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.contains { word in
            word.count >= (isNamed ? 8 : 16) && word.contains(where: \.isNumber) && word.contains(where: \.isLetter)
                && (isNamed || word.contains(where: \.isUppercase) && word.contains(where: \.isLowercase))
        }
    }
}
