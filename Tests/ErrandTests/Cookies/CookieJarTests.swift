import Dispatch
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Removals and writes while others use the jar.
@Suite(.limit(seconds: 60)) struct CookieJarTests {
    @Test func responseThatArrivesDuringARemovalSetsNoCookie() async throws {
        let (jar, gate, received) = (CookieJar(), Gate(), DispatchSemaphore(value: 0))
        let origin = try #require(URL(string: "https://api.example/"))
        jar.set("session=old", from: origin)
        let rig = Rig(config: .test { $0.interceptors = [jar] }) { _ in
            try await gate.pass()
            return .json("{}", headers: ["Set-Cookie": "session=new"])
        }
        async let send: Void = {
            _ = await failure { try await rig.agent.send(GeneralRequest("/x")) }
            received.signal()
        }()
        await gate.waitForArrivals(1)
        // On a thread of its own: the closure blocks.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                jar.removeAll { cookie in
                    gate.open()
                    received.wait()
                    return cookie.name == "session"
                }
                continuation.resume()
            }
        }
        await send
        #expect(jar.cookies.isEmpty)
    }

    @Test func lineOfAResponseIsOneCookie() async throws {
        let jar = CookieJar()
        let headers: HTTPHeaders = ["Set-Cookie": "name=Doe, id=7; Path=/; Secure; HttpOnly", "set-cookie": "b=2"]
        let rig = Rig(config: .test { $0.interceptors = [jar] }, response: .json("{}", headers: headers))
        _ = try await rig.agent.send(GeneralRequest("/x"))
        #expect(jar.cookies.map { "\($0.name)=\($0.value) \($0.isSecure)" } == ["name=Doe, id=7 true", "b=2 false"])
    }

    @Test func fileHasWhatWasSetBeforeItsFlush() async throws {
        let folder = try TemporaryDirectory()
        let (file, isOver) = (folder.url.appending(path: "cookies"), Lock(false))
        let origin = try #require(URL(string: "https://api.example/"))
        let jar = CookieJar(file: file)
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var number = 0
                while !isOver.withLock({ $0 }) {
                    number += 1
                    jar.set("other=\(number); Max-Age=1000", from: origin)
                    usleep(20)
                }
                continuation.resume()
            }
            Thread.detachNewThread {
                defer { isOver.withLock { $0 = true } }
                for number in 0..<100 {
                    jar.set("own=\(number); Max-Age=1000", from: origin)
                    let other = jar.cookies.first { $0.name == "other" }.flatMap { Int($0.value) } ?? 0
                    jar.flush()
                    let written = CookieJar(file: file).cookies
                    let own = written.first { $0.name == "own" }?.value
                    let later = written.first { $0.name == "other" }.flatMap { Int($0.value) } ?? 0
                    guard own == "\(number)", later >= other else {
                        return #expect(Bool(false), "\(number): \(own ?? ""), \(other): \(later)")
                    }
                }
            }
        }
    }
}
