# SPDX-License-Identifier: MIT
"""A RESP3 connection for long pipelines: a hundred thousand plain requests in a second. Values are
bytes. What had been answered when the connection broke is in the list that the caller gave."""
import select
import socket
import time


_NAMES = {}  # of members of maps, as bytes -> as text


class Refusal:
    """An error reply; not raised, as it is often what was expected."""

    __slots__ = ("code", "text")

    def __init__(self, line):
        self.text = line.decode("utf-8", "replace")
        self.code = self.text.split(" ", 1)[0]

    def __repr__(self):
        return f"-{self.text}"


class Gone(Exception):
    """The connection ended, or nothing came for too long."""


def encode(args):
    out = [b"*%d\r\n" % len(args)]
    for arg in args:
        if type(arg) is not bytes:
            arg = str(arg).encode()
        out.append(b"$%d\r\n%b\r\n" % (len(arg), arg))
    return b"".join(out)


class Pipe:
    def __init__(self, port, timeout=60.0):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.lines = []  # whole lines that have come
        self.at = 0  # the next of them
        self.tail = b""  # the beginning of a line
        self.call("HELLO", 3)

    def close(self):
        self.sock.close()

    def _value(self):
        """One value out of the lines; IndexError if it is not there as a whole."""
        lines, at = self.lines, self.at
        line = lines[at]
        self.at = at = at + 1
        kind, rest = line[0], line[1:]
        if kind == 36:  # $
            size = int(rest)
            if size < 0:
                return None
            data = lines[at]
            at += 1
            while len(data) < size:
                data += b"\r\n" + lines[at]
                at += 1
            self.at = at
            return data
        if kind == 58:  # :
            return int(rest)
        if kind == 43:  # +
            return rest
        if kind == 45:  # -
            return Refusal(rest)
        if kind == 42:  # *
            return [self._value() for _ in range(int(rest))]
        if kind == 37:  # %
            return self._map(int(rest))
        if kind == 95:  # _
            return None
        if kind == 35:  # #
            return rest == b"t"
        if kind == 44:  # ,
            return float(rest)
        raise AssertionError(f"not RESP: {line[:100]!r}")

    def _map(self, count):
        """Most of what is parsed are maps, and most of these names, numbers and short texts."""
        lines, ret = self.lines, {}
        for _ in range(count):
            at = self.at
            name = _NAMES.get(lines[at + 1])
            if name is None:
                name = _NAMES.setdefault(lines[at + 1], lines[at + 1].decode())
            line = lines[at + 2]
            kind = line[0]
            if kind == 95:  # _
                ret[name] = None
                self.at = at + 3
            elif kind == 58:  # :
                ret[name] = int(line[1:])
                self.at = at + 3
            elif kind == 36 and len(lines[at + 3]) == int(line[1:]):  # $
                ret[name] = lines[at + 3]
                self.at = at + 4
            else:
                self.at = at + 2
                ret[name] = self._value()
        return ret

    def _drain(self, replies, goal):
        """Moves whole replies from the lines to `replies`."""
        while len(replies) < goal:
            start = self.at
            try:
                replies.append(self._value())
            except IndexError:
                self.at = start
                break

    def _fill(self):
        data = self.sock.recv(1 << 20)
        if not data:
            raise Gone("the server closed the connection")
        fresh = (self.tail + data).split(b"\r\n")
        self.tail = fresh.pop()
        self.lines = self.lines[self.at:] + fresh
        self.at = 0

    def exchange(self, requests, replies=None, timeout=None):
        """Answers a reply for each request; Gone if one of them does not come."""
        turn = Turn(self, requests, replies)
        exchange_all([turn], timeout or self.timeout)
        if turn.broken:
            raise Gone(f"{len(turn.replies)} of {turn.goal} replies: {turn.broken}")
        return turn.replies

    def call(self, *args, timeout=None):
        return self.exchange([args], timeout=timeout)[0]

    def pages(self, *words, limit=1000):
        """All jobs that LIST shows, page by page."""
        cursor = None
        while True:
            page = self.call("LIST", "LIMIT", limit, *words, *(("CURSOR", cursor) if cursor else ()))
            assert not isinstance(page, Refusal), page
            yield from page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                return


class Turn:
    """Requests to one connection. `replies` grows as they come, until it is whole or the connection is broken."""

    def __init__(self, pipe, requests, replies=None):
        self.pipe = pipe
        self.replies = [] if replies is None else replies
        self.goal = len(self.replies) + len(requests)
        self.broken = None  # why
        self.view = memoryview(b"".join(map(encode, requests)))

    def over(self):
        return self.broken or len(self.replies) >= self.goal

    def read(self):
        try:
            self.pipe._fill()
            self.pipe._drain(self.replies, self.goal)
        except (OSError, Gone) as error:
            self.broken = str(error) or "it is broken"

    def write(self):
        try:
            sent = self.pipe.sock.send(self.view[:1 << 18], socket.MSG_DONTWAIT)
            self.view = self.view[sent:]
        except BlockingIOError:
            pass
        except OSError:  # what was answered before is still there to be read
            self.view = self.view[:0]


def exchange_all(turns, timeout, watch=None):
    """Writes and reads on all connections at once until each turn is over. `watch` is told how many replies have come."""
    end = time.monotonic() + timeout
    for turn in turns:
        turn.pipe._drain(turn.replies, turn.goal)
    while True:
        going = [turn for turn in turns if not turn.over()]
        if not going:
            return
        left = end - time.monotonic()
        if left <= 0:
            for turn in going:
                turn.broken = f"nothing came within {timeout} s"
            return
        by_sock = {turn.pipe.sock: turn for turn in going}
        readable, writable, _ = select.select(by_sock, [t.pipe.sock for t in going if t.view], [], min(left, 1))
        for sock in writable:
            by_sock[sock].write()
        for sock in readable:
            by_sock[sock].read()
        if watch:
            watch(sum(len(turn.replies) for turn in turns))
