internal import Synchronization

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

/// A reference to an object that is set once and read from any thread, without a lock.
///
/// `AtomicLazyReference` does the same, but the standard library's code for it isn't specialized, and takes ten times as long.
struct OnceReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    /// Its address, or zero: a pointer is not `Sendable`.
    private let address = Atomic<UInt>(0)

    /// The object, or `nil` if none is set.
    var object: Object? { reference?.takeUnretainedValue() }

    private var reference: Unmanaged<Object>? {
        UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)).map(Unmanaged.fromOpaque)
    }

    /// Sets the object, unless there is one.
    func set(_ object: Object) {
        let retained = Unmanaged.passRetained(object)
        let new = UInt(bitPattern: retained.toOpaque())
        guard !address.compareExchange(expected: 0, desired: new, ordering: .acquiringAndReleasing).exchanged else {
            return
        }
        retained.release()
    }

    deinit { reference?.release() }
}
