import Foundation

/// How clients are measured against each other: alternately, several times, in this process.
struct Comparison {
    let concurrency: Int
    /// Sends of one client in one round.
    let count: Int
    let rounds: Int
    let url: URL

    /// The ratio of the first client's processor time to each other one's, round by round.
    func ratios(of first: Client, over others: [Client]) async throws -> [Rounds] {
        let fetches = ([first] + others).map { $0.makeFetch(url) }
        for fetch in fetches { _ = try await time(fetch, 128) }
        var ratios: [[Double]] = others.map { _ in [] }
        for round in 0..<rounds {
            var times: [Double] = fetches.map { _ in 0 }
            // The order alternates, so that no client gains by its place.
            for turn in fetches.indices {
                let place = (round + turn) % fetches.count
                times[place] = try await time(fetches[place], count)
            }
            for place in others.indices { ratios[place].append(times[0] / times[place + 1]) }
        }
        return ratios.map(Rounds.init)
    }

    private func time(_ fetch: @escaping Client.Fetch, _ count: Int) async throws -> Double {
        let before = ProcessFigures.processorTime
        try await Client.run(fetch, count, concurrency: concurrency)
        return ProcessFigures.processorTime - before
    }
}
