# SPDX-License-Identifier: MIT
"""Clients that have shown no token: they have little memory and little time, and keep no place from anybody."""
import socket
import ssl
import time

import pytest

from certs import Authority
from conftest import wait_for
from steps import refused
from test_limits import connect
from web import Web, read_all, request

SERVER = "server"  # each test has its own
MIB = 1 << 20


def make_root(w):
    token = w.call("TOKENCREATE", "root", "admin")["token"]
    w.call("AUTH", token)
    return token


def lazy(server):
    """A connection for which the kernel keeps little."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", server.port))
    return s


def pour(sockets, data, rounds=30):
    """Sends the bytes again and again, as long as the server takes them, and reads nothing."""
    for s in sockets:
        s.setblocking(False)
    for _ in range(rounds):
        for s in sockets:
            try:
                s.send(data)
            except OSError:
                pass
        time.sleep(0.1)


def metric(w, name):
    line = next(line for line in w.call("METRICS").splitlines() if line.startswith(f"belfry_{name} "))
    return int(line.split()[1])


def is_closed(s):
    s.settimeout(0.001)
    try:
        return s.recv(65536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def settled(sockets, what, timeout=25):
    wait_for(lambda: all(is_closed(s) for s in sockets), timeout, what, step=0.1)


@pytest.mark.parametrize("words", [b"HELLO 3\r\n", b"PING " + b"x" * 4000 + b"\r\n",
                                   request("GET", "/openapi.json")], ids=["hello", "ping", "openapi"])
def test_they_take_little_memory(make_server, words):
    server = make_server(auth_timeout="1h")
    with server.wire() as w:
        make_root(w)
        before = server.memory()["VmRSS"]
        crowd = [lazy(server) for _ in range(200)]
        pour(crowd, words * (65536 // len(words)))
        assert w.call("PING") == "PONG"
        grown = server.memory()["VmRSS"] - before
        assert grown < 10 * MIB, f"{grown / MIB:.0f} MiB for 200 connections"
        for s in crowd:
            s.close()


def test_half_requests_of_many_take_a_quarter_of_clients_memory(make_server):
    """Those that have been strangers longest give way. A newcomer is served though its token comes in pieces."""
    server = make_server(auth_timeout="1h", client_timeout="1h", clients_memory="2MiB")
    with server.wire() as w:
        root = make_root(w)
        half = b"*2\r\n$4\r\nAUTH\r\n$4000\r\n" + b"x" * 3900
        crowd = [connect(server) for _ in range(400)]
        for s in crowd:
            try:
                s.sendall(half)
            except OSError:
                pass
        # Each keeps its request in a buffer of 4 KiB.
        wait_for(lambda: metric(w, "strangers_replaced_total") >= 260, what="all have come, and most have given way")
        assert metric(w, "strangers") <= 140
        with connect(server) as s:
            s.sendall(f"*2\r\n$4\r\nAUTH\r\n${len(root)}\r\n".encode())
            time.sleep(0.2)
            s.sendall(root.encode() + b"\r\n")
            assert s.recv(100) == b"+OK\r\n"


def test_they_have_a_short_time(make_server):
    """Silent ones, those that ask now and then, of both protocols. Clients with a token stay."""
    server = make_server(auth_timeout="1500ms", client_timeout="1h", keepalive_timeout="1h")
    with server.wire() as w:
        root = make_root(w)
        with Web(server.port, token=root) as web, server.wire() as idle:
            assert web.get("/v1/stats")["strangers"] >= 1
            idle.call("AUTH", root)
            start = time.monotonic()
            begun = [b"", b"PING\r\n", b"*100\r\n$1\r\nx\r\n", b"GET /heal", request("GET", "/healthz"),
                     request("GET", "/v1/stats"), b"RESET\r\n", b"\x16\x03\x01"]
            crowd = [connect(server) for _ in begun for _ in range(5)]
            for n, s in enumerate(crowd):
                s.sendall(begun[n % len(begun)])
            busy = connect(server)
            while not is_closed(busy):
                try:
                    busy.sendall(b"PING\r\nRESET\r\n")
                except OSError:
                    break
                time.sleep(0.05)
                assert time.monotonic() - start < 25
            assert time.monotonic() - start > 1.4
            settled(crowd, "strangers are closed")
            assert idle.call("PING") == "PONG" and web.get("/v1/stats")["connections"] == 3
        assert metric(w, "strangers_late_total") == len(crowd) + 1
        wait_for(lambda: metric(w, "strangers") == 0, what="none is left")
        assert server.log().count("clients without a token were closed") < 10


def test_over_tls_too(make_server, tmp_path):
    pki = Authority(tmp_path / "pki")
    cert = pki.issue("server")
    server = make_server(auth_timeout="1500ms", client_timeout="1h", tls="on", tls_cert=cert[0], tls_key=cert[1],
                         tls_handshake_timeout="1h")
    context = ssl.create_default_context(cafile=str(pki.ca))
    with server.wire() as w:
        make_root(w)
        begun = connect(server)
        begun.sendall(b"\x16\x03\x01\x02\x00\x01")  # and no more of its handshake
        done = context.wrap_socket(connect(server), server_hostname="localhost")
        asked = context.wrap_socket(connect(server), server_hostname="localhost")
        asked.sendall(request("GET", "/healthz"))
        assert asked.recv(1000).startswith(b"HTTP/1.1 200")
        settled([begun, done, asked], "strangers are closed")
        wait_for(lambda: w.call("STATS")["connections"] == 1, what="none is left")


def test_a_revoked_token_makes_a_stranger(make_server):
    server = make_server(auth_timeout="1s")
    with server.wire() as w, server.wire() as kept, server.wire() as gone:
        make_root(w)
        for one, name in ((kept, "kept"), (gone, "gone")):
            one.call("AUTH", w.call("TOKENCREATE", name, "producer")["token"])
        time.sleep(2)
        assert gone.call("PING") == "PONG"
        w.call("TOKENREVOKE", "gone")
        assert gone.call("PING") == "PONG", "it may show another"
        settled([gone.sock], "it did not")
        assert kept.call("PING") == "PONG"


def test_the_last_answer_says_so(make_server):
    """A health check that keeps its connection hears of the end before it asks again."""
    server = make_server(auth_timeout="1s")
    with server.wire() as w:
        make_root(w)
    with connect(server) as s:
        answers = b""
        for _ in range(100):
            s.sendall(request("GET", "/healthz"))
            answers = s.recv(1000)
            if b"Connection: close" in answers:
                break
            time.sleep(0.1)
        assert b"Connection: close" in answers
        assert read_all(s) == b""


def test_they_keep_no_place_from_others(make_server):
    server = make_server(max_connections=40, auth_timeout="1h")
    with server.wire() as w:
        root = make_root(w)
        crowd = [connect(server) for _ in range(100)]
        for s in crowd:
            try:
                s.sendall(b"PING\r\n")
            except OSError:
                pass
        clients = []
        for _ in range(20):
            one = server.wire(2)
            one.call("AUTH", root)
            clients.append(one)
            crowd.append(connect(server))
        for one in clients:
            assert one.call("STATS")
        assert w.call("STATS")["connections"] == 40
        assert metric(w, "strangers_replaced_total") > 60
        # Clients with a token are never replaced.
        while w.call("STATS")["strangers"]:
            one = server.wire(2)
            one.call("AUTH", root)
            clients.append(one)
            time.sleep(0.6)  # until the server has counted
        with connect(server) as late:
            assert b"BUSY" in read_all(late)
        for one in clients:
            assert one.call("PING") == "PONG"
            one.close()
        for s in crowd:
            s.close()


def test_a_stop_does_not_wait_for_them(make_server):
    """They do not read their answers. A client with a token gets its own."""
    server = make_server(auth_timeout="1h", drain_timeout="20s")
    with server.wire() as w:
        make_root(w)
        crowd = [lazy(server) for _ in range(5)]
        pour(crowd, b"HELLO 3\r\n" * 7000, rounds=10)
        assert w.call("PING") == "PONG"
        server.stop()
        assert "not everything could be finished" not in server.log()
    for s in crowd:
        s.close()
