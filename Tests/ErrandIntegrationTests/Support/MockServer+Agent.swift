import Errand
import ErrandTesting

extension MockServer {
    /// Returns an agent for this server, without retries and without the variables of the environment.
    ///
    /// - Parameters:
    ///   - transport: The transport; by default, a new one of the kind under test.
    ///   - clock: The clock of the agent.
    ///   - change: Changes the config, such as its retry policy.
    /// - Returns: The agent.
    func agent<C: Clock>(
        transport: any Transport = TransportUnderTest.make(),
        clock: C = ContinuousClock(),
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent where C.Duration == Duration {
        var config = NetworkConfig(baseURL: BaseURL(baseURL), retryPolicy: .never, environment: [:])
        change(&config)
        return Agent(config: config, transport: transport, clock: clock)
    }

    /// Returns such an agent with a cache, which it uses by a policy.
    func agent(
        _ cache: ResponseCache,
        _ policy: CachePolicy = .http,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent {
        agent {
            ($0.cache, $0.cachePolicy) = (cache, policy)
            change(&$0)
        }
    }
}
