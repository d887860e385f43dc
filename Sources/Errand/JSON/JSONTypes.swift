internal import Synchronization

/// What is found out once for each type, and kept until the process ends, because a program has only so many types.
///
/// There is no lock: of two threads that find out the same, both keep it.
struct JSONTypes<Value>: ~Copyable {
    private struct Entry {
        let type: ObjectIdentifier
        let value: Value
        let next: UnsafeMutablePointer<Entry>?
    }

    private typealias Slot = Atomic<UnsafeMutablePointer<Entry>?>
    private static var slotCount: Int { 256 }
    private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount)

    init() { for slot in 0..<Self.slotCount { (slots + slot).initialize(to: Slot(nil)) } }

    /// Returns the value of a type, which is made if there is none.
    @inline(__always)
    func value(of type: any Any.Type, make: () -> Value) -> Value {
        let id = ObjectIdentifier(type)
        let slot = slots + Int(truncatingIfNeeded: UInt(bitPattern: id) &>> 4) & (Self.slotCount - 1)
        var entry = slot.pointee.load(ordering: .acquiring)
        while let found = entry {
            if found.pointee.type == id { return found.pointee.value }
            entry = found.pointee.next
        }
        return add(make(), for: id, to: slot)
    }

    @inline(never)
    private func add(_ value: Value, for id: ObjectIdentifier, to slot: UnsafeMutablePointer<Slot>) -> Value {
        let new = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
        var first = slot.pointee.load(ordering: .acquiring)
        new.initialize(to: Entry(type: id, value: value, next: first))
        while true {
            let (isAdded, current) = slot.pointee.compareExchange(
                expected: first,
                desired: new,
                ordering: .acquiringAndReleasing
            )
            if isAdded { return value }
            first = current
            new.deinitialize(count: 1)
            new.initialize(to: Entry(type: id, value: value, next: first))
        }
    }
}
