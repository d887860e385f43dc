import Dispatch
import Errand
import ErrandTesting
import Testing

@MainActor @Suite struct LoadingIndicatorTests {
    @MainActor final class Spinner: LoadingIndicator {
        var words: [String] = []
        func show() { words.append("show") }
        func hide() { words.append("hide") }
    }

    private let clock = ManualClock()
    private let spinner = Spinner()

    /// The accessory of a send that has begun.
    private func begun() async -> LoadingIndicatorAccessory {
        let accessory = LoadingIndicatorAccessory(spinner, minimumDisplayTime: .seconds(1), clock: clock)
        accessory.request(RequestContext(), did: .willStart)
        await wait { spinner.words == ["show"] }
        return accessory
    }

    @Test func itShowsOnTheFirstAndHidesOnTheLast() async throws {
        let accessory = LoadingIndicatorAccessory(spinner)
        let rig = Rig.numbers(config: .test { $0.accessories = [accessory] })
        let handles = (0..<3).map { rig.agent.start(GetNumber.waiting($0)) }
        await rig.transport.waitForRequests(3)
        await wait { spinner.words == ["show"] }
        handles[0].cancel()
        handles[1].cancel()
        await handles[1].waitUntilFinished()
        #expect(spinner.words == ["show"])
        handles[2].cancel()
        await wait { spinner.words == ["show", "hide"] }
    }

    @Test func itStaysForItsMinimumTime() async throws {
        let accessory = await begun()
        clock.advance(by: .milliseconds(300))
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(600))
        #expect(spinner.words == ["show"])
        clock.advance(by: .milliseconds(100))
        await wait { spinner.words == ["show", "hide"] }
    }

    @Test func indicatorThatIsNeededAgainIsNotHidden() async throws {
        let accessory = await begun()
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await clock.waitForSleepers()
        accessory.request(RequestContext(), did: .willStart)
        await wait { clock.sleeperCount == 0 }
        clock.advance(by: .seconds(5))
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await wait { spinner.words.last == "hide" }
        #expect(spinner.words == ["show", "hide"])
    }

    @Test func sendThatEndsAtTheEndOfTheMinimumTimeHidesItOnce() async throws {
        let accessory = await begun()
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await clock.waitForSleepers()
        // All at once, before the main actor runs anything else.
        accessory.request(RequestContext(), did: .willStart)
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        clock.advance(by: .seconds(1))
        await wait { spinner.words.last == "hide" }
        for _ in 0..<50 { await Task.yield() }
        #expect(spinner.words == ["show", "hide"])
    }

    @Test func itShowsFromTheFirstStartToTheLastStop() async throws {
        let accessory = LoadingIndicatorAccessory(spinner)
        func drain() async { await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } } }
        accessory.request(RequestContext(), did: .willStart)
        await drain()
        accessory.request(RequestContext(), did: .willStart)
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await drain()
        #expect(spinner.words == ["show"])
        accessory.request(RequestContext(), did: .didStop(.cancelled))
        await drain()
        #expect(spinner.words == ["show", "hide"])
    }

    @Test func showIsCalledOnceForEachHide() async throws {
        let accessory = LoadingIndicatorAccessory(spinner)
        for _ in 0..<10 {
            for _ in 0..<3 {
                accessory.request(RequestContext(), did: .willStart)
                accessory.request(RequestContext(), did: .didStop(.cancelled))
            }
            accessory.request(RequestContext(), did: .willStart)
            await wait { spinner.words.last == "show" }
            accessory.request(RequestContext(), did: .didStop(.cancelled))
            await wait { spinner.words.last == "hide" }
        }
        #expect(spinner.words == (0..<10).flatMap { _ in ["show", "hide"] })
    }
}
