/// Processor time of work without waiting, measured alternately in turns of about a millisecond, so that whatever slows
/// the machine down for a while slows all of it.
struct PairedTimes {
    let rounds: Int
    /// How many turns each work has in one round.
    let turns: Int
    /// How often the work runs in one turn.
    let repetitions: Int

    /// The ratio of the first work's time to each other one's, round by round.
    func ratios(of first: () throws -> Void, over others: [() throws -> Void]) throws -> [Rounds] {
        try withoutActuallyEscaping(first) { first in
            let works = [first] + others
            for work in works { _ = try time(work) }
            var ratios: [[Double]] = others.map { _ in [] }
            for round in 0..<rounds {
                var times: [Double] = works.map { _ in 0 }
                for turn in 0..<turns * works.count {
                    let place = (round + turn) % works.count
                    times[place] += try time(works[place])
                }
                for place in others.indices { ratios[place].append(times[0] / times[place + 1]) }
            }
            return ratios.map(Rounds.init)
        }
    }

    /// Seconds of one repetition, round by round.
    func times(of work: () throws -> Void) throws -> Rounds {
        _ = try time(work)
        return Rounds(
            values: try (0..<rounds).map { _ in
                try (0..<turns).map { _ in try time(work) }.reduce(0, +) / Double(turns * repetitions)
            }
        )
    }

    private func time(_ work: () throws -> Void) throws -> Double {
        let before = ProcessFigures.processorTime
        for _ in 0..<repetitions { try work() }
        return ProcessFigures.processorTime - before
    }
}
