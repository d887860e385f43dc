import Errand
import ErrandTesting
import Testing

@Suite struct AgentConfigTests {
    @Test func updatesFromSeveralTasksLoseNoChange() async {
        let agent = Rig().agent
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<50 { agent.updateConfig { $0.headers.add("X-\(task)", "\(step)") } }
                }
            }
        }
        #expect(agent.config.headers.count == 400)
        for task in 0..<8 {
            #expect(agent.config.headers.values(for: "X-\(task)") == (0..<50).map { "\($0)" })
        }
    }

    @Test func anUpdateRunsAgainIfAnotherComesFirst() {
        let agent = Rig().agent
        var runs = 0
        let count = agent.updateConfig { config in
            runs += 1
            // The agent can be used inside, because no lock is held.
            if runs == 1 { agent.config.headers["X-Other"] = "1" }
            config.headers["X-Own"] = "1"
            return config.headers.count
        }
        #expect(runs == 2)
        #expect(count == 2)
        #expect(agent.config.headers.map(\.name) == ["X-Other", "X-Own"])
    }

    @Test func anUpdateThatThrowsChangesNothing() {
        let agent = Rig().agent
        #expect(throws: Boom.self) {
            try agent.updateConfig { config in
                config.headers["X-Own"] = "1"
                throw Boom()
            }
        }
        #expect(agent.config.headers.isEmpty)
    }

    /// It may be the last owner of a user's accessory.
    @Test func configThatIsReplacedIsReleasedOutsideOfTheLock() {
        final class Last: Accessory {
            let agent: Agent
            init(_ agent: Agent) { self.agent = agent }
            deinit { _ = agent.config }
            func request(_ context: RequestContext, did event: AccessoryEvent) {}
        }
        let agent = Rig().agent
        for _ in 0..<2 { agent.config = .test { $0.accessories = [Last(agent)] } }
        agent.config = .test
        #expect(agent.config.accessories.isEmpty)
    }
}
