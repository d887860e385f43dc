public import Errand
internal import Foundation

/// A position in a distributed trace, as the `traceparent` and `tracestate` fields name it (W3C Trace Context, level 1).
///
/// A server that handles a traced request binds its own position while it sends others:
///
/// ```swift
/// let received = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
/// let user = try await TraceContext.$current.withValue(received) { try await agent.send(GetUser(id: 7)) }
/// ```
public struct TraceContext: Sendable, Hashable {
    /// The position that requests continue, or `nil` if each send begins a trace of its own.
    @TaskLocal public static var current: TraceContext?

    /// The ID of the trace: 32 hexadecimal digits in lower case, not all 0.
    public let traceID: String
    /// The ID of the span: 16 hexadecimal digits in lower case, not all 0.
    public let spanID: String
    /// Whether the trace is recorded.
    public let isSampled: Bool
    /// The value of `tracestate`, passed on unchanged; empty for none.
    public let state: String

    /// Reads a position from the fields of a request; `nil` if the first value is not valid.
    ///
    /// - Parameters:
    ///   - traceparent: The value of the field, such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    ///   - tracestate: The value of the field, if there is one; dropped if it is not printable ASCII.
    public init?(traceparent: String, tracestate: String = "") {
        let format = #/(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?/#
        guard let match = traceparent.wholeMatch(of: format), match.1 != "00" || match.5 == nil else { return nil }
        // Other characters would make each request invalid that continues the trace.
        let isValid = tracestate.utf8.allSatisfy { 0x20...0x7E ~= $0 }
        (traceID, spanID, state) = (String(match.2), String(match.3), isValid ? tracestate : "")
        isSampled = UInt8(match.4, radix: 16).map { $0 & 1 == 1 } ?? false
    }

    private init(traceID: String, isSampled: Bool, state: String) {
        (self.traceID, self.isSampled, self.state) = (traceID, isSampled, state)
        spanID = Self.digits(.random(in: 1 ... .max))
    }

    /// The value of the field `traceparent`.
    public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// Returns the position of a new span within this one.
    public func child() -> TraceContext { TraceContext(traceID: traceID, isSampled: isSampled, state: state) }

    /// A new span of the trace that a send begins, the same for each of its attempts.
    static func beginning(send: Int, isSampled: Bool) -> TraceContext {
        let halves = seeds.map { digits(mixed($0 &+ UInt64(truncatingIfNeeded: send))) }
        return TraceContext(traceID: halves.joined(), isSampled: isSampled, state: "")
    }

    private static let seeds = [UInt64.random(in: 0 ... .max), .random(in: 0 ... .max)]

    /// A number of which each bit depends on each bit of another one (SplitMix64); 0 for one number alone.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// An adapter that adds `traceparent` and `tracestate`, so that a server's traces show the requests of the client.
///
/// Each attempt is a span of its own within ``TraceContext/current``, or within a trace that the send begins. A field that the
/// request has already is kept.
public struct TraceContextAdapter: RequestAdapter {
    private let isSampled: Bool

    /// Creates the adapter.
    ///
    /// - Parameter isSampled: Whether traces that a send begins are recorded.
    public init(isSampled: Bool = true) { self.isSampled = isSampled }

    /// An empty scope: it adds no credential.
    public func credentialScope(for context: RequestContext) -> String? { "" }

    /// Adds the fields.
    public func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
        guard !request.headers.contains("traceparent") else { return }
        let span = TraceContext.current?.child() ?? .beginning(send: context.id, isSampled: isSampled)
        request.headers["traceparent"] = span.traceparent
        if !span.state.isEmpty { request.headers["tracestate"] = span.state }
    }
}
