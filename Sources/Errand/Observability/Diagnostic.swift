/// A declaration that has no effect, or probably another one than intended.
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
    /// A subclass declares members of ``Request`` that the class that conforms to it doesn't declare.
    ///
    /// Swift calls the members of the class that conforms, so those of the subclass are ignored. This is found in debug
    /// builds only.
    case ignoredMembers([String], of: String, conforming: String)
    /// A request declares computed properties that have the name of a member of ``Request`` and another type.
    ///
    /// To Swift they are properties of the request's own, and have no effect. The texts are the spellings that have one, such as
    /// `var headers: HTTPHeaders`. This is found in debug builds only.
    case mistypedMembers([String], of: String)

    /// What is wrong, and what to do.
    public var description: String {
        switch self {
        case .cachePolicyWithoutCache:
            "the cache policy has no effect, because there is no cache: set NetworkConfig.cache"
        case .cachePolicyWithoutNamedCache(let name):
            "the cache policy has no effect, because there is no cache '\(name)': add it to NetworkConfig.namedCaches"
        case .contentWithoutModel:
            "the response has content, and the model is Void: declare a 'typealias Model' other than Void, or 'var formatter: "
                + "VoidFormatter { VoidFormatter() }' to ignore the content"
        case .ignoredMembers(let members, let type, let base):
            "\(members.joined(separator: ", ")) of \(type) ignored, because \(base), which conforms to Request, does not "
                + "declare the same: declare it there too, or replace the class by a protocol that refines Request"
        case .mistypedMembers(let spellings, _):
            "a property of another type than in Request has no effect: declare '\(spellings.joined(separator: "', '"))', or "
                + "choose another name"
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
