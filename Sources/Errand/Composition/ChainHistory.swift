/// The models and responses of the steps of a chain that have ended.
public struct ChainHistory {
    struct Entry {
        let child: CompositionChild
        let type: ObjectIdentifier
        let model: Any
        let response: Any?
    }

    var entries: [Entry] = []

    /// The steps that have ended, in order.
    public var steps: [CompositionChild] { entries.map(\.child) }

    /// The number of steps that have ended.
    public var count: Int { entries.count }

    /// Returns the model of the last step with a request of this type, or `nil` if there was none.
    public func model<R: Request>(of type: R.Type) -> R.Model? { entry(of: type)?.model as? R.Model }

    /// Returns the model and response of the last step with a request of this type.
    ///
    /// - Returns: `nil` if there was none, or if it was a composition, such as a batch, which has no response of its
    ///   own.
    public func response<R: Request>(of type: R.Type) -> Response<R.Model>? {
        entry(of: type)?.response as? Response<R.Model>
    }

    /// Returns the model of a step.
    ///
    /// - Parameters:
    ///   - index: The index of the step, starting at 0.
    ///   - type: The type of its model.
    /// - Returns: The model, or `nil` if it is of another type or there is no such step yet.
    public func model<Model>(at index: Int, as type: Model.Type = Model.self) -> Model? {
        entries.indices.contains(index) ? entries[index].model as? Model : nil
    }

    private func entry<R: Request>(of type: R.Type) -> Entry? { entries.last { $0.type == RequestType.of(type).id } }
}
