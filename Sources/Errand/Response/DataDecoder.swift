public import Foundation

/// Makes values of bytes: `JSONDecoder`, or a decoder of your own.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - data: JSON that passed the library's own guard.
    /// - Returns: The value.
    /// - Throws: `DecodingError`, which becomes a ``NetworkError``; anything else reaches the caller unchanged.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// Foundation's decoder, with whatever strategies it is set to.
extension JSONDecoder: DataDecoder {}
