# SPDX-License-Identifier: MIT
"""Nothing holds the loop: whatever one client asks for, others are answered soon. The limits are far beyond what
a loaded machine needs, and far below what clients waited before."""
import fcntl
import os
import signal
import socket
import termios
import threading
import time

import pytest

from web import request
from wire import Refused, encode

SOON_S = 0.5  # the loop's own limits are hundred times smaller
RARE = ("PREVIEW", "RRULE", "FREQ=SECONDLY;INTERVAL=104729;BYMONTHDAY=-25;BYMINUTE=14,53,58;COUNT=1000000",
        "TZ", "Pacific/Apia", "START", "2024-02-29T12:34:56Z", "FROM", "9990-01-01T00:00:00Z", "COUNT", "1000")


def worst_answer(wire, seconds):
    """The longest that an answer took, of requests that see and change things."""
    worst, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        for words in ("PING",), ("SCHEDULE", "beside", "x"), ("LEASE", "beside"):
            begun = time.monotonic()
            wire.call(*words)
            worst = max(worst, time.monotonic() - begun)
    return worst


def test_many_recurrences_of_a_millisecond_stop_nobody(make_server):
    server = make_server(memory="64MiB")
    with server.wire(timeout=60) as w:
        for i in range(50):
            w.call("RECUR", f"r{i}", "q", "x" * 32000, "EVERY", "1ms")
        assert worst_answer(w, 3) < SOON_S
        assert server.memory()["VmRSS"] < 160 << 20
    server.kill()
    server.start()  # they are durable
    with server.wire(timeout=60) as w:
        assert worst_answer(w, 2) < SOON_S
        begun = time.monotonic()
        for i in range(50):
            w.call("RECURDELETE", f"r{i}")
        assert time.monotonic() - begun < 50 * SOON_S


def test_costly_requests_in_one_write_do_not_hold_up_others(make_server):
    server = make_server()
    with server.wire() as busy, server.wire(timeout=60) as w:
        for words, n in (RARE, 100), (("LIST", "TAG", "none"), 3000), (("METRICS",), 1000):
            data = encode(*words) * n
            reader = threading.Thread(target=busy.exchange, args=(data, n))
            reader.start()
            assert worst_answer(w, 1) < SOON_S
            reader.join()


def test_pages_that_strangers_ask_for_and_do_not_read(make_server):
    """Each of them has its turn: no timer of 0 ms keeps the loop from others, and the kernel takes little at once."""
    server = make_server()
    crowd = []
    with server.wire(timeout=60) as w:
        for _ in range(300):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", server.port))
            s.sendall(request("GET", "/openapi.json") * 30)
            crowd.append(s)
        assert worst_answer(w, 3) < SOON_S
        unread = sum(int.from_bytes(fcntl.ioctl(s, termios.FIONREAD, b"\0" * 4), "little") for s in crowd)
        assert unread > 0, "they are answered"
    for s in crowd:
        s.close()


def test_a_lease_does_not_end_in_a_stall(make_server):
    """The worker extends its lease in time, and the server is stopped for longer than the lease."""
    server = make_server()
    with server.wire(3) as w, server.wire() as other:
        w.call("SCHEDULE", "q", "x")
        (job,) = w.lease("q", "FOR", "2s")
        time.sleep(0.5)
        os.kill(server.process.pid, signal.SIGSTOP)
        other.send("PING")  # the loop has something else to read first
        w.send("EXTEND", job["id"], job["token"], "FOR", "2s")
        time.sleep(3)
        os.kill(server.process.pid, signal.SIGCONT)
        assert not isinstance(w.recv(), Refused)
        assert w.call("GET", job["id"])["state"] == "leased"
        server.says("the loop stood still")
        deadline = time.monotonic() + 60
        while w.call("GET", job["id"])["state"] == "leased":  # and then it ends
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_every_has_a_floor(make_server):
    server = make_server(min_every="20ms")
    with server.wire(3) as w:
        w.call("RECUR", "often", "q", "x", "EVERY", "20ms")
        with pytest.raises(Refused, match="INVALID every: expected at least 20ms, the server's min_every"):
            w.call("RECUR", "more", "q", "x", "EVERY", "19ms")
    server.restart(min_every=None)
    with server.wire(3) as w:
        made = w.call("RECURRENCE", "often")["last_ms"]
        while w.call("RECURRENCE", "often")["last_ms"] == made:  # it goes on
            time.sleep(0.02)
        w.call("RECUR", "often", "q", "x", "EVERY", "20ms")  # changes nothing
        for words in ("often", "q", "y", "EVERY", "20ms"), ("more", "q", "x", "EVERY", "999ms"):
            with pytest.raises(Refused, match="INVALID every: expected at least 1s, "):
                w.call("RECUR", *words)
        w.call("RECUR", "more", "q", "x", "EVERY", "1s")
