/// A request of a composition, and how it starts in the background where its types allow that.
struct Member<R: Request> {
    let request: R
    private let beginInBackground:
        (nonisolated(nonsending) @Sendable (R, Part, @escaping Part.Deliver<R.Model>) async -> Void)?

    /// A request that stays on its caller.
    init(staying request: R) {
        self.request = request
        beginInBackground = nil
    }

    /// A request that may leave its caller.
    init(_ request: R) where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
        self.request = request
        beginInBackground = Self.backgroundStart
    }

    private init(_ request: R, like other: Member) {
        self.request = request
        beginInBackground = other.beginInBackground
    }

    /// How another request of the same type starts.
    func member(_ request: R) -> Member { Member(request, like: self) }

    func begin(_ part: Part, then deliver: @escaping Part.Deliver<R.Model>) async {
        guard let beginInBackground else { return await part.begin(request, then: deliver) }
        await beginInBackground(request, part, deliver)
    }
}

extension Member: Sendable where R: Sendable {}

extension Member where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
    fileprivate static var backgroundStart:
        nonisolated(nonsending) @Sendable (R, Part, @escaping Part.Deliver<R.Model>) async -> Void
    {
        { request, part, deliver in await part.beginInBackground(request, then: deliver) }
    }
}
