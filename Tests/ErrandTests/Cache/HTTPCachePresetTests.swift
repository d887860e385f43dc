import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct HTTPCachePresetTests {
    @Test(arguments: [true, false])
    func oneLineMakesAPlainHTTPCache(onDisk: Bool) async throws {
        let folder = try TemporaryDirectory()
        let config = NetworkConfig.test.withHTTPCache(in: onDisk ? folder.url : nil)
        let rig = Rig(config: config) { _ in
            .json("1", headers: ["Cache-Control": "max-age=60"])
        }
        let request = GeneralRequest("/x").expecting(Int.self)
        #expect(try await !rig.agent.response(for: request).source.isFromCache)
        #expect(try await rig.agent.response(for: request).source.isFromCache)
        await config.cache?.flush()
        #expect(folder.files.isEmpty == !onDisk)
    }
}
