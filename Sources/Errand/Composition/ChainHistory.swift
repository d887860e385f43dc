/// What the steps of a chain made so far.
public struct ChainHistory {
    struct Entry {
        let child: CompositionChild
        let type: any Request.Type
        let model: Any
        let response: Any?
    }

    var entries: [Entry] = []

    /// The steps that have ended, in order.
    public var steps: [CompositionChild] { entries.map(\.child) }

    /// How many steps have ended.
    public var count: Int { entries.count }

    /// The model of the last step of a type, or `nil` when there was none.
    public func model<R: Request>(of type: R.Type) -> R.Model? { entry(of: type)?.model as? R.Model }

    /// The model and answer of the last step of a type.
    ///
    /// - Returns: `nil` when there was none, or when it was a batch or the like, which has no answer of its own.
    public func response<R: Request>(of type: R.Type) -> Response<R.Model>? {
        entry(of: type)?.response as? Response<R.Model>
    }

    /// Looks up the model of a step.
    ///
    /// - Parameters:
    ///   - index: The step's place, from 0; one that there is not yet gives `nil`.
    ///   - type: The type of its model.
    /// - Returns: The model, or `nil` when it is of another type.
    public func model<Model>(at index: Int, as type: Model.Type = Model.self) -> Model? {
        entries.indices.contains(index) ? entries[index].model as? Model : nil
    }

    private func entry<R: Request>(of type: R.Type) -> Entry? { entries.last { $0.type == type } }
}
