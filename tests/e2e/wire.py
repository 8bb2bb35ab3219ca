# SPDX-License-Identifier: MIT
"""A RESP client of a few lines: unlike a library it shows which replies had come when the
connection broke, so a test knows exactly what was acknowledged."""
import select
import socket
import time


class Refused(Exception):
    """An error reply. `code` is its first word."""

    def __init__(self, text):
        super().__init__(text)
        self.code = text.split(" ", 1)[0]


class Closed(Exception):
    """The connection ended."""


def encode(*args):
    out = [b"*%d\r\n" % len(args)]
    for arg in args:
        if not isinstance(arg, bytes):
            arg = str(arg).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(arg), arg))
    return b"".join(out)


class _More(Exception):
    pass


class Wire:
    def __init__(self, port, proto=2, timeout=30.0):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""
        self.pos = 0
        if proto == 3:
            self.call("HELLO", 3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    # Reading: a reply is parsed from the start again when more bytes come, from a known position.

    def _line(self):
        end = self.buf.find(b"\r\n", self.pos)
        if end < 0:
            raise _More
        line = self.buf[self.pos:end]
        self.pos = end + 2
        return line

    def _value(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            size = int(rest)
            if size < 0:
                return None
            if len(self.buf) < self.pos + size + 2:
                raise _More
            data = self.buf[self.pos:self.pos + size]
            self.pos += size + 2
            return data.decode("utf-8", "surrogateescape")
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Refused(rest.decode("utf-8", "replace"))
        if kind in b"*~>":
            return None if rest == b"-1" else [self._value() for _ in range(int(rest))]
        if kind == b"%":
            return {self._value(): self._value() for _ in range(int(rest))}
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        raise AssertionError(f"not RESP: {line[:100]!r}")

    def _take(self):
        """One whole reply out of the buffer, or _More."""
        start = self.pos
        try:
            return self._value()
        except _More:
            self.pos = start
            raise

    def _fill(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Closed("the server closed the connection")
        self.buf = self.buf[self.pos:] + data
        self.pos = 0

    def recv(self):
        while True:
            try:
                return self._take()
            except _More:
                self._fill()

    def send(self, *args):
        self.sock.sendall(encode(*args))

    def call(self, *args):
        """Sends one command; an error reply is raised."""
        self.send(*args)
        reply = self.recv()
        if isinstance(reply, Refused):
            raise reply
        return reply

    def lease(self, *args):
        """LEASE over RESP3, with tokens as numbers, so that they compare."""
        return [{**job, "token": int(job["token"])} for job in self.call("LEASE", *args)]

    def exchange(self, data, count, replies=None, timeout=60.0):
        """Writes and reads at once until `count` replies have come. They are appended to `replies`
        as they come, so that after an exception it holds what was answered."""
        replies = [] if replies is None else replies
        goal = len(replies) + count
        view, sent, end = memoryview(data), 0, time.monotonic() + timeout
        while len(replies) < goal:
            try:
                while len(replies) < goal:
                    replies.append(self._take())
                break
            except _More:
                pass
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{len(replies)} of {goal} replies in {timeout} s")
            writers = [self.sock] if sent < len(view) else []
            readable, writable, _ = select.select([self.sock], writers, [], left)
            if writable:
                sent += self.sock.send(view[sent:sent + (1 << 18)], socket.MSG_DONTWAIT)
            if readable:
                self._fill()
        return replies

    def pipeline(self, commands, **kw):
        commands = list(commands)
        return self.exchange(b"".join(encode(*c) for c in commands), len(commands), **kw)


def as_map(flat):
    """A map as RESP2 shows it."""
    assert len(flat) % 2 == 0, flat
    return dict(zip(flat[::2], flat[1::2]))


def now_ms():
    return time.time_ns() // 1_000_000
