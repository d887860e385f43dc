/// A declaration that has no effect, or probably not the intended one, or content of a response that is not used.
///
/// An agent reports each once for each type of request: as ``AccessoryEvent/didDiagnose(_:)``, which ``LoggingAccessory``
/// writes, and in debug builds of the library without a logging accessory as a line on the standard error. No send fails
/// because of one.
@nonexhaustive
public enum Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The cache policy uses a cache, and the config has none, so nothing is stored.
    case cachePolicyWithoutCache
    /// The cache policy uses a named cache, and ``NetworkConfig/namedCaches`` has none of this name, so nothing is stored.
    case cachePolicyWithoutNamedCache(String)
    /// The response has content, and the model is `Void`, which Swift infers if a request declares no `Model`.
    ///
    /// It is reported only for the default formatter. A request that ignores the content declares
    /// `var formatter: VoidFormatter { VoidFormatter() }`, and is not reported.
    case contentWithoutModel
    /// A stream of server-sent events ended within an event, which is dropped as the HTML standard requires, although the response
    /// was complete: no empty line ended the event.
    ///
    /// If it is needed, read ``ResponseStream/lines``.
    case unfinishedEvent
    /// A subclass declares members of ``Request`` that the class that conforms to it doesn't declare.
    ///
    /// Swift calls the members of the class that conforms, so the members of the subclass are ignored. Only stored properties
    /// are found, in debug builds only.
    case ignoredMembers([String], of: String, conforming: String)
    /// A request declares stored properties that have the name of a member of ``Request`` and another type.
    ///
    /// To Swift they are the request's own properties, and have no effect. The texts are the spellings that have an effect,
    /// such as `var headers: HTTPHeaders`. Properties that are more likely parameters, or that other members are made from,
    /// such as `let query: String`, are not reported. This is found in debug builds only.
    case mistypedMembers([String], of: String)
    /// A stored property of an `Encodable` request has the name of a member of ``Request`` and another type, and is sent as a
    /// parameter.
    ///
    /// The texts are the spellings of the members, such as `var headers: HTTPHeaders`. A parameter of that name is declared with
    /// an underscore, `_headers`, or listed by coding keys whose raw type is `String`. This is found in debug builds only.
    case membersSentAsParameters([String], of: String)
    /// A stored property of an `Encodable` request is also a likely parameter, and is not sent, because it is a member of
    /// ``Request``: its ``Request/tag``.
    ///
    /// A parameter of that name is declared with an underscore, `_tag`, or listed by coding keys whose raw type is `String`; the
    /// tag of all requests of a type is a computed property. This is found in debug builds only.
    case parametersNotSent([String], of: String)
    /// A request stores a formatter whose `Output` is not, or is not declared to be, its ``Request/Model``, the first text.
    ///
    /// To Swift it is the request's own property, and the default formatter makes the model. This is found in debug builds
    /// only.
    case formatterOfAnotherModel(String, of: String)
    /// Nothing is stored or shared, because adapters or interceptors of these types have no
    /// ``CredentialScoping/credentialScope(for:)``.
    ///
    /// In release builds, too, it is a line on the standard error if there is no logging accessory.
    case hooksWithoutScope([String])

    /// The problem, and what to do.
    public var description: String {
        switch self {
        case .cachePolicyWithoutCache:
            "the cache policy has no effect, because there is no cache: set NetworkConfig.cache"
        case .cachePolicyWithoutNamedCache(let name):
            "the cache policy has no effect, because there is no cache '\(name)': add it to NetworkConfig.namedCaches"
        case .contentWithoutModel:
            "the response has content, and the model is Void: declare a 'typealias Model' other than Void, or 'var formatter: "
                + "VoidFormatter { VoidFormatter() }' to ignore the content"
        case .unfinishedEvent:
            "the last event of the stream was dropped, because no empty line ended it: if it is needed, read the lines of the "
                + "stream"
        case .ignoredMembers(let members, let type, let base):
            "\(members.joined(separator: ", ")) of \(type) ignored, because \(base), which conforms to Request, does not "
                + "declare the same: declare it there too, or replace the class by a protocol that refines Request"
        case .mistypedMembers(let spellings, _):
            "a property of another type than in Request has no effect: declare '\(spellings.joined(separator: "', '"))', or "
                + "choose another name"
        case .membersSentAsParameters(let spellings, _):
            "a property of another type than in Request is sent as a parameter: declare "
                + "'\(spellings.joined(separator: "', '"))'; a parameter of that name has an underscore, as in '_headers'"
        case .parametersNotSent(let names, _):
            "not sent as a parameter, because Request has a member of that name and type: \(names.joined(separator: ", ")); "
                + "a parameter is declared as '_\(names.joined(separator: "', '_"))', and the member as a computed property"
        case .formatterOfAnotherModel(let model, _):
            "the formatter has no effect, because its Output is not declared to be the Model, \(model): declare "
                + "'var formatter: some ResponseFormatter<\(model)>', or the Model that it makes"
        case .hooksWithoutScope(let hooks):
            "nothing is stored or shared, because of \(hooks.joined(separator: ", ")): implement credentialScope(for:): "
                + "return the user's ID, or \"\" if the response is the same for every user"
        }
    }
}

/// The diagnostics that an agent has reported.
final class ReportedDiagnostics: Sendable {
    private struct Key: Hashable {
        let diagnostic: Diagnostic
        let type: ObjectIdentifier
    }

    private let reported = Lock<Set<Key>>([])

    /// Returns whether a diagnostic is the first of its kind for a type of request.
    func isNew(_ diagnostic: Diagnostic, of type: ObjectIdentifier) -> Bool {
        reported.withLock { $0.insert(Key(diagnostic: diagnostic, type: type)).inserted }
    }
}
