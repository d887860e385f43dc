import Foundation

@testable import Errand

extension TLSServers {
    /// Servers whose connections or streams end early; "count" returns the number of requests of each, by its name.
    static let endings = #"""
        requests = collections.Counter()
        def raw(t, data): os.write(t.fileno(), data)
        # The path is the framing of the content and the end of the connection: /close/fin.
        def end(t):
            path = t.recv(65536).split()[1].decode(); requests[path] += 1
            _, *moved, framing, how = path.split("/")
            if moved:
                place = ("/%s/%s" % (framing, how)).encode()
                return t.send(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + place + b"\r\n\r\n")
            if how == "second": how = "fin" if requests[path] == 1 else "notify"
            t.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Type: text/plain\r\n" + {
                "close": b"Connection: close\r\n\r\nabc", "length": b"Content-Length: 3\r\n\r\nabc",
                "chunked": b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" }[framing])
            if how == "notify": t.unwrap()
        def damaged(head):
            def handle(t):
                t.recv(65536); requests["damaged"] += 1
                if head: t.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
                raw(t, b"\x17\x03\x03\x00\x20" + b"?" * 32); time.sleep(0.3)
            return handle
        def number(n, prefix, bits):
            most = (1 << bits) - 1
            if n < most: return bytes([prefix | n])
            out = bytes([prefix | most]); n -= most
            while n >= 128: out += bytes([n % 128 + 128]); n //= 128
            return out + bytes([n])
        def field(name, count): return b"\0" + number(len(name), 0, 7) + name + number(count, 0, 7) + b"v" * count
        def frame(kind, flags, stream, data=b""):
            return len(data).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + data
        def headers(stream, block):
            parts = [block[i:i + 16384] for i in range(0, len(block), 16384)]
            return b"".join(frame(1 if i == 0 else 9, (1 if i == 0 else 0) | (4 if i + 1 == len(parts) else 0), stream, part)
                for i, part in enumerate(parts))
        def ok(stream): return headers(stream, b"\x88\x0f\x0d\x010")
        def reset_stream(stream, code): return frame(3, 0, stream, struct.pack(">I", code))
        # Calls a function for each request that is complete, and one after a pause.
        def http2(name, request, pause=None):
            def handle(t):
                data = b""; t.send(frame(4, 0, 0)); t.settimeout(0.3 if pause else 30); begun = False
                while True:
                    try: more = t.recv(1 << 16)
                    except TimeoutError:
                        if pause(t): return
                        continue
                    if not more: return
                    data += more
                    if not begun:
                        if len(data) < 24: continue
                        data = data[24:]; begun = True
                    while len(data) >= 9:
                        count = int.from_bytes(data[:3], "big")
                        if len(data) < 9 + count: break
                        kind, flags, stream = data[3], data[4], int.from_bytes(data[5:9], "big")
                        data = data[9 + count:]
                        if kind == 4 and not flags & 1: t.send(frame(4, 1, 0))
                        if kind in (0, 1) and flags & 1:
                            requests[name] += 1
                            if request(t, stream) == "end": return
            return tls("good", handle, h2=True)
        # The first request of a connection is answered with 200, the others with large header sections.
        def large(name, block):
            def request(t, stream):
                t.send(ok(stream) if stream == 1 and name.endswith("later") else headers(stream, b"\x88" + block))
            return http2(name, request)
        many = b"".join(field(b"x-%d" % i, 1000) for i in range(140))
        # Answers the first request, then loses so many connections with all that are under way.
        def losing(name, left):
            state = {"left": left, "waiting": 0}
            def request(t, stream):
                if requests[name] == 1 or state["left"] == 0: t.send(ok(stream))
                else: state["waiting"] += 1
            def pause(t):
                if state["waiting"] == 0: return False
                state["waiting"] = 0; state["left"] -= 1; return True
            return http2(name, request, pause)
        # Answers the first request, and 21 of the next 40 after a GOAWAY that leaves out the others.
        def leaving(name):
            waiting = []
            def request(t, stream):
                if requests[name] == 1 or requests[name] > 41: return t.send(ok(stream))
                waiting.append(stream)
                if len(waiting) < 40: return
                t.send(frame(7, 0, 0, struct.pack(">II", waiting[20], 0)) + b"".join(map(ok, waiting[:21])))
            return http2(name, request)
        def refusing(t, stream): t.send(ok(stream) if stream == 1 else reset_stream(stream, 7))
        def cut(t, stream):
            t.send(frame(1, 4, stream, b"\x88") + frame(0, 0, stream, b"abc")); time.sleep(0.1)
            t.send(reset_stream(stream, 0))
        def certificate(name, h2):
            def handle(c):
                requests[name] += 1
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain("good.pem", "good.key")
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations("ca.pem")
                if h2: context.set_alpn_protocols(["h2"])
                try: context.wrap_socket(c, server_side=True)
                except ssl.SSLError: return
            return handle
        def count(t):
            t.recv(65536); body = json.dumps(requests).encode()
            t.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        servers.update({
            "end": tls("good", end), "damaged": tls("good", damaged(False)), "damaged body": tls("good", damaged(True)),
            "many fields": large("many fields", many), "many fields later": large("many fields later", many),
            "large field": large("large field", field(b"x-large", 66000)),
            "large field later": large("large field later", field(b"x-large", 66000)),
            "losing once": losing("losing once", 1), "losing all": losing("losing all", 10000),
            "refusing": http2("refusing", refusing), "cut": http2("cut", cut),
            "certificate": certificate("certificate", False), "certificate h2": certificate("certificate h2", True),
            "count": tls("good", count),
        })
        for i in range(20): servers["leaving %d" % i] = leaving("leaving %d" % i)
        """#

    /// Returns the number of requests to a server.
    func requestCount(_ name: String, over transport: any Transport) async throws -> Int {
        let response = try await transport.send(OutgoingRequest(url: url("count")), options: TransportOptions())
        let counts = try JSONDecoder().decode([String: Int].self, from: await response.body.collect(upTo: 1 << 20))
        return counts[name] ?? 0
    }
}
