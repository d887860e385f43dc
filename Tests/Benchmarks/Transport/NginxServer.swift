import Foundation

/// nginx, which is faster than any client, in a process that ends with this object or with this process.
final class NginxServer {
    let url: URL
    private let process = Process()
    private let input = Pipe()
    private let folder: URL

    /// Starts the server; `nil` if it is not installed.
    init?() throws {
        let known = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].map { URL(fileURLWithPath: $0) }
        let installed = known.first { FileManager.default.isExecutableFile(atPath: $0.path) }
        guard let program = ChildProcess.program("nginx") ?? installed else { return nil }
        folder = FileManager.default.temporaryDirectory.appending(path: "errand-nginx-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let port = try Self.freePort()
        guard let url = URL(string: "http://127.0.0.1:\(port)/") else { return nil }
        self.url = url
        try Data(Self.configuration(port).utf8).write(to: folder.appending(path: "nginx.conf"))
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Started from a thread of Dispatch, both programs have all signals blocked, including SIGCHLD, so nothing waits for
        // it.
        process.arguments = [
            "-c", "\"$0\" -p \"$1\" -c nginx.conf 2>/dev/null & read -r line; kill -9 $!", program.path, folder.path,
        ]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        for _ in 0..<200 where !Self.accepts(port) { usleep(10_000) }
    }

    deinit {
        // Where this fails the end of this process closes it.
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        // The rest of a temporary folder does no harm.
        try? FileManager.default.removeItem(at: folder)
    }

    private static func configuration(_ port: UInt16) -> String {
        """
        daemon off; master_process off; pid nginx.pid; error_log /dev/null;
        events { worker_connections 4096; }
        http {
            access_log off; keepalive_requests 100000000; client_max_body_size 0;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port) backlog=1024;
                location /user {
                    default_type application/json;
                    add_header Last-Modified "Fri, 20 Nov 2026 09:30:00 GMT";
                    add_header ETag '"655f6a1e-46"';
                    add_header Accept-Ranges bytes;
                    return 200 '{"id":7,"name":"Ada Lovelace","email":"ada@example.org","active":true}';
                }
            }
        }
        """
    }

    private static func freePort() throws -> UInt16 {
        try withSocket { descriptor, address in
            var address = address
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let bound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(descriptor, pointer, size) == 0 && getsockname(descriptor, pointer, &size) == 0
                }
            }
            guard bound else { throw ChildProcess.Failed(description: "no port is free") }
            return UInt16(bigEndian: address.sin_port)
        }
    }

    private static func accepts(_ port: UInt16) -> Bool {
        let accepts = try? withSocket { descriptor, address in
            var address = address
            address.sin_port = port.bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
        return accepts == true
    }

    private static func withSocket<Value>(_ body: (Int32, sockaddr_in) throws -> Value) throws -> Value {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return try body(descriptor, address)
    }
}
