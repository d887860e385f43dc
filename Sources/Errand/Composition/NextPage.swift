internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A later page of a request: that request, with another URL or one parameter changed.
struct NextPage<Base: Request>: _RequestWrapper {
    typealias Model = Base.Model

    let base: Base
    let step: PageRule<Base.Model>.Step

    private var link: String? { if case .link(let url) = step { url.absoluteString } else { nil } }

    /// The parameter that is changed, when it belongs to the request's own or not.
    private func changing(_ parameters: Parameters, where isMeant: (String) throws -> Bool) rethrows -> Parameters {
        guard case .parameter(let name, let value) = step, try isMeant(name) else { return parameters }
        var changed = parameters
        switch value {
        case .text(let text): changed[name] = text
        case .number(let number): changed[name] = number
        }
        return changed
    }

    var path: String { link ?? base.path }
    var query: Parameters {
        get throws {
            // A link has its query already.
            guard link == nil else { return Parameters() }
            return try changing(base.query) { try !base.parameters.names.contains($0) }
        }
    }
    var parameters: Parameters {
        get throws {
            let own = try base.parameters
            guard link == nil else { return isInQuery ? Parameters() : own }
            return changing(own) { own.names.contains($0) }
        }
    }
    private var isInQuery: Bool {
        switch base.method {
        case .get, .head, .delete: true
        default: false
        }
    }
    var filter: Base.Filter { base.filter }
    var formatter: Base.Formatter { base.formatter }
    func didProduce(_ model: Base.Model, from response: RawResponse) throws {
        try base.didProduce(model, from: response)
    }
    /// One page is not another, although they have the key of one request.
    var duplicateKey: String { base.duplicateKey.isEmpty ? "" : "\(base.duplicateKey)\n\(step)" }
    var usesBaseParameters: Bool { link == nil ? base.usesBaseParameters : false }
    func customURLRequest() throws -> URLRequest? { link == nil ? try base.customURLRequest() : nil }
}

extension NextPage: Sendable where Base: Sendable {}
