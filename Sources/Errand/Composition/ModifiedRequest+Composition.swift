extension ModifiedRequest: Composition where Base: Composition {
    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        await base.begin(in: context.modifying(changes.modifications), then: deliver)
    }

    static func checkResponses() throws { try Base.checkResponses() }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        await base.beginForResponse(in: context.modifying(changes.modifications), then: deliver)
    }
}

extension ModifiedRequest: CompositionRequest where Base: CompositionRequest {
    /// Returns a copy with a deadline for the whole batch or chain; see ``CompositionRequest/deadline(_:)``.
    public func deadline(_ limit: Duration?) -> Self { ModifiedRequest(base.deadline(limit), changes) }

    /// Returns a copy with a tag for the batch or chain; see ``CompositionRequest/tag(_:)``.
    public func tag(_ tag: String) -> Self { ModifiedRequest(base.tag(tag), changes) }

    /// Returns a copy with a further accessory of the batch or chain; see ``CompositionRequest/accessory(_:)``.
    public func accessory(_ accessory: any CompositionAccessory) -> Self {
        ModifiedRequest(base.accessory(accessory), changes)
    }
}
