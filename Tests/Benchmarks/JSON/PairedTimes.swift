/// Processor time of work without waiting, measured alternately, round by round.
struct PairedTimes {
    let rounds: Int
    /// How often the work runs in one round.
    let repetitions: Int

    /// The time of the first work over that of each other one, each round with another order.
    func ratios(of first: () throws -> Void, over others: [() throws -> Void]) throws -> [Rounds] {
        try withoutActuallyEscaping(first) { first in
            let works = [first] + others
            for work in works { _ = try time(work) }
            var ratios: [[Double]] = others.map { _ in [] }
            for round in 0..<rounds {
                var times: [Double] = works.map { _ in 0 }
                for turn in works.indices {
                    let place = (round + turn) % works.count
                    times[place] = try time(works[place])
                }
                for place in others.indices { ratios[place].append(times[0] / times[place + 1]) }
            }
            return ratios.map(Rounds.init)
        }
    }

    /// Seconds of one repetition, round by round.
    func times(of work: () throws -> Void) throws -> Rounds {
        _ = try time(work)
        return Rounds(values: try (0..<rounds).map { _ in try time(work) / Double(repetitions) })
    }

    private func time(_ work: () throws -> Void) throws -> Double {
        let before = ProcessFigures.processorTime
        for _ in 0..<repetitions { try work() }
        return ProcessFigures.processorTime - before
    }
}
