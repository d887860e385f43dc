import Errand
import Foundation

/// Serves one connection on its own thread: reads one request after the other, and sends the responses.
struct MockConnection {
    let id: Int
    let socket: Socket
    let core: ServerCore

    /// Serves until the client or the server closes the connection.
    func run() {
        let thread = ObjectIdentifier(Thread.current)
        core.state.withLock { $0.connections[id]?.thread = thread }
        var reader = RequestReader(socket)
        var ending = ResponseWriter.Ending.keepOpen
        while ending == .keepOpen {
            do throws(ConnectionEnded) { ending = try serveOne(&reader) } catch { ending = .close }
        }
        if ending == .reset { socket.armReset() }
        core.closeConnection(id, socket, resets: ending == .reset)
    }

    private func serveOne(_ reader: inout RequestReader) throws(ConnectionEnded) -> ResponseWriter.Ending {
        do throws(RequestReader.Failure) {
            let request = try readRequest(&reader)
            do throws(ConnectionEnded) { return try respond(to: request) } catch { throw .ended }
        } catch {
            switch error {
            case .ended: throw ConnectionEnded()
            case .refused(let status, let reason):
                let refusal = MockResponse.text("\(reason)\n", status: status).closingConnection()
                try socket.send(WireHead(refusal, .length(refusal.body.count), closes: true).ended() + refusal.body)
                // Unread bytes of the client would turn the close into a reset, which could discard the response.
                socket.finishWriting(drainingFor: .seconds(1))
                return .close
            }
        }
    }

    private func readRequest(_ reader: inout RequestReader) throws(RequestReader.Failure) -> MockRequest {
        let head = try reader.readHead()
        var body = Data()
        if head.isChunked || head.contentLength != nil {
            let limit = core.state.withLock { $0.maximumBodyByteCount }
            body = try reader.readBody(of: head, limit: limit) { () throws(ConnectionEnded) in
                try socket.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            }
        }
        return MockRequest(head: head, body: body, connection: id)
    }

    private func respond(to received: MockRequest) throws(ConnectionEnded) -> ResponseWriter.Ending {
        var (request, response) = (received, MockResponse())
        switch core.receive(&request) {
        case .response(let ready, let wire):
            response = core.script.withFault(ready)
            if let wire, response.fault == nil, request.head.keepsAlive, request.method != .head {
                try socket.send(wire)
                return .keepOpen
            }
        case .handler(let handler): response = core.script.withFault(handler(request))
        case .asyncHandler(let handler):
            let result = try ThreadTask.run({ [request] in try await handler(request) }, until: { socket.hasEnded })
            response = core.script.withFault(MockResponse(result))
        case .transport: break
        }
        let writer = ResponseWriter(
            socket: socket,
            response: response,
            isHead: request.method == .head,
            keepsAlive: request.head.keepsAlive
        )
        return try writer.write()
    }
}
