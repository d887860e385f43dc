import Foundation
import Testing

@testable import Errand

@Suite struct SessionExchangeTests {
    private func exchange() throws -> SessionExchange {
        let url = try #require(URL(string: "http://127.0.0.1/x"))
        let request = OutgoingRequest(method: .put, url: url, body: .data(Data("abc".utf8)))
        return SessionExchange(request: request, options: TransportOptions(), control: DispatchQueue(label: "test"))
    }

    private func firstRead(of stream: InputStream?) -> Int? {
        guard let stream else { return nil }
        stream.open()
        var buffer = [UInt8](repeating: 0, count: 10)
        return stream.read(&buffer, maxLength: buffer.count)
    }

    @Test func bodyIsSentAgainOnAnotherConnection() throws {
        let exchange = try exchange()
        #expect(firstRead(of: exchange.renewedBodyStream()) == 3)
        #expect(!exchange.isCancelled)
    }

    @Test func cancelledExchangeDoesNotSendItsBodyAgain() throws {
        let exchange = try exchange()
        exchange.stop()
        #expect(exchange.isCancelled)
        #expect(firstRead(of: exchange.renewedBodyStream()) == -1)
    }
}
