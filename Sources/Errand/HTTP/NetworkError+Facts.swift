/// The consequences of a failure, for retries, a CDN's next URL, stale responses, circuits, reconnections and refreshes.
struct FailureFacts: Sendable, Hashable {
    /// The party that has to change for the same request to succeed.
    enum Blame: Sendable, Hashable {
        /// The request, its policies, or a file of this device.
        case caller
        case proxy
        /// The path to the server, including a server that cannot be reached.
        case network
        case server
    }

    let blame: Blame
    /// Whether the same request may succeed later.
    let isTransient: Bool
    /// Whether no complete response was received and the same request may succeed at once.
    ///
    /// Whether it may be sent twice depends on its method and its body.
    let isRepeatable: Bool

    init(_ blame: Blame, isTransient: Bool = false, isRepeatable: Bool = false) {
        (self.blame, self.isTransient, self.isRepeatable) = (blame, isTransient, isRepeatable)
    }

    /// Whether another server may respond where this one failed.
    var isOfHost: Bool { blame == .network || blame == .server }
}

extension NetworkError.Reason {
    /// Whether the response was received, and its content exceeds a limit or cannot be decoded.
    ///
    /// What depends on the status then does not depend on the content: an error response is rejected by its status.
    package var isOfContent: Bool {
        switch self {
        case .invalidContentCoding, .bodyTooLarge, .tooLarge: true
        default: false
        }
    }

    /// The consequences of the reason.
    var facts: FailureFacts {
        switch self {
        case .status(let code): .ofStatus(code)
        case .hostNotFound, .connectionRefused, .noConnection, .connectionReset, .closedWithoutResponse, .closedInBody,
            .closedWithoutCloseNotify, .sendFailed:
            FailureFacts(.network, isTransient: true, isRepeatable: true)
        case .idleTimeout, .deadlineExceeded: FailureFacts(.network, isTransient: true)
        // Only its place, on this device, is known.
        case .other: FailureFacts(.caller, isTransient: true)
        // The proxy will refuse the same again.
        case .proxyRefused(400..<500), .invalidProxy: FailureFacts(.proxy)
        case .proxyRefused, .proxyUnreachable: FailureFacts(.proxy, isTransient: true, isRepeatable: true)
        case .circuitOpen: FailureFacts(.server, isTransient: true)
        default:
            switch kind {
            case .invalidResponse: FailureFacts(.server, isTransient: true)
            case .insecureConnection: FailureFacts(.server)
            default: FailureFacts(.caller)
            }
        }
    }
}

extension FailureFacts {
    /// Returns the consequences of a rejected status (RFC 9110, section 15; RFC 6585, section 4).
    static func ofStatus(_ code: Int) -> FailureFacts {
        switch code {
        case 408: FailureFacts(.network, isTransient: true)
        case 429: FailureFacts(.caller, isTransient: true)
        case 500...: FailureFacts(.server, isTransient: true)
        default: FailureFacts(.caller)
        }
    }
}

extension NetworkError {
    /// The consequences of the error.
    var facts: FailureFacts {
        if case .status(403) = reason, response.map(RetryAfter.isLimit) == true { return .ofStatus(429) }
        // The server of this request has rejected the credential; whether a refresh may succeed depends on its own failure.
        guard case .refreshFailed = reason else { return reason.facts }
        return FailureFacts(.caller, isTransient: (underlying as? NetworkError)?.facts.isTransient ?? false)
    }
}
