import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Helpers that the suites on responses of others share.
protocol CacheForeignSuite {
    /// The clock of the caches.
    var clock: CacheClock { get }
    var server: MockServer { get }
}

extension CacheForeignSuite {
    static var age: CachePolicy { .cacheElseNetwork(maxAge: .seconds(600)) }
    var request: GeneralRequest<DefaultFormatter<String>> { GeneralRequest("/x").expecting(String.self) }

    func agent(_ policy: CachePolicy = .http, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        let clock = clock
        return server.agent(ResponseCache(disk: nil) { clock.now }, policy, change)
    }
}
