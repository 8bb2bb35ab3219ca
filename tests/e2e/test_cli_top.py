# SPDX-License-Identifier: MIT
"""`belfry top` on a terminal."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pytest

from conftest import BUILD, ENV
from shell import run, schedule


class Screen:
    """A program on a terminal of its own; `text` is its last picture."""

    def __init__(self, argv, columns=80, rows=24):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(argv[0], argv, {**ENV, "TERM": "xterm", "NO_COLOR": "1"})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.bytes = b""

    def pull(self):
        if select.select([self.fd], [], [], 0.05)[0]:
            try:
                self.bytes += os.read(self.fd, 65536)
            except OSError:
                pass

    def text(self):
        picture = self.bytes.decode("utf-8", "replace").split("\x1b[H")[-1]
        return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", picture).replace("\r", "")

    def until(self, condition):
        end = time.monotonic() + 30
        while not condition(self.text()):
            assert time.monotonic() < end, self.text()
            self.pull()
        return self.text()

    def type(self, keys):
        os.write(self.fd, keys)

    def end(self):
        self.type(b"q")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def screen(server):
    for i in range(30):
        schedule(lambda *args: run(server, *args), f"queue.with.a.name.{i:02}", "x", "--in", "1h")
    s = Screen([str(BUILD / "belfry"), "--port", str(server.port), "top", "--interval", "200ms"])
    yield s
    assert s.end() == 0


def test_a_narrow_terminal_cuts_no_column(screen):
    text = screen.until(lambda t: "queues above" in t and "q quits" in t)
    assert max(map(len, text.splitlines())) <= 80 and len(text.splitlines()) <= 24
    head = next(line for line in text.splitlines() if line.startswith("queue "))
    assert set(re.split(r"  +", head.strip())) <= {"queue", "scheduled", "ready", "leased", "dead", "waiting", "in/s", "done/s",
                                                  "failed/s", "late p99", "run p50", "wait p50"}
    assert "need a wider terminal" in text and "…" not in text


def test_arrows_scroll_and_s_sorts(screen):
    screen.until(lambda t: "queue.with.a.name.00 " in t and "0 queues above" in t)
    screen.type(b"\x1b[B")
    screen.until(lambda t: "1 queues above" in t and "name.00 " not in t)
    screen.type(b"\x1b[F")
    screen.until(lambda t: "name.29 " in t and " 0 below" in t)
    screen.type(b"\x1b[H")
    screen.until(lambda t: "0 queues above" in t)
    screen.type(b"s")
    screen.until(lambda t: "by name;" in t)
