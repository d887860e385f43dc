/// A value behind one reference, so that a copy takes the same time whatever its size.
///
/// The value is copied when it is changed while others have it. It is in an array of one element, because an array copies
/// itself before it is changed, and is `Sendable` without a lock.
struct Shared<Value> {
    private var storage: [Value]

    init(_ value: Value) { storage = [value] }

    var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }
}

extension Shared: Sendable where Value: Sendable {}
extension Shared: Equatable where Value: Equatable {}
extension Shared: Hashable where Value: Hashable {}
