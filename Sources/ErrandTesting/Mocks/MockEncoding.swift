import Errand
public import Foundation

/// The error of a typed mock whose reply cannot become the response that its request reads.
public struct MockEncodingError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The reason, and what to do.
    public let description: String
    /// The same as ``description``.
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }
}

/// Makes the response of which a request makes a model: the formatter, the decoder and the filter, in the other direction.
struct MockEncoding: Sendable {
    /// What a model is made of, besides JSON.
    struct Model: Sendable {
        let isText: Bool
        init<M>(_ type: M.Type) { isText = type == String.self }
    }

    private let sent: SentRequest
    private let model: Model
    let request: MockRequest

    init(_ sent: SentRequest, _ model: Model, to request: MockRequest) {
        (self.sent, self.model, self.request) = (sent, model, request)
    }

    private var filters: [any ResponseFilter] { Self.flat(sent.filter) }

    private static func flat(_ filter: any ResponseFilter) -> [any ResponseFilter] {
        (filter as? FilterChain).map { $0.filters.flatMap(flat) }
            ?? (filter is PassthroughFilter || filter is InheritedFilter ? [] : [filter])
    }

    func response<Reply: Encodable>(_ reply: Reply) throws -> MockResponse {
        if let bytes = reply as? Data {
            return .data(bytes, contentType: sent.readsJSON ? "application/json" : "application/octet-stream")
        }
        if let text = reply as? String {
            if !model.isText { return .json(text) }
            if !sent.readsJSON {
                return filters.isEmpty
                    ? .text(text) : .data(try wrapped(Data(text.utf8)), contentType: "application/json")
            }
        }
        let body = try body(of: reply)
        return body.isEmpty ? .status(204) : .data(body, contentType: "application/json")
    }

    func response(_ error: ServiceError) throws -> MockResponse {
        var filters = filters
        guard let last = filters.popLast() else {
            throw MockEncodingError(
                "\(sent.typeName) has no filter that reports a service error: throw a MockResponse, or set its filter"
            )
        }
        var body = try reversible(last).body(for: error, to: request)
        for filter in filters.reversed() { body = try reversible(filter).body(around: body, for: request) }
        let isByStatus = (last as? EnvelopeFilter)?.success == .status && error.response.statusCode / 100 == 2
        return .data(body, contentType: "application/json", status: isByStatus ? 400 : error.response.statusCode)
    }

    private func body<Reply: Encodable>(of reply: Reply) throws -> Data {
        let place = try sent.path.get()
        let isNothing = reply as? JSONValue == .null
        if isNothing, filters.isEmpty { return Data() }
        var payload = isNothing ? Data("null".utf8) : try encode(reply)
        func placed(in outer: Data?) throws -> Data {
            let outer = try outer.map { try JSONValue(parsing: $0) }
            return try JSONValue(parsing: payload).placed(at: place.steps[...], in: outer).data
        }
        if place.anchor == .payload, !place.steps.isEmpty { payload = try placed(in: nil) }
        let body = try wrapped(place.anchor == .root ? Data("null".utf8) : payload)
        return place.anchor == .root ? try placed(in: filters.isEmpty ? nil : body) : body
    }

    private func wrapped(_ payload: Data) throws -> Data {
        try filters.reversed().reduce(payload) { try reversible($1).body(around: $0, for: request) }
    }

    private func reversible(_ filter: any ResponseFilter) throws -> any ReversibleFilter {
        if let filter = filter as? any ReversibleFilter { return filter }
        throw MockEncodingError(
            "the mock cannot undo \(type(of: filter)) of \(sent.typeName): return a MockResponse, text or Data, or conform the "
                + "filter to ReversibleFilter"
        )
    }

    private func encode(_ value: some Encodable) throws -> Data {
        switch sent.decoder {
        case let decoder as any DataEncoder: return try decoder.encode(value)
        case let decoder as LosslessJSONDecoder:
            var encoder = LosslessJSONEncoder()
            (encoder.dates, encoder.data, encoder.floats) = (decoder.dates, decoder.data, decoder.floats)
            // The decoder reads the fraction that the encoder omits.
            if encoder.dates == .iso8601 { encoder.dates = .iso8601WithMilliseconds }
            encoder.userInfo = decoder.userInfo
            if case .converted = decoder.keys { throw unknown("names that a closure converts") }
            encoder.keys = decoder.keys
            return try encoder.encode(value)
        case let decoder as JSONDecoder: return try encoder(for: decoder).encode(value)
        default: throw unknown("\(type(of: sent.decoder))")
        }
    }

    private func encoder(for decoder: JSONDecoder) throws -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.userInfo = decoder.userInfo
        switch decoder.keyDecodingStrategy {
        case .useDefaultKeys: break
        case .convertFromSnakeCase: encoder.keyEncodingStrategy = .convertToSnakeCase
        default: throw unknown("names that a closure converts")
        }
        switch decoder.dateDecodingStrategy {
        case .deferredToDate: break
        case .secondsSince1970: encoder.dateEncodingStrategy = .secondsSince1970
        case .millisecondsSince1970: encoder.dateEncodingStrategy = .millisecondsSince1970
        case .iso8601: encoder.dateEncodingStrategy = .iso8601
        default: throw unknown("dates that a closure or a formatter decodes")
        }
        switch decoder.dataDecodingStrategy {
        case .deferredToData: encoder.dataEncodingStrategy = .deferredToData
        case .base64: break
        default: throw unknown("bytes that a closure decodes")
        }
        if case .convertFromString(positiveInfinity: let infinity, negativeInfinity: let negative, nan: let nan) =
            decoder.nonConformingFloatDecodingStrategy
        {
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: infinity,
                negativeInfinity: negative,
                nan: nan
            )
        }
        return encoder
    }

    private func unknown(_ what: String) -> MockEncodingError {
        MockEncodingError(
            "the mock cannot encode for \(what) of \(sent.typeName): return a MockResponse, text or Data, or conform the "
                + "decoder to DataEncoder"
        )
    }
}
