import Errand
import Foundation
import Synchronization

/// Makes a line of every event, as a log would, and counts its bytes instead of writing it.
final class LineAccessory: Accessory {
    private let byteCount = Atomic(0)

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        let (method, path) = (context.method.rawValue, context.url?.path() ?? "-")
        let line = "\(context.id) \(context.typeName) \(method) \(path) \(words(event))"
        byteCount.wrappingAdd(line.utf8.count, ordering: .relaxed)
    }

    private func words(_ event: AccessoryEvent) -> String {
        switch event {
        case .willStart: "starts"
        case .willStop(.success(let statusCode, _, let metrics)):
            "status \(statusCode) in \(metrics.total), first byte \(metrics.attempts.first?.firstByte ?? .zero)"
        case .willStop(.failure(let error)): "failed: \(error)"
        case .willStop(.cancelled): "cancelled"
        case .didStop: "stopped"
        default: "\(event)"
        }
    }
}
