import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What happens on any transport when TLS or HTTP/2 fails after the handshake.
struct LateFailures {
    let servers: TLSServers

    private func agent(_ transport: any Transport, isFrozen: Bool = false) -> Agent {
        let config = NetworkConfig(retryPolicy: RetryPolicy(maximumAttempts: 3, baseDelay: .zero))
        return isFrozen
            ? Agent(config: config, transport: transport, clock: ManualClock())
            : Agent(config: config, transport: transport)
    }

    func aDamagedRecordIsALostConnection(_ server: String, over transport: any Transport) async throws {
        let request = OutgoingRequest(url: try servers.url(server))
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, options: TransportOptions())
        }
        #expect(error?.reason == (server == "damaged" ? .connectionReset : .closedInBody))
    }

    /// On a connection of its own, or as the second request on one.
    func aLargeHeaderSectionIsSentForOnce(_ server: String, isLater: Bool, over transport: any Transport) async throws {
        let agent = agent(transport)
        let name = isLater ? server + " later" : server
        let request = GeneralRequest(try servers.url(name).absoluteString).expecting(Void.self)
        if isLater { try await agent.send(request) }
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.reason == .headerSectionTooLarge)
        #expect(error?.attempts == 1)
        #expect(try await servers.requestCount(name, over: transport) == (isLater ? 2 : 1))
    }

    func oneLostConnectionCountsOnce(over transport: any Transport) async throws {
        // How long a busy machine takes to report the losses says nothing.
        let failed = try await failures(of: 40, "losing once", over: transport, isFrozen: true)
        #expect(failed.isEmpty, "\(failed.count) of 40: \(failed.first.debugDescription)")
    }

    func aServerThatLosesEachConnectionGetsFewRetries(over transport: any Transport) async throws {
        let failed = try await failures(of: 40, "losing all", over: transport)
        #expect(failed.count == 40)
        // The first request, 40 and their retries after the first loss, and those that the budget allows.
        #expect(try await servers.requestCount("losing all", over: transport) <= 1 + 40 + 40 + 14)
    }

    /// Returns the time until the last of 40 requests has its response, all of them with a deadline of 20 seconds.
    func timeOfGoaway(_ server: String, over transport: any Transport) async throws -> Duration {
        let began = ContinuousClock.now
        let failed = try await failures(of: 40, server, over: transport)
        #expect(failed.isEmpty, "\(failed.count) of 40: \(failed.first.debugDescription)")
        return ContinuousClock.now - began
    }

    /// Sends one request, and many at once after it.
    private func failures(
        of count: Int,
        _ server: String,
        over transport: any Transport,
        isFrozen: Bool = false
    ) async throws -> [any Error] {
        let agent = agent(transport, isFrozen: isFrozen)
        let url = try servers.url(server).absoluteString
        try await agent.send(GeneralRequest(url).expecting(Void.self))
        return await withTaskGroup(of: (any Error)?.self) { group in
            for number in 0..<count {
                group.addTask {
                    do {
                        try await agent.send(
                            GeneralRequest("\(url)?\(number)").timeout(.seconds(20)).expecting(Void.self)
                        )
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
        }
    }
}
