# SPDX-License-Identifier: MIT
"""What a hostile tenant and strangers do in tests/soak/siege, each attack in a thread of its own.

An attack is a function that does one round; it is called again and again until the siege ends. All of it is bounded:
rounds have pauses, and the number of connections, jobs and bytes of each is fixed.
"""
import json
import os
import pathlib
import signal
import socket
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from wire import Closed, Refused, Wire, encode

MIB = 1 << 20
CONTROLS = bytes(range(1, 9)) * 4000
RARE = ("PREVIEW", "RRULE", "FREQ=SECONDLY;INTERVAL=104729;BYMONTHDAY=-25;BYMINUTE=14,53,58;COUNT=1000000",
        "TZ", "Pacific/Apia", "START", "2024-02-29T12:34:56Z", "FROM", "9990-01-01T00:00:00Z", "COUNT", "1000")
ATTACKS = {}
GONE = (OSError, Closed)


def attack(name, pause_s):
    def keep(function):
        ATTACKS[name] = (function, pause_s)
        return function
    return keep


class Attacker:
    """The connections of one attack; they are made anew after they broke."""

    def __init__(self, name, port, tokens, stop):
        self.name, self.port, self.tokens, self.stop = name, port, tokens, stop
        self.wires, self.socks, self.n, self.rounds, self.broken, self.refused = {}, [], 0, 0, 0, {}

    def wire(self, role):
        if role not in self.wires:
            w = Wire(self.port, 3 if role == "stranger" else 2, timeout=20)
            if role != "stranger":
                w.call("AUTH", self.tokens[role])
                w.call("HELLO", 3)
            self.wires[role] = w
        return self.wires[role]

    def all(self, role, commands):
        """Sends them; errors are counted, and everything else is answered."""
        replies = self.wire(role).pipeline(commands, timeout=20)
        for r in replies:
            if isinstance(r, Refused):
                self.refused[r.code] = self.refused.get(r.code, 0) + 1
        return [r for r in replies if not isinstance(r, Refused)]

    def raw(self, most, data=b""):
        """Another connection of a stranger, at most so many; answers the new one."""
        while len(self.socks) >= most:
            self.socks.pop(0).close()
        s = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        self.socks.append(s)
        if data:
            s.sendall(data)
        return s

    def web(self, role, method, path, body=b"", read=True):
        """A request over HTTP; if it is not read, the connection stays for a while."""
        s = self.raw(6)
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close",
                f"Authorization: Bearer {self.tokens[role]}"]
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
        s.settimeout(10)
        s.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        while read and s.recv(1 << 18):
            pass

    def close(self):
        for thing in (*self.wires.values(), *self.socks):
            thing.close()
        self.wires, self.socks = {}, []

    def run(self, function, pause_s):
        while not self.stop.is_set():
            try:
                function(self)
                self.rounds += 1
            except GONE:
                self.broken += 1
                self.close()
            except Refused as refused:
                self.refused[refused.code] = self.refused.get(refused.code, 0) + 1
                self.close()
            self.n += 1
            self.stop.wait(pause_s)
        self.close()


@attack("C1 recurrences of a millisecond", 2)
def recurrences(a):
    a.all("producer", [("RECUR", f"r{i}", "ticks", "x" * 32_000, "EVERY", "1ms") for i in range(50)])


@attack("C2 costly requests in one write", 0.5)
def costly(a):
    a.all("producer", [RARE] * 20)
    a.all("producer", [("LIST", "TAG", "none")] * 1000)


@attack("C3 large jobs, leased for a week", 1)
def large_leases(a):
    if a.n < 40:
        a.all("producer", [("SCHEDULE", "big", b"x" * MIB)] * 4)
    a.all("worker", [("LEASE", "big", "COUNT", 10, "FOR", "1w")])


@attack("H1 strangers that do not read", 0.1)
def unread(a):
    s = a.raw(100)
    s.setblocking(False)
    try:
        for _ in range(50):
            s.send(b"HELLO 3\r\n" * 7000)
    except BlockingIOError:
        pass


@attack("H2 strangers that send nothing", 0.02)
def silent(a):
    a.raw(200)


@attack("H3 queues that are used once", 0.2)
def used_once(a):
    names = [f"once{a.n}-{i}" for i in range(500)]
    ids = a.all("producer", [("SCHEDULE", name, "x", "IN", "1h") for name in names])
    a.all("producer", [("CANCEL", id) for id in ids])


@attack("H4 pages of recurrences, read or not", 1)
def pages(a):
    if a.n == 0:
        for i in range(0, 200, 20):
            a.all("producer", [("RECUR", f"page{k}", "ticks", CONTROLS, "EVERY", "30d") for k in range(i, i + 20)])
    a.web("producer", "GET", "/v1/recurrences?limit=1000", read=a.n % 2 == 0)


@attack("H5 batches with AFTER", 1)
def afters(a):
    ids = a.all("producer", [("SCHEDULE", "after", "x", "IN", "1h")] * 64)
    items = [{"queue": "after", "payload": "x", "after": ids}] * (64 if a.n % 2 else 1000)
    a.web("producer", "POST", "/v1/jobs/batch", json.dumps({"mode": "each", "items": items}).encode())
    a.all("producer", [("CANCEL", id) for id in ids])


@attack("H6 large jobs that wait for many", 5)
def waiting(a):
    ids = a.all("producer", [("SCHEDULE", "parent", "x", "IN", "1h")] * 64)
    after = [word for id in ids for word in ("AFTER", id)]
    a.all("producer", [("SCHEDULE", "child", b"x" * MIB, *after, "AFTERFAIL", "run", "IN", "1h")] * 5)
    a.all("producer", [("CANCEL", id) for id in ids])


@attack("H7 control characters over HTTP", 1)
def controls(a):
    ids = a.all("producer", [("SCHEDULE", "controls", b"\x01" * MIB, "KEY", "k")])
    for id in ids:
        a.web("producer", "GET", f"/v1/jobs/{id}")
    a.web("worker", "POST", "/v1/leases", b'{"queues":["controls"],"count":4,"for":"1s"}')


@attack("M1 streams of events", 0.3)
def streams(a):
    if len(a.socks) < 20:
        s = a.raw(20, f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {a.tokens['read-only']}"
                      "\r\n\r\n".encode())
        s.settimeout(0.2)
    for s in a.socks:
        try:
            s.setblocking(False)
            while s.recv(1 << 18):
                pass
        except BlockingIOError:
            pass
    a.all("producer", [("SCHEDULE", "noise", "x", "IN", "1h")] * 100)


@attack("M2 COMMAND DOCS of many names", 1)
def docs(a):
    a.all("producer", [("COMMAND", "DOCS", *["SCHEDULE"] * 16_382)])


@attack("M3 long arrays", 1)
def arrays(a):
    a.web("producer", "POST", "/v1/jobs", b'{"queue":"q","payload":"x","tag":[' + b'"a",' * 700_000 + b'"a"]}')


@attack("M4 wrong tokens", 0.05)
def wrong(a):
    s = a.raw(20)
    s.sendall(encode("AUTH", "root." + "x" * 43) * 5)


@attack("M6 pauses of recurrences", 0.5)
def pauses(a):
    a.all("producer", [("RECUR", "paused", "ticks", "x", "EVERY", "1d")])
    a.all("producer", [(verb, "paused") for _ in range(100) for verb in ("RECURPAUSE", "RECURRESUME")])


@attack("M7 requests in pieces", 0.05)
def pieces(a):
    if len(a.socks) < 100:
        a.raw(100, b"*3\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$4000\r\n")
    for s in a.socks:
        s.sendall(b"x")


@attack("M8 ended jobs that are kept", 2)
def kept(a):
    for _ in range(4):
        ids = a.all("producer", [("SCHEDULE", f"kept{a.n % 60}", b"x" * MIB, "IN", "1h")])
        a.all("producer", [("CANCEL", id) for id in ids])
        a.all("producer", [("SCHEDULE", f"kept{a.n % 60}", "x", "IN", "1h", "RETAIN", "520w")])


@attack("L10 recurrences without number", 0.5)
def numberless(a):
    a.all("producer", [("RECUR", f"many{a.n % 100}-{i}", "ticks", "x", "EVERY", "1h") for i in range(200)])


def play(port, tokens, names, out, stop):
    """Runs these attacks in threads until `stop`; writes what they did."""
    attackers = [Attacker(name, port, tokens, stop) for name in names]
    threads = [threading.Thread(target=a.run, args=ATTACKS[a.name], daemon=True) for a in attackers]
    for t in threads:
        t.start()
    while not stop.wait(0.5):
        write(attackers, out)
    for t in threads:
        t.join(30)
    write(attackers, out)


def write(attackers, out):
    pathlib.Path(out + ".new").write_text(json.dumps(
        {a.name: {"rounds": a.rounds, "broken": a.broken, "refused": a.refused} for a in attackers}))
    pathlib.Path(out + ".new").rename(out)


if __name__ == "__main__":
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    os.nice(10)  # the server is besieged, not the scheduler of the machine
    given = json.loads(sys.argv[1])
    limit = threading.Timer(given["seconds"], over.set)  # whatever happens to the siege
    limit.daemon = True
    limit.start()
    play(given["port"], given["tokens"], given["names"], given["out"], over)
    os._exit(0)
