internal import Foundation

/// The request of a send as its caller has made it, and how its response will be read.
///
/// A class, because the options of a transport, which have it, are copied often.
package final class SentRequest: Sendable {
    /// Only read as a type that is `Sendable`.
    private nonisolated(unsafe) let request: any Request
    /// The name of the request's type.
    package let typeName: String
    /// The filter that unwraps the response.
    package let filter: any ResponseFilter
    /// The decoder of the model.
    package let decoder: any DataDecoder
    /// The path of the model in the payload.
    package let path: JSONPath
    /// The names of values that are secret.
    package let secrets: Secrets
    /// Whether the model is made of JSON.
    package let readsJSON: Bool

    init<R: Request>(_ request: R, of settings: Settings) {
        self.request = request
        typeName = RequestType.of(R.self).name
        secrets = settings.config.value.secrets
        // What reads the body in another way, such as `raw`, does not change what the service sends.
        var (own, isChanged): (any Request, Bool) = (request, false)
        while !(own is any ModifiableRequest), let wrapper = own as? any RequestWrapper {
            (own, isChanged) = (wrapper.base, true)
        }
        let settings = isChanged ? Settings(settings.config, RequestValues(own)) : settings
        let (formatter, place) = (own.formatter, own.formatter as? any PathFormatter)
        filter = settings.filter.value
        decoder = place?.decoder ?? settings.request.service.decoding(over: settings.config).decoder
        path = place?.path ?? .payload
        readsJSON = formatter.readsJSON
    }

    /// The name of a type of requests.
    package static func name<R: Request>(of type: R.Type) -> String { RequestType.of(type).name }

    /// Whether the request, or the one that it changes by modifiers, has a type.
    package func contains(_ type: ObjectIdentifier) -> Bool {
        first { ObjectIdentifier(Swift.type(of: $0)) == type ? () : nil } != nil
    }

    /// Whether it is a page after the first, with a parameter or a URL that the request itself does not have.
    package var isLaterPage: Bool { first { $0 is any LaterPage ? () : nil } != nil }

    /// Returns the request, or the one that it changes by modifiers, if it has this type.
    package func value<R: Sendable>(as type: R.Type) -> R? { first { $0 as? R } }

    /// Returns the request, or the one that it changes by modifiers, if it has this type, which is sent on the main actor
    /// unless it is `Sendable`.
    @MainActor
    package func valueOnMain<R: Request>(as type: R.Type) -> R? { first { $0 as? R } }

    private func first<Value>(_ match: (any Request) -> Value?) -> Value? {
        var request = request
        while true {
            if let value = match(request) { return value }
            guard let wrapper = request as? any RequestWrapper else { return nil }
            request = wrapper.base
        }
    }
}

/// A request that is sent with a parameter or a URL that its base does not have.
protocol LaterPage {}

/// A formatter that decodes the value at a path.
protocol PathFormatter {
    var path: JSONPath { get }
    /// The decoder of the formatter's own, or `nil` for the service's.
    var decoder: (any DataDecoder)? { get }
}

extension TransportOptions {
    /// The request of the send, for a ``RequestReadingTransport`` only.
    package var request: SentRequest? {
        get { note.value as? SentRequest }
        set { note.value = newValue }
    }
}

extension OutgoingRequest {
    /// The parts of the path that the request marks as secret, percent-decoded.
    package var secretPathTexts: [String] {
        let text = notes.declared?.text.unicodeScalars.split(separator: "\u{2}", omittingEmptySubsequences: false) ?? []
        return text.dropFirst().map { part in
            let sent = String(part.prefix { $0 != "\u{3}" })
            return sent.removingPercentEncoding ?? sent
        }
    }
}
