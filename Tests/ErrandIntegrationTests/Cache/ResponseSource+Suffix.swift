import Errand

extension ResponseSource {
    /// Nothing for the network, or a space and the name of the source.
    var suffix: String {
        switch self {
        case .network: ""
        case .cache: " cache"
        case .revalidated: " revalidated"
        case .stale: " stale"
        }
    }
}
