import ErrandTesting
import Foundation

@testable import Errand

/// A server that checks each response to its challenges as RFC 7616 requires.
final class DigestServer: Sendable {
    struct Rules: Sendable {
        var algorithms = ["SHA-256"]
        var qop: String? = "auth"
        /// How many requests a nonce is good for.
        var uses = Int.max
        var sendsNext = false
        var sendsStale = true
        /// Whether each count of a nonce must be used once.
        var isStrict = true
        var setsCookie = false
        var accepts = true
    }

    private struct State {
        var nonces: [String: Set<String>] = [:]
        var count = 0
    }

    let server: MockServer
    let rules = Lock(Rules())

    init(_ change: (inout Rules) -> Void = { _ in }) throws {
        let (rules, state) = (self.rules, Lock(State()))
        rules.withLock { change(&$0) }
        server = try MockServer { request in Self.respond(to: request, rules.withLock(\.self), state) }
    }

    /// The users by the responses that were accepted; `nil` for a request without a response.
    var users: [String?] { server.requests.map { $0.digest?["username"] } }

    private static func respond(to request: MockRequest, _ rules: Rules, _ state: Lock<State>) -> MockResponse {
        let sent = request.digest
        let isRight = rules.accepts && sent.map { isValid($0, of: request, rules) } == true
        if rules.setsCookie, isRight, request.headers["Cookie"] != "login=1" { return .status(403) }
        return state.withLock { state in
            let (nonce, number) = (sent?["nonce"] ?? "", sent?["nc"] ?? "")
            let isKnown = state.nonces[nonce].map { $0.count < rules.uses } ?? false
            if isRight, isKnown, !rules.isStrict || !(state.nonces[nonce] ?? []).contains(number) {
                state.nonces[nonce, default: []].insert(number)
                if request.path == "/from" { return .redirect(to: "/to?x=\"1\"", status: 302) }
                var headers: HTTPHeaders = [:]
                if rules.sendsNext {
                    let next = makeNonce(&state)
                    headers["Authentication-Info"] = "qop=auth, nextnonce=\"\(next)\""
                }
                return .text(sent?["username"] ?? "", headers: headers)
            }
            let fresh = makeNonce(&state)
            let quality = rules.qop.map { ", qop=\"\($0)\"" } ?? ""
            let stale = isRight && rules.sendsStale ? ", stale=true" : ""
            let challenges = rules.algorithms.map {
                "Digest realm=\"a \\\"quoted\\\" realm\", nonce=\"\(fresh)\", opaque=\"o\", algorithm=\($0)\(quality)\(stale)"
            }
            var headers: HTTPHeaders = ["WWW-Authenticate": "Basic realm=\"b\", " + challenges.joined(separator: ", ")]
            if rules.setsCookie { headers["Set-Cookie"] = "login=1; Path=/" }
            return .json("{}", status: 401, headers: headers)
        }
    }

    private static func makeNonce(_ state: inout State) -> String {
        state.count += 1
        let nonce = "nonce/\(state.count)="
        state.nonces[nonce] = []
        return nonce
    }

    private static func isValid(_ sent: AuthenticationChallenge, of request: MockRequest, _ rules: Rules) -> Bool {
        let name = sent["algorithm"] ?? "MD5"
        guard rules.algorithms.contains(name), sent["uri"] == request.target, sent["opaque"] == "o",
            sent["realm"] == "a \"quoted\" realm", let nonce = sent["nonce"], let user = sent["username"]
        else { return false }
        func hash(_ bytes: Data) -> String {
            name.hasPrefix("MD5") ? MD5.hexadecimal(bytes) : SHA256.hexadecimal(bytes)
        }
        func hash(_ text: String) -> String { hash(Data(text.utf8)) }
        var secret = hash("\(user):a \"quoted\" realm:pass of \(user)")
        if name.hasSuffix("-sess") { secret = hash("\(secret):\(nonce):\(sent["cnonce"] ?? "")") }
        var content = "\(request.method.rawValue):\(request.target)"
        if sent["qop"] == "auth-int" { content += ":" + hash(request.body) }
        guard let quality = sent["qop"] else {
            return rules.qop == nil && sent["response"] == hash("\(secret):\(nonce):\(hash(content))")
        }
        let middle = "\(nonce):\(sent["nc"] ?? ""):\(sent["cnonce"] ?? ""):\(quality)"
        return sent["response"] == hash("\(secret):\(middle):\(hash(content))")
    }
}

extension MockRequest {
    /// What responds to a challenge, or `nil` if nothing does.
    var digest: AuthenticationChallenge? {
        AuthenticationChallenge.challenges(in: headers["Authorization"] ?? "").first
    }
}
