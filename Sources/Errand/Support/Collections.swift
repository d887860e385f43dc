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
