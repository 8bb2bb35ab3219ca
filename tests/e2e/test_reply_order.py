# SPDX-License-Identifier: MIT
"""Replies of one connection, in order and whole, while commits are slow."""
import socket
import threading
import time


def test_a_parked_lease_behind_a_ping_does_not_disturb_the_replies(make_server):
    server = make_server(sync_delay="50ms")
    stop = threading.Event()

    def produce():
        with server.wire() as w:
            while not stop.is_set():
                w.call("SCHEDULE", "other", "x", "IN", "1h")

    producers = [threading.Thread(target=produce) for _ in range(3)]
    for thread in producers:
        thread.start()
    try:
        for i in range(10):
            with server.wire(proto=2) as w:
                w.send("PING")
                w.send("LEASE", f"q{i}", "WAIT", "60s")
                assert w.recv() == "PONG"
                time.sleep(0.15)  # some commits pass
                with server.wire() as other:
                    other.call("SCHEDULE", f"q{i}", f"payload {i}")
                (job,) = w.recv()
                assert job[0] == "id" and f"payload {i}" in job
                assert w.call("PING") == "PONG"
    finally:
        stop.set()
        for thread in producers:
            thread.join()
    server.stop()


def test_every_request_is_answered_in_order_after_a_half_close(make_server):
    server = make_server(sync_delay="20ms")
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"SCHEDULE a x IN 1h\r\nLEASE none WAIT 5s\r\nPING\r\nSCHEDULE b y IN 1h\r\n")
        s.shutdown(socket.SHUT_WR)
        s.settimeout(60)
        got = b""
        while chunk := s.recv(4096):
            got += chunk
    lines = got.split(b"\r\n")
    assert lines[0] == b"$26" and lines[2:4] == [b"*0", b"+PONG"] and lines[4] == b"$26", got
