/// The source of a resolved setting.
public enum SettingSource: String, Sendable, Hashable, Comparable {
    /// The sources in ascending precedence: a value of `request` overrides `service`, `config` and `library`.
    case library, config, service, request

    private var rank: Int {
        switch self {
        case .library: 0
        case .config: 1
        case .service: 2
        case .request: 3
        }
    }

    /// Whether the first source has the lower precedence.
    public static func < (one: SettingSource, other: SettingSource) -> Bool { one.rank < other.rank }
}

/// A resolved value and its source.
struct ResolvedSetting<Value: Sendable>: Sendable {
    let value: Value
    let source: SettingSource
}

/// A setting that can be inherited from the service or the config.
protocol Inheritable {
    /// Whether the value is inherited.
    var isInherited: Bool { get }
}

extension Acceptance: Inheritable { static let standard = Acceptance() }
extension Authentication: Inheritable { var isInherited: Bool { self == .inherited } }
extension Authorization: Inheritable { var isInherited: Bool { scheme == .inherited } }
extension CachePolicy: Inheritable { var isInherited: Bool { if case .inherited = self { true } else { false } } }
extension CacheStorage: Inheritable { var isInherited: Bool { self == .inherited } }
extension RedirectPolicy: Inheritable { var isInherited: Bool { maximumHops == nil } }
extension RetryPolicy: Inheritable { var isInherited: Bool { maximumAttempts == nil } }
extension Optional: Inheritable { var isInherited: Bool { if case .none = self { true } else { false } } }
extension ParameterEncoding: Inheritable {}
extension Throttle: Inheritable {}
