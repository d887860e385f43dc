/// The source of a response.
public enum ResponseSource: Sendable {
    /// The response was received in this send.
    case network
    /// A cached response of this age.
    case cache(age: Duration)
    /// A cached response that the server validated, or whose missing part it sent.
    case revalidated
    /// A stale response of this age, used because the network failed with this error.
    case stale(age: Duration, error: any Error)

    /// Whether the body was stored before this send.
    public var isFromCache: Bool { if case .network = self { false } else { true } }
}
