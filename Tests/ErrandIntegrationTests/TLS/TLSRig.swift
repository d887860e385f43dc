import Foundation

/// The rig for tests of TLS: a certificate authority of their own, and a process that trusts it.
///
/// libcurl reads the system's list of authorities and no other, so the tests run once more, in a process with a list of
/// its own bound over the system's. That takes Linux, root, and the programs below.
enum TLSRig {
    private static let programs = ["unshare", "mount", "openssl", "python3", "nginx"]

    /// Why the tests cannot run here, or `nil`.
    static let obstacle: String? = {
        guard FileManager.default.fileExists(atPath: list) else { return "there is no \(list)" }
        let missing = programs.filter { path(of: $0) == nil }
        guard missing.isEmpty else { return "\(missing.joined(separator: ", ")) missing" }
        let probe = try? run(["unshare", "-m", "mount", "--bind", list, list])
        return probe?.status == 0 ? nil : "mount namespaces are not allowed"
    }()

    /// Why the servers alone cannot run here, or `nil`.
    static let obstacleToServers: String? = {
        let missing = ["openssl", "python3"].filter { path(of: $0) == nil }
        return missing.isEmpty ? nil : "\(missing.joined(separator: ", ")) missing"
    }()

    /// In a process that trusts the authority: the folder of the certificates.
    static let folder = ProcessInfo.processInfo.environment["ERRAND_TLS_FOLDER"].map { URL(filePath: $0) }

    private static let list = "/etc/ssl/certs/ca-certificates.crt"

    static func path(of program: String) -> String? {
        ["/usr/sbin", "/usr/bin", "/bin", "/sbin", "/usr/local/bin"].map { "\($0)/\(program)" }
            .first(where: FileManager.default.isExecutableFile)
    }

    /// Runs a suite of this program in a process of its own that trusts the authority, and another one by the system's folder
    /// only.
    static func runTrusting(suite: String) throws -> (status: Int32, output: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try makeCertificates(in: folder)
        let certs = "$(dirname \(list))"
        let bind = """
            cp ca.pem list.crt && cp -a \(certs) certs &&
            cp listed.pem "certs/$(openssl x509 -hash -noout -in listed.pem).0" &&
            mount --bind certs \(certs) && mount --bind list.crt \(list) && exec "$@"
            """
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try run(
            [
                "unshare", "-m", "sh", "-c", bind, "sh", program, "--testing-library", "swift-testing", "--filter",
                suite,
            ],
            in: folder
        )
    }

    /// Runs what blocks on a thread of its own.
    static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// A folder with the certificates, made once for this process, which takes seconds, and removed at its end.
    ///
    /// - Throws: `Failed`, or what making a folder throws.
    static func madeFolder() throws -> URL { try made.get() }

    private static let made = Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tls-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atexit { if let folder = try? TLSRig.madeFolder() { try? FileManager.default.removeItem(at: folder) } }
        try makeCertificates(in: folder)
        return folder
    }

    /// Makes the certificates and authorities in a folder.
    static func makeCertificates(in folder: URL) throws {
        let made = try run(["sh", "-c", certificates], in: folder)
        guard made.status == 0 else { throw Failed(output: made.output) }
    }

    /// Runs a program and returns the bytes that it prints.
    static func output(of command: [String], in folder: URL) throws -> Data {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = folder
        process.standardOutput = output
        try process.run()
        defer { process.waitUntilExit() }
        return output.fileHandleForReading.readDataToEndOfFile()
    }

    /// A program of the rig has failed.
    struct Failed: Error {
        let output: String
    }

    private static func run(_ command: [String], in folder: URL? = nil) throws -> (status: Int32, output: String) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = folder
        process.standardOutput = output
        process.standardError = output
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        environment["ERRAND_TLS_FOLDER"] = folder?.path
        process.environment = environment
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    /// Makes an authority that will be trusted, one that will not, one in the system's folder, and certificates of each kind.
    private static let certificates = """
        set -e
        exec 2>openssl.log
        authority() {
            openssl req -x509 -newkey rsa:2048 -nodes -keyout $1.key -out $1.pem -days 30 -subj "/CN=Errand $1" \
                -addext "basicConstraints=critical,CA:TRUE"
        }
        leaf() { # name, bits, names, authority
            openssl req -newkey rsa:$2 -nodes -keyout $1.key -out $1.csr -subj "/CN=$1"
            printf "subjectAltName=$3" > $1.ext
            openssl x509 -req -in $1.csr -CA $4.pem -CAkey $4.key -CAcreateserial -out $1.pem -extfile $1.ext -days 30
        }
        dated() { # name, from, to
            openssl req -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj "/CN=$1"
            printf "subjectAltName=DNS:localhost" > $1.ext
            openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in $1.csr -out $1.pem -startdate $2 -enddate $3 \
                -extfile $1.ext -notext
        }
        authority ca
        authority stranger
        authority listed
        leaf good 2048 DNS:localhost ca
        leaf wrongname 2048 DNS:example.org ca
        leaf weak 1024 DNS:localhost ca
        leaf unknown 2048 DNS:localhost stranger
        leaf folder 2048 DNS:localhost listed
        leaf client 2048 DNS:client ca
        openssl req -x509 -newkey rsa:2048 -nodes -keyout self.key -out self.pem -days 30 -subj "/CN=localhost" \
            -addext "subjectAltName=DNS:localhost"
        : > index.txt
        echo 01 > serial
        printf '[ca]\\ndefault_ca=d\\n[d]\\nnew_certs_dir=.\\ndatabase=index.txt\\nserial=serial\\ndefault_md=sha256\\n' > ca.cnf
        printf 'policy=p\\nunique_subject=no\\n[p]\\ncommonName=supplied\\n' >> ca.cnf
        dated expired 20200101000000Z 20210101000000Z
        dated future 20400101000000Z 20410101000000Z
        """
}

/// Servers that fail in TLS, HTTP/2 or as a proxy, in a process of their own that ends with this value.
final class TLSServers: Sendable {
    private let process = Process()
    private let input = Pipe()
    /// The ports, by the name of what each server does.
    let ports: [String: Int]

    /// Starts the servers, and those that more lines of the program add to `servers`.
    init(in folder: URL, program: String = TLSServers.program, adding lines: String = "") throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-W", "ignore", "-c", program, lines]
        process.currentDirectoryURL = folder
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1) {
            line.append(byte)
        }
        ports = try JSONDecoder().decode([String: Int].self, from: line)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func url(_ name: String, path: String = "/") throws -> URL {
        guard let port = ports[name], let url = URL(string: "https://localhost:\(port)\(path)") else {
            throw URLError(.badURL)
        }
        return url
    }

    private static let program = #"""
        import collections, json, os, socket, ssl, struct, sys, threading, time
        OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        def serve(handler):
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(50)
            def one(c):
                try: handler(c)
                except Exception: pass
                finally:
                    try: c.close()
                    except Exception: pass
            def run():
                while True:
                    c, _ = s.accept()
                    threading.Thread(target=one, args=(c,), daemon=True).start()
            threading.Thread(target=run, daemon=True).start()
            return s.getsockname()[1]
        def tls(name, after=None, h2=False, level=None):
            def handle(c):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                if level is not None: context.set_ciphers("DEFAULT:@SECLEVEL=%d" % level)
                context.load_cert_chain(name + ".pem", name + ".key")
                if h2: context.set_alpn_protocols(["h2"])
                t = context.wrap_socket(c, server_side=True)
                if after: after(t)
                else:
                    t.recv(4096); t.send(OK)
            return handle
        def reset(c):
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()
        def frames(*fs):
            def handle(t):
                client = t.makefile("rb"); client.read(24)
                t.send(b"\0\0\0\x04\0\0\0\0\0")
                kind = None
                while kind != 1: # HEADERS
                    head = client.read(9); kind = head[3]; client.read(int.from_bytes(head[:3], "big"))
                for f in fs: t.send(f)
                time.sleep(0.5)
            return tls("good", handle, h2=True)
        def rst_stream(code): return b"\0\0\x04\x03\0\0\0\0\x01" + struct.pack(">I", code)
        GOAWAY = b"\0\0\x08\x07\0\0\0\0\0" + struct.pack(">II", 0, 2)
        HEADERS = b"\0\0\x05\x01\x04\0\0\0\x01" + b"\x88\x0f\x0d\x015"
        DATA = b"\0\0\x02\0\0\0\0\0\x01ab"
        def client_certificate(c):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain("good.pem", "good.key")
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations("ca.pem")
            t = context.wrap_socket(c, server_side=True, do_handshake_on_connect=False)
            try: t.do_handshake()
            # Closing at once would reset the connection and could overtake the alert.
            except ssl.SSLError: return time.sleep(0.5)
            t.recv(4096); t.send(OK)
        def old(c):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.load_cert_chain("good.pem", "good.key")
            context.wrap_socket(c, server_side=True).recv(4096)
        def only12(c):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.load_cert_chain("good.pem", "good.key")
            t = context.wrap_socket(c, server_side=True); t.recv(4096); t.send(OK)
        def proxy(status):
            def handle(c):
                c.recv(4096); c.send(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)
            return handle
        def tls_proxy(name):
            def connect(t):
                t.recv(4096); t.send(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
            return tls(name, connect)
        def no_window(t):
            t.send(b"\0\0\0\x04\0\0\0\0\0"); t.settimeout(10)
            while t.recv(65536): pass
        once = {"left": 1}
        good = tls("good")
        def first_handshake_lost(c):
            if once["left"]:
                once["left"] = 0; c.recv(4096)
            else: good(c)
        bodies = collections.Counter()
        # Responds to the first request of a connection; a second one gets no response.
        def stale(reads_body):
            def handle(t):
                f = t.makefile("rb"); count = 0
                while True:
                    line = f.readline()
                    if not line: return
                    path = line.split()[1].decode(); length = 0
                    while True:
                        field = f.readline().strip()
                        if not field: break
                        if field.lower().startswith(b"content-length:"): length = int(field.split(b":")[1])
                    if path == "/bodies":
                        b = json.dumps(bodies).encode()
                        t.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(b) + b)
                        return
                    count += 1
                    if count > 1 and not reads_body: return
                    body = f.read(length)
                    if len(body) < length: return
                    bodies["%s %d" % (path, sum(body) % 65521)] += 1
                    if count > 1: return
                    t.send(OK)
            return tls("good", handle)
        servers = {
            "good": good, "expired": tls("expired"), "future": tls("future"), "self": tls("self"),
            "unknown": tls("unknown"), "wrongname": tls("wrongname"), "weak": tls("weak", level=0),
            "plain": lambda c: (c.recv(4096), c.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
            "client certificate": client_certificate, "old": old, "1.2": only12,
            "handshake closed": lambda c: c.recv(4096),
            "handshake reset": lambda c: (c.recv(4096), reset(c)),
            "first handshake closed": first_handshake_lost,
            "closed": tls("good", lambda t: t.recv(4096)),
            "stream reset": frames(rst_stream(2)), "stream cancelled": frames(rst_stream(8)),
            "stream reset in body": frames(HEADERS, DATA, rst_stream(2)),
            "goaway": frames(GOAWAY), "no window": tls("good", no_window, h2=True),
            "folder": tls("folder"), "good proxy": tls_proxy("good"), "folder proxy": tls_proxy("folder"),
            "proxy 407": proxy(407), "proxy 502": proxy(502), "proxy closed": lambda c: c.recv(4096),
            "stale": stale(False), "stale after body": stale(True),
        }
        exec(sys.argv[1])
        print(json.dumps({name: serve(handler) for name, handler in servers.items()}), flush=True)
        sys.stdin.read()
        """#
}
