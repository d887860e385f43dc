/// The limits on how deep the arrays and objects of a body may be nested.
public enum JSONDepth {
    /// The maximum depth of what the library decodes or validates, unless a function is given another: 128.
    public static let standard = 128

    /// The greatest maximum depth: 512.
    ///
    /// Above it, Foundation's decoder can end the process.
    public static let maximum = 512

    /// Returns the effective limit, between 1 and ``maximum``.
    static func clamped(_ depth: Int) -> Int { min(max(depth, 1), maximum) }
}
