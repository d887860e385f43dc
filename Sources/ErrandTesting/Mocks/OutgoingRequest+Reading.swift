public import Errand
public import Foundation

extension OutgoingRequest {
    /// Returns the request as a server would receive it, to read its form, its cookies or its credentials.
    ///
    /// - Throws: The error of a `BodySource`.
    public func received() throws -> MockRequest {
        let body = try bodyData()
        let target = url.path() + (url.query().map { "?\($0)" } ?? "")
        var head = WireHead("\(method) \(target.hasPrefix("/") ? target : "/\(target)") HTTP/1.1")
        for field in headers { head.field(field.name, field.value) }
        do throws(RequestHead.Malformed) {
            var request = MockRequest(head: try RequestHead(head.ended()), body: body, connection: 0)
            request.url = url.absoluteString
            return request
        } catch {
            throw MockEncodingError("the request is none of HTTP: \(error.reason)")
        }
    }

    /// Decodes the body as JSON.
    ///
    /// - Throws: `DecodingError`, `JSONError` if the body is not JSON, or the error of a `BodySource`.
    public func json<T: Decodable>(_ type: T.Type = T.self) throws -> T { try received().json(type) }

    /// Returns the items of a form in their order, as ``MockRequest/formItems``.
    ///
    /// - Throws: The error of a `BodySource`.
    public func formItems() throws -> [MockFormItem] { try received().formItems }
}

extension OutgoingRequest {
    /// Returns the complete body, even if it is created while it is sent; empty if there is none.
    ///
    /// - Throws: The error of a ``BodySource``.
    public func bodyData() throws -> Data {
        guard case .source(let source) = body else { return body.data ?? Data() }
        let reader = try source.makeReader()
        var data = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
            guard count > 0 else { return data }
            data.append(contentsOf: piece[..<count])
        }
    }

    /// Returns the complete body as text; bytes that are not UTF-8 become replacement characters.
    ///
    /// - Throws: The error of a ``BodySource``.
    public func bodyText() throws -> String { String(decoding: try bodyData(), as: UTF8.self) }
}
