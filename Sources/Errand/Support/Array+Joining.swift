extension Array {
    /// These elements and those of another array; mostly one of them is empty, and then nothing is copied.
    func and(_ other: [Element]) -> [Element] {
        if isEmpty { return other }
        return other.isEmpty ? self : self + other
    }
}
