/// Numbers of calls in the time before now, in slots, so that its size does not grow with the traffic.
struct SlidingWindow: Sendable {
    private struct Slot: Sendable {
        var calls: UInt32 = 0
        var marked: UInt32 = 0
    }

    private let step: Duration
    private var slots: [Slot]
    /// The number of the newest slot with a count.
    private var newest: Int64 = 0
    /// The end of that slot, or zero if it is too late to be represented.
    private var end: Duration

    /// The number of calls in the window, as of the last change.
    private(set) var calls = 0
    /// The number of marked ones, such as failures or retries.
    private(set) var marked = 0

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - step: The length of a slot.
    ///   - count: The number of slots, with the current one.
    init(step: Duration, count: Int) {
        (self.step, end) = (step, step)
        slots = Array(repeating: Slot(), count: count)
    }

    /// Counts calls and marks now, unless there are 2^32 in a slot.
    mutating func add(calls: UInt32 = 0, marked: UInt32 = 0, at now: Duration) {
        advance(to: now)
        let place = place(of: newest)
        guard slots[place].calls < .max - calls, slots[place].marked < .max - marked else { return }
        slots[place].calls += calls
        slots[place].marked += marked
        self.calls &+= Int(calls)
        self.marked &+= Int(marked)
    }

    /// Removes slots that are no longer in the window.
    mutating func advance(to now: Duration) {
        guard now >= end else { return }
        let slot = Int64(min(max(now / step, 0), 1e18))
        guard slot > newest else { return }
        for number in 1...min(slot - newest, Int64(slots.count)) {
            let place = place(of: newest + number)
            calls &-= Int(truncatingIfNeeded: slots[place].calls)
            marked &-= Int(truncatingIfNeeded: slots[place].marked)
            slots[place] = Slot()
        }
        newest = slot
        end = slot < 1 << 40 ? step * (slot + 1) : .zero
    }

    private func place(of slot: Int64) -> Int { Int(slot % Int64(slots.count)) }
}
