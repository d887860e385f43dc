package import Errand
import ErrandTerminal
import Foundation
import Synchronization

/// The owner of a terminal: a line with a progress bar for each download, below what is printed.
///
/// The lines are on the standard error, if that is a terminal. While they are shown, all output of the program goes
/// through the board; other output is overwritten by the next draw.
package final class Board: Sendable {
    private struct State {
        var lines: BoardLines
        /// The columns of each line on the terminal.
        var drawn: [Int] = []
        var lastDraw: ContinuousClock.Instant?

        /// The text that removes what is drawn, and leaves the cursor where it began.
        mutating func erasing(on terminal: Terminal) -> String {
            defer { drawn = [] }
            guard !drawn.isEmpty else { return "" }
            // A terminal that became narrower has wrapped them.
            let rows = drawn.reduce(0) { $0 + max(1, ($1 + terminal.columns - 1) / terminal.columns) }
            return "\u{1B}[\(rows)A\r\u{1B}[J"
        }

        mutating func draw(at now: ContinuousClock.Instant) {
            lastDraw = now
            let terminal = Terminal.current
            var text = erasing(on: terminal)
            let lines = lines.texts(on: terminal)
            for line in lines { text += "\(line)\n" }
            drawn = lines.map(\.columnCount)
            StandardStream.write(text.utf8, to: STDERR_FILENO)
        }
    }

    private let state: Mutex<State>
    private let isShown: Bool

    /// Creates a board.
    ///
    /// - Parameters:
    ///   - names: The names of the downloads.
    ///   - isShown: Whether lines are drawn, if the standard error is a terminal that can redraw them.
    package init(names: [String], isShown: Bool) {
        state = Mutex(State(lines: BoardLines(names: names)))
        self.isShown = isShown && Terminal.canRedraw
    }

    /// Shows a progress, at most ten times per second.
    package func show(_ progress: TransferProgress, of index: Int) {
        guard isShown else { return }
        let now = ContinuousClock.now
        state.withLock { state in
            state.lines.show(progress, of: index, at: now)
            if state.lastDraw.map({ now - $0 > .milliseconds(100) }) ?? true { state.draw(at: now) }
        }
    }

    /// Ends a line with a text.
    package func end(_ index: Int, _ text: String, isComplete: Bool = false) {
        guard isShown else { return }
        state.withLock { state in
            state.lines.end(index, text, isComplete: isComplete)
            state.draw(at: .now)
        }
    }

    /// Prints a line on the standard output, above the board.
    ///
    /// - Returns: What failed, or `nil`.
    package func print(_ line: String) -> String? { above { StandardStream.print(line) } }

    /// Prints a line on the standard error, above the board.
    package func report(_ line: String) { above { StandardStream.report(line) } }

    private func above<Result>(_ write: () -> Result) -> Result {
        guard isShown else { return write() }
        return state.withLock { state in
            let wasDrawn = !state.drawn.isEmpty
            StandardStream.write(state.erasing(on: .current).utf8, to: STDERR_FILENO)
            defer { if wasDrawn { state.draw(at: .now) } }
            return write()
        }
    }
}
