public import Foundation

/// A type that decodes values from bytes, such as `JSONDecoder`.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: JSON that passed the library's JSON guard.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, which is converted to a ``NetworkError``, or an error that reaches the caller
    ///   unchanged.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// Foundation's decoder, with the strategies that are set on it.
extension JSONDecoder: DataDecoder {}

/// What is decoded is not parsed as a tree first.
extension LosslessJSONDecoder: DataDecoder {}
