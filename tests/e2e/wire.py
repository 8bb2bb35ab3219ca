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


STRING, NUMBER, MAP = b"$:%"
MANY = b"*~>%"
ONE = {
    ord("+"): bytes.decode,
    ord("-"): lambda rest: Refused(rest.decode("utf-8", "replace")),
    ord("_"): lambda rest: None,
    ord("#"): lambda rest: rest == b"t",
    ord(","): float,
}


class Wire:
    def __init__(self, port, proto=2, timeout=30.0):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""
        self.start = self.pos = 0  # where the reply begins that is read, and how far it was read
        self.outer = []  # what the next value is in: values so far, how many there will be, kind
        if proto == 3:
            self.call("HELLO", 3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    # Reading. Millions of values come in a run of the tests, so this is written for speed: one loop, no recursion, and
    # what was read of a reply is kept until more bytes come.

    def _take(self):
        """One whole reply out of the buffer, or _More."""
        buf, pos, outer = self.buf, self.pos, self.outer
        find, size = buf.find, len(buf)
        if not outer:
            self.start = pos
        while True:
            end = find(b"\r\n", pos)
            if end < 0:
                break
            kind = buf[pos]
            if kind == STRING:
                length = int(buf[pos + 1:end])
                if length < 0:
                    value, pos = None, end + 2
                else:
                    start = end + 2
                    end = start + length
                    if end + 2 > size:
                        break
                    value, pos = buf[start:end].decode("utf-8", "surrogateescape"), end + 2
            elif kind == NUMBER:
                value, pos = int(buf[pos + 1:end]), end + 2
            elif kind in MANY:
                count = int(buf[pos + 1:end])
                pos = end + 2
                if count > 0:
                    outer.append(([], 2 * count if kind == MAP else count, kind))
                    continue
                value = None if count < 0 else {} if kind == MAP else []
            elif kind in ONE:
                value, pos = ONE[kind](buf[pos + 1:end]), end + 2
            else:
                raise AssertionError(f"not RESP: {buf[pos:end][:100]!r}")
            # The value may be the last one of what it is in, and that of what that is in.
            while outer:
                values, count, kind = outer[-1]
                values.append(value)
                if len(values) < count:
                    break
                value = dict(zip(values[::2], values[1::2])) if kind == MAP else values
                outer.pop()
            else:
                self.pos = pos
                return value
        self.pos = pos
        raise _More

    def _fill(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Closed("the server closed the connection")
        self.buf = self.buf[self.start:] + data
        self.pos -= self.start
        self.start = 0

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
