internal import Foundation

extension ResponseStream {
    /// Returns the JSON values of the lines of the body (NDJSON, JSON Lines), decoded one by one in the background.
    ///
    /// ```swift
    /// let stream = try await agent.bytes(for: ListOrders())
    /// for try await user in stream.jsonLines(of: User.self) { print(user.name) }
    /// ```
    ///
    /// Lines that are empty or contain only spaces, tabs and CRs are skipped. Each line passes the JSON guard. The decoder is the
    /// service's, then the config's.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - maximumByteCount: The maximum size of a line. A longer one fails with
    ///     ``NetworkError/Reason/tooLarge(_:)``, without being read further. The default is 16 MiB.
    /// - Returns: The values.
    public func jsonLines<T: Decodable & Sendable>(
        of type: T.Type,
        maximumByteCount: Int = 16 << 20
    ) -> JSONLines<T> {
        JSONLines(reader: LineReader(self, maximumByteCount: maximumByteCount)) { line, stream in
            try await stream.decodeInBackground(type, from: line)
        }
    }

    /// Returns the JSON values of the lines of the body, decoded one by one on the actor that iterates.
    ///
    /// It is the same function for types that are not `Sendable`.
    public func jsonLines<T: Decodable>(of type: T.Type, maximumByteCount: Int = 16 << 20) -> JSONLines<T> {
        JSONLines(reader: LineReader(self, maximumByteCount: maximumByteCount)) { line, stream in
            try stream.decode(type, from: line)
        }
    }

    @concurrent
    private func decodeInBackground<T: Decodable & Sendable>(_ type: T.Type, from line: Data) async throws -> T {
        try decode(type, from: line)
    }

    private func decode<T: Decodable>(_ type: T.Type, from line: Data) throws -> T {
        var payload = Payload(line)
        payload.decoder = decoder
        return try payload.decode(type)
    }
}

/// The lines of a ``ResponseStream``, each decoded from JSON.
///
/// They are read once; an iterator keeps the bytes of the chunk that it has not returned yet.
public struct JSONLines<Element: Decodable>: AsyncSequence {
    fileprivate typealias Decode = (Data, ResponseStream) async throws -> Element

    fileprivate let reader: LineReader
    fileprivate let decode: Decode

    /// Returns an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader, decode: decode) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: LineReader
        fileprivate let decode: Decode

        /// Returns the next value, or `nil` after the last one.
        ///
        /// - Throws: ``NetworkError`` if the exchange failed, if the line is too long, or if it cannot be decoded, with the
        ///   number of the line, starting at 1; an error of the type's own `init(from:)`; or `CancellationError`. Each
        ///   ends the sequence, after the values before it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            while let line = try await reader.next(isolation: actor) {
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
                do {
                    return try await decode(line, reader.stream)
                } catch let error as NetworkError {
                    throw reader.fail(error.inLine(reader.count, decoding: Element.self))
                } catch {
                    throw reader.fail(error)
                }
            }
            return nil
        }

        /// Returns the next value, or `nil` after the last one.
        ///
        /// - Throws: What ``next(isolation:)`` throws.
        public mutating func next() async throws -> Element? { try await next(isolation: #isolation) }
    }
}

extension NetworkError {
    /// Returns the error of decoding one line, with its number.
    fileprivate func inLine(_ number: Int, decoding type: Any.Type) -> NetworkError {
        var detail = reason.sentence
        if case .model(_, let text) = reason { detail = text }
        if case .invalidJSON(let error) = reason { detail = error.sentence }
        return NetworkError(
            .model(type: "\(type)", detail: "line \(number): \(detail)"),
            underlying: underlying ?? self
        )
    }
}
