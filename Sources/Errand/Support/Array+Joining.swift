extension Array {
    /// Returns these elements followed by those of another array, without copying if one of them is empty.
    func and(_ other: [Element]) -> [Element] {
        if isEmpty { return other }
        return other.isEmpty ? self : self + other
    }
}
