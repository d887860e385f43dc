internal import Foundation

// The diagnostics of a send, once for each type of request.

extension PreparedRequest {
    /// Whether its cache policy has no effect.
    private var ignoresCachePolicy: Bool { self.cacheUse != nil && settings.cache == nil }

    /// Whether its response would be stored or shared if all hooks had a scope.
    private var lacksScope: Bool {
        self.scopes.contains(nil) && (self.cacheUse != nil && settings.cache != nil || duplicatePolicy == .share)
    }

    /// The hooks that prevent storing and sharing its response, or `nil` if there are none.
    var scopeDiagnostic: Diagnostic? { lacksScope ? .hooksWithoutScope(hooksWithoutScope) : nil }

    /// The problem with its cache policy, or `nil` if there is none.
    var cacheDiagnostic: Diagnostic? {
        guard ignoresCachePolicy else { return nil }
        if case .named(let name) = settings.cacheStorage.value { return .cachePolicyWithoutNamedCache(name) }
        return .cachePolicyWithoutCache
    }

    /// Whether there may be something to report before it is sent; without a cache policy or sharing, only in debug builds.
    var isDiagnosed: Bool {
        #if DEBUG
        true
        #else
        ignoresCachePolicy || lacksScope
        #endif
    }
}

extension Pipeline {
    /// Reports problems of a request's declarations that its response shows.
    func diagnose(_ accepted: borrowing AcceptedResponse, as send: Send) async {
        if accepted.payload.hasMembers { await report(.contentWithoutModel, of: send) }
    }

    /// Reports problems of a request's declarations before it is sent.
    func diagnose(_ request: some Request, _ prepared: PreparedRequest, as send: Send) async {
        for case let diagnostic? in [prepared.cacheDiagnostic, prepared.scopeDiagnostic] {
            await report(diagnostic, of: send)
        }
        #if DEBUG
        for diagnostic in IgnoredMembers.diagnostics(of: request) { await report(diagnostic, of: send) }
        #endif
    }

    func report(_ diagnostic: Diagnostic, of send: Send) async {
        guard diagnostics.isNew(diagnostic, of: send.type.id) else { return }
        await send.notify(.didDiagnose(diagnostic))
        #if !DEBUG
        guard case .hooksWithoutScope = diagnostic else { return }
        #endif
        guard !send.accessories.names.contains("LoggingAccessory") else { return }
        StandardError.write("Errand: \(send.context.typeName): \(diagnostic)".oneLine + "\n")
    }
}

extension Payload {
    /// Whether it begins as a JSON object or array that is not empty.
    var hasMembers: Bool {
        let beginning = data.prefix(64).filter { $0 > 0x20 }
        return beginning.count > 2 && "{[".utf8.contains(beginning[beginning.startIndex])
    }
}
