public import Foundation

/// Makes values of bytes: `JSONDecoder`, or a decoder of your own.
public protocol DataDecoder: Sendable {
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

extension JSONDecoder: DataDecoder {}
