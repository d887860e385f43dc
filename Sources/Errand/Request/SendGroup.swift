internal import Synchronization

/// What a send is a part of: a batch, a chain, a sequence, or many requests with a result for each.
package final class SendGroup: Sendable {
    private static let lastID = Atomic(0)

    /// Its number among the groups of this process.
    package let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    /// The type, such as `BatchRequest`.
    package let name: String
    /// The group that it is a part of, or `nil`.
    package let outer: SendGroup?

    init(_ name: String, in outer: SendGroup?) { (self.name, self.outer) = (name, outer) }
}
