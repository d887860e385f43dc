extension TLSServers {
    /// Servers of HTTP/2, frame by frame, which refuse requests with a body, respond early, or send trailers.
    ///
    /// Each also serves HTTP/1.1 to a client that asks for no other version, and "mixed 0" to "mixed 9" from the second connection
    /// on. The response to a body is the number of its bytes and their sum, and to a request without one a summary: how many bodies
    /// were answered, and which of them twice, by their numbers.
    static let http2 = #"""
        import collections, json, re, socket, ssl, sys, threading
        DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
        END, COMPLETE = 1, 4
        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        def number(n): return n.to_bytes(4, "big")
        def literal(name, value): return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        def status(code): return b"\x08\x03" + code # a literal with the static name ":status"
        log = collections.Counter()
        guard = threading.Lock()
        def answer(body, kind):
            # What a request without a body asks for is a summary. Another one is answered by what was received of its body.
            with guard:
                if body is not None: log[body[:12].decode("latin-1")] += 1
                else: return json.dumps({"empty": log[""], "all": sum(1 for k in log if k),
                                         "twice": [int(k) for k in log if k and log[k] > 1]}).encode()
            return b"%d %d" % (len(body), sum(body) % 65521)
        class HTTP2:
            def __init__(self, c, script):
                self.c, self.script, self.bodies, self.last, self.open = c, script, {}, 1 << 31, 0
            def send(self, *frames): self.c.sendall(b"".join(frames))
            def respond(self, stream, fields, body, trailers=b""):
                end = 0 if trailers else END
                self.send(frame(HEADERS, COMPLETE, stream, fields), frame(DATA, end, stream, body),
                          frame(HEADERS, COMPLETE | END, stream, trailers) if trailers else b"")
            def is_due(self):
                with guard:
                    self.script["times"] = self.script.get("times", 1 << 31) - 1
                    return self.script["times"] >= 0
            def opened(self, stream, has_body):
                s = self.script
                if has_body and self.last >= stream > s.get("goaway", 1 << 31) and self.is_due():
                    self.last = s["goaway"]
                    self.send(frame(GOAWAY, 0, 0, number(self.last) + number(0)))
                if stream > self.last: return False
                if has_body and "reset" in s and stream // 2 % s.get("every", 1) == 0 and self.is_due():
                    self.send(frame(RST, 0, stream, number(s["reset"])))
                    return False
                if has_body and "early" in s:
                    self.respond(stream, status(b"200") + literal(b"content-length", b"5"), b"early")
                    if s["early"]: self.send(frame(RST, 0, stream, number(0)))
                    return False
                return True
            def ended(self, stream, body):
                text = answer(body, "h2")
                if "trailers" in self.script and body is not None or self.script.get("trailers") == b"303":
                    return self.respond(stream, status(self.script["trailers"]) + literal(b"location", b"/x"), text, literal(b"x-t", b"1"))
                self.respond(stream, status(b"200") + literal(b"content-length", b"%d" % len(text)), text)
            def run(self):
                f = self.c.makefile("rb"); f.read(24); self.send(frame(SETTINGS, 0, 0, self.script.get("settings", b"")))
                while True:
                    head = f.read(9)
                    if len(head) < 9: return
                    kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big") & 0x7fffffff
                    payload = f.read(int.from_bytes(head[:3], "big"))
                    if kind == SETTINGS and not flags & 1: self.send(frame(SETTINGS, 1, 0))
                    if kind == PING and not flags & 1: self.send(frame(PING, 1, 0, payload))
                    if kind == HEADERS and self.opened(stream, not flags & END):
                        self.bodies[stream] = bytearray() if not flags & END else None
                        if flags & END: self.ended(stream, None)
                    if kind == DATA and stream in self.bodies:
                        self.bodies[stream] += payload
                        if payload: self.send(frame(WINDOW, 0, 0, number(len(payload))), frame(WINDOW, 0, stream, number(len(payload))))
                        if flags & END: self.ended(stream, bytes(self.bodies.pop(stream)))
                    # A connection that was given up ends with the last stream that it still has.
                    if self.last < 1 << 31 and not self.bodies: return
        def http1(c):
            f = c.makefile("rb")
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = f.readline()
                    if not line: return
                    head += line
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = f.read(int(length.group(1))) if length else None
                if length and len(body) < int(length.group(1)): return
                text = answer(body, "http1")
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        def serve(script):
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(200)
            def made(*protocols):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain("good.pem", "good.key"); context.set_alpn_protocols(protocols)
                return context
            first, later = made("h2", "http/1.1"), made(*["h2"] * ("mixed" not in script), "http/1.1")
            def one(c, context):
                try:
                    t = context.wrap_socket(c, server_side=True)
                    HTTP2(t, script).run() if t.selected_alpn_protocol() == "h2" else http1(t)
                except (OSError, ValueError): pass
                finally:
                    try: t.close()
                    except Exception: c.close()
            def run():
                context = first
                while True:
                    c, _ = s.accept()
                    threading.Thread(target=one, args=(c, context), daemon=True).start()
                    context = later
            threading.Thread(target=run, daemon=True).start()
            return s.getsockname()[1]
        scripts = {
            "goaway": {"goaway": 21}, "refused": {"reset": 7, "every": 3}, "http1": {"reset": 13},
            "goaway once": {"goaway": 0, "times": 1}, "refused once": {"reset": 7, "times": 1},
            "trailers": {"trailers": b"200"}, "redirect": {"trailers": b"303"}, "early": {"early": False}, "early reset": {"early": True},
        }
        # HTTP/2 on the first connection, with one stream at a time (SETTINGS_MAX_CONCURRENT_STREAMS).
        for i in range(10): scripts["mixed %d" % i] = {"mixed": True, "settings": b"\0\3" + number(1)}
        print(json.dumps({name: serve(script) for name, script in scripts.items()}), flush=True)
        sys.stdin.read()
        """#
}
