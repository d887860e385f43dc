/// A dictionary for state that is rarely used: it runs the code that the standard library holds for all types.
///
/// The compiler makes a copy of `Dictionary` for each pair of types, which costs 8 KB and 0.3 % of the module's build time. An
/// operation of a table takes some 100 ns longer, so state that every send needs is in a `Dictionary`. Only the attribute keeps
/// the optimizer from copying; `@inline(never)` alone does not.
struct Table<Key: Hashable, Value> {
    private var storage: [Key: Value] = [:]

    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    init() {}

    /// The value of a key; `nil` if there is none.
    subscript(key: Key) -> Value? {
        @inline(never) @_semantics("optimize.sil.specialize.generic.never")
        get { storage[key] }
        @inline(never) @_semantics("optimize.sil.specialize.generic.never")
        set { storage[key] = newValue }
    }

    var count: Int {
        @inline(never) @_semantics("optimize.sil.specialize.generic.never")
        get { storage.count }
    }

    var isEmpty: Bool { count == 0 }

    /// The keys and values, in no order.
    var entries: [(key: Key, value: Value)] {
        @inline(never) @_semantics("optimize.sil.specialize.generic.never")
        get { Array(storage) }
    }

    /// The values, in no order.
    var values: [Value] { entries.map(\.value) }

    /// Changes the value of a key in place, without a copy.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - standard: The value if there is none.
    ///   - body: Changes the value.
    /// - Returns: The closure's result.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    mutating func change<Result>(
        _ key: Key,
        default standard: @autoclosure () -> Value,
        _ body: (inout Value) -> Result
    ) -> Result { body(&storage[key, default: standard()]) }

    /// Removes a key, and returns its value.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    mutating func removeValue(forKey key: Key) -> Value? { storage.removeValue(forKey: key) }

    /// Removes the values that fit.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    mutating func removeAll(where predicate: (Value) -> Bool) { storage = storage.filter { !predicate($0.value) } }
}

extension Table: Sendable where Key: Sendable, Value: Sendable {}

extension Table where Value == Void {
    /// Creates a set.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    init(keys: [Key]) { for key in keys { storage[key] = () } }
}

extension Array {
    /// Returns these elements followed by another array's, without copying if one of them is empty.
    func and(_ other: [Element]) -> [Element] {
        if isEmpty { return other }
        return other.isEmpty ? self : self + other
    }
}

extension Sequence {
    /// Returns the elements in order, sorted by the copy of the algorithm that the standard library holds.
    ///
    /// `sorted(by:)` is compiled again for each type and closure, which costs 4 KB and 0.4 % of the module's build time.
    /// Code that runs rarely, or sorts few elements, does without. Neither `@inline(never)` nor a non-generic core keeps
    /// the optimizer from copying; only this attribute does.
    ///
    /// - Parameter areInIncreasingOrder: Whether the first element stands before the second.
    /// - Returns: The sorted elements.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    func sortedUnspecialized(by areInIncreasingOrder: (Element, Element) -> Bool) -> [Element] {
        sorted(by: areInIncreasingOrder)
    }
}
