# SPDX-License-Identifier: MIT
"""Limits: how many, how large, how long. Whoever is beyond one is told, and the others do not notice."""
import functools
import http.client
import signal
import socket
import threading
import time

import pytest

from conftest import best, wait_for
from steps import refused
from test_http import BAD_BODIES
from web import Web, raw, read_all, request
from wire import encode

KIB, MIB = 1 << 10, 1 << 20


def connect(server, source=None):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(source, 0) if source else None)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


class Others:
    """Clients that behave, of both protocols, all the time: `worst` is the longest that one waited."""

    def __init__(self, server):
        self.server, self.worst, self.count, self.failed, self._stop = server, 0.0, 0, [], threading.Event()

    def __enter__(self):
        self._threads = [threading.Thread(target=self._run, args=(ask,)) for ask in (self._resp, self._http)]
        for t in self._threads:
            t.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for t in self._threads:
            t.join()
        assert not self.failed, self.failed
        assert self.count > 0

    def _resp(self):
        with self.server.wire() as w:
            while not self._stop.is_set():
                yield w.call("PING") == "PONG"

    def _http(self):
        with Web(self.server.port) as w:
            while not self._stop.is_set():
                yield w.ask("GET", "/healthz").status == 200

    def _run(self, ask):
        try:
            start = time.monotonic()
            for good in ask():
                assert good
                self.worst = max(self.worst, time.monotonic() - start)
                self.count += 1
                time.sleep(0.01)
                start = time.monotonic()
        except Exception as e:  # pylint: disable=broad-except
            self.failed.append(repr(e))


def others_do_not_wait(test):
    """The test answers how long the others waited at most: less than 5 s."""
    @functools.wraps(test)
    def run(*args, **kw):
        best(5, lambda: test(*args, **kw))
    return run


# ---- How many ----

def test_connections_from_one_address(make_server, tmp_path):
    config = tmp_path / "belfry.ini"
    config.write_text("max_connections_per_address = 3\n")
    server = make_server(config=config)
    wait_for(lambda: connections(server, "127.0.0.2") == 1, what="the one that looked whether it is there has gone")
    held = [connect(server) for _ in range(2)]
    held.append(connect(server))
    held[-1].sendall(request("GET", "/healthz"))
    assert held[-1].recv(1000).startswith(b"HTTP/1.1 200"), "one of HTTP counts as well"
    for s in held[:2]:
        s.sendall(b"PING\r\n")
        assert s.recv(10) == b"+PONG\r\n"
    with connect(server) as late:
        assert read_all(late) == (b"-BUSY too many clients from your address: max_connections_per_address is "
                                  b"reached\r\n")
    assert connections(server, "127.0.0.2") == 4, "others have their own"
    config.write_text("max_connections_per_address = 4\n")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "configuration reloaded" in server.log(), what="reloaded")
    with connect(server) as s:
        s.sendall(b"PING\r\n")
        assert s.recv(10) == b"+PONG\r\n"
        with connect(server) as late:
            assert read_all(late).startswith(b"-BUSY")
    for s in held:
        s.close()
    wait_for(lambda: connections(server, "127.0.0.1") == 1, what="places that are free again")


def connections(server, source):
    with connect(server, source) as s:
        s.sendall(b"HELLO 3\r\nSTATS\r\nQUIT\r\n")
        answer = read_all(s)
        return int(answer.split(b"$11\r\nconnections\r\n:")[1].split(b"\r\n")[0]) if b"connections" in answer else None


def test_names_of_command(shared_server):
    """A name that is given often is answered once, and there is a limit: a short request has no long answer."""
    with shared_server.wire(3) as w:
        docs = w.call("COMMAND", "DOCS", *["lease", "LEASE", "nix", "schedule"] * 25)
        assert list(docs) == ["lease", "schedule"] and docs == w.call("COMMAND", "DOCS", "lease", "schedule")
        assert len(w.call("COMMAND", "DOCS")) == w.call("COMMAND", "COUNT")
        assert w.call("COMMAND", "DOCS", "nix") == {}
        assert len(w.call("COMMAND", "INFO", *["lease", "nix"] * 50)) == 100
        for kind in ("DOCS", "INFO"):
            assert "100 names" in refused("INVALID", w.call, "COMMAND", kind, *["lease"] * 101)


# ---- How large ----

@others_do_not_wait
def test_headers(make_server):
    server, wide = make_server(), make_server(max_headers="256KiB")
    long_line = request("GET", "/healthz", b"", "X-Long: " + "y" * (60 * KIB), "Connection: close")
    many = request("GET", "/healthz", b"", *(f"X-{n}: y" for n in range(1500)), "Connection: close")
    path = request("GET", "/healthz?" + "x" * (60 * KIB), b"", "Connection: close")
    with Others(server) as others:
        for data, status in ((long_line, b"431"), (many, b"431"), (path, b"414")):
            answer = raw(server.port, data)
            assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
        small = request("GET", "/healthz", b"", "X-Long: " + "y" * 4000, "Connection: close")
        assert raw(server.port, small).startswith(b"HTTP/1.1 200")
    for data in (long_line, many, path):
        assert raw(wide.port, data).startswith(b"HTTP/1.1 200")
    return others.worst


def test_a_query_of_many_parameters_is_answered(shared_server):
    """One that is unknown is named, however many there are; the next request is answered, too."""
    with Web(shared_server.port) as w:
        for count in (400, 1500, 2000):
            query = "&".join(f"a{i}=1" for i in range(count))
            for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/queues/q/pause")):
                answer = w.ask(method, f"{path}?{query}")
                assert answer.status == 400 and answer.json["code"] == "INVALID", answer
                assert answer.json["detail"].startswith("a0: unknown parameter of the query"), answer
            assert w.ask("GET", "/v1/jobs?" + "&" * count).status == 200
        assert w.ask("GET", "/v1/jobs?limit=5&queue=q").status == 200


@pytest.mark.parametrize("header", ["x" * 16250 + ": y", "X: " + "y" * 16250, "X: " + "y" * 19000])
def test_headers_of_about_max_headers_are_answered(shared_server, header):
    """The memory of the headers has no room for an answer then."""
    answer = raw(shared_server.port, request("GET", "/healthz", b"", header))
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n"), answer[:200]
    assert b"Content-Type: application/problem+json\r\n" in answer
    assert answer.endswith(b'"detail":"the headers take more than max_headers, which is 16384 bytes"}'), answer


@pytest.mark.parametrize("headers, why", [
    (["Content-Length: 2", "Content-Length: 2"], "Content-Length: is given twice"),
    (["Content-Length: 2", "Content-Length: 40"], "Content-Length: is given twice"),
    (["Content-Length: 2", "Transfer-Encoding: chunked"], "expected one of them"),
    (["Transfer-Encoding: chunked", "Content-Length: 2"], "expected one of them"),
    (["Host: localhost", "Content-Length: 2"], "Host: is given twice"),
    (["Content-Length: 2", "Content-Type: text/plain"], "Content-Type: is given twice"),
    (["Content-Length: 2", "Idempotency-Key: a", "idempotency-key: b"], "Idempotency-Key: is given twice"),
    (["Content-Length: 2", "Authorization: Bearer a.b", "authorization: Bearer a.b"], "Authorization: is given twice"),
])
def test_headers_that_contradict_each_other(shared_server, headers, why):
    """What stands behind such a request is never taken for one."""
    head = "\r\n".join(["POST /v1/jobs HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers])
    behind = request("POST", "/v1/queues/smuggled/pause")
    answer = raw(shared_server.port, head.encode() + b"\r\n\r\n{}" + behind + behind)
    assert answer.startswith(b"HTTP/1.1 400") and why.encode() in answer, answer
    assert answer.count(b"HTTP/1.1 ") == 1
    with Web(shared_server.port) as w:
        assert w.ask("GET", "/v1/queues/smuggled").status == 404


@others_do_not_wait
def test_requests_in_resp(make_server):
    server = make_server(max_payload="64KiB")
    words = [
        (b"*1\r\n$%d\r\n" % (10 * MIB), "an argument is larger than the limit"),
        (b"*99999999\r\n", "too many arguments"),
        (b"*1000\r\n" + b"$150000\r\n%b\r\n" % (b"x" * 150000) * 12, "request is larger than the limit"),
        (b"x" * 70000, "an inline request is longer"),
        (b"*2\r\n$-5\r\nabc\r\n", "invalid length"),
        (b"*1\r\n:5\r\n", "expected $"),
    ]
    with Others(server) as others:
        for data, why in words:
            with connect(server) as s:
                try:
                    s.sendall(data)
                except OSError:
                    pass
                answer = read_all(s)
                assert answer.startswith(b"-PROTOCOL ") and why.encode() in answer, (answer, why)
        with server.wire() as w:
            w.send("SCHEDULE", "q", "x" * (65 * KIB))
            assert w.recv().code == "TOOLARGE"
            assert w.call("SCHEDULE", "q", "x" * (64 * KIB))
    return others.worst


@others_do_not_wait
def test_bodies_in_http(make_server):
    server = make_server(max_payload="64KiB")
    head = ("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Connection: close\r\n").encode()
    with Others(server) as others:
        answer = raw(server.port, head + b"Content-Length: 3000000\r\n\r\n" + b" " * 3_000_000)
        assert answer.startswith(b"HTTP/1.1 413") and b"TOOLARGE" in answer
        chunk = b"80000\r\n" + b" " * 0x80000 + b"\r\n"
        answer = raw(server.port, head + b"Transfer-Encoding: chunked\r\n\r\n" + 3 * chunk + b"0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413") and b"TOOLARGE" in answer
        with Web(server.port) as w:
            answer = w.ask("POST", "/v1/jobs", {"queue": "q", "payload": "x" * (65 * KIB)})
            assert answer.status == 413 and answer.json["code"] == "TOOLARGE"
            assert w.ask("POST", "/v1/jobs", {"queue": "q", "payload": "x" * (64 * KIB)}).status == 201
    return others.worst


@others_do_not_wait
def test_bad_bodies_while_others_are_served(make_server):
    """Bad UTF-8, wrong types, fields twice, deep nesting; each alone is in test_http.py."""
    server = make_server()
    with Others(server) as others, Web(server.port) as w:
        for _ in range(3):
            for body, why in BAD_BODIES:
                answer = w.ask("POST", "/v1/jobs", body)
                assert answer.status == 400 and why in answer.json["detail"], answer
        deep = b'{"queue":"q","payload":' + b"[" * 500_000
        assert w.ask("POST", "/v1/jobs", deep).status == 400
        assert w.get("/v1/stats")["total_scheduled"] == 0
    return others.worst


# ---- How long ----

SLOW = {
    "first line": (b"GET /heal", b"t"),
    "method": (b"GE", b""),
    "headers": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n"),
    "body": (request("POST", "/v1/jobs", b"{" + b" " * 900_000)[:-899_990], b" "),
    "chunks": (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "array": (b"*1000\r\n", b"$1\r\nx\r\n"),
    "bulk": (b"*2\r\n$4\r\nECHO\r\n$90000\r\n", b"x"),
    "line": (b"PIN", b"x"),
}


@pytest.mark.limit(180)
@others_do_not_wait
def test_slow_requests(make_server):
    """Many of each kind that send a little now and then: all are cut off, however they go on."""
    server = make_server(client_timeout="2s", keepalive_timeout="1h")  # the others may stall between two requests
    slow = [(name, connect(server), more) for name, (_, more) in SLOW.items() for _ in range(12)]
    for name, s, _ in slow:
        s.sendall(SLOW[name][0])
        s.setblocking(False)
    with Others(server) as others:
        end = time.monotonic() + 25  # client_timeout is 30 s if not told
        while slow and time.monotonic() < end:
            slow = [one for one in slow if still_there(*one)]
            time.sleep(0.2)
        assert not slow, f"still there: {sorted({name for name, _, _ in slow})}"
        server.says("it stopped within a request")
    return others.worst


def still_there(name, s, more):
    try:
        s.sendall(more)
        answer = s.recv(1000)
    except BlockingIOError:
        return True
    except OSError:
        answer = b""
    assert not answer.startswith(b"HTTP/1.1 2"), (name, answer)
    s.close()
    return False


def test_idle_connections_in_http(make_server):
    short, long = make_server("short", keepalive_timeout="1s"), make_server("long", client_timeout="500ms",
                                                                             keepalive_timeout="1h")
    with connect(short) as s, connect(long) as other:
        start = time.monotonic()
        for one in (s, other):
            one.sendall(request("GET", "/healthz"))
            assert one.recv(1000).startswith(b"HTTP/1.1 200")
        answered = time.monotonic()
        assert read_all(s) == b""
        assert 0.8 < time.monotonic() - start < 25
        while time.monotonic() - answered < 3.5:
            time.sleep(0.1)
        other.sendall(request("GET", "/healthz"))
        assert other.recv(1000).startswith(b"HTTP/1.1 200"), "that one may stay"
    assert any(stays(short) for _ in range(3)), "one that asks in time may stay"  # a machine may stall
    with short.wire() as idle:
        time.sleep(2)
        assert idle.call("PING") == "PONG", "RESP has idle_timeout"


def stays(server):
    s = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    s.auto_open = False  # else it would connect again
    s.connect()
    try:
        for _ in range(8):
            s.request("GET", "/healthz")
            answer = s.getresponse()
            assert answer.status == 200 and answer.read()
            time.sleep(0.3)
        return True
    except (http.client.HTTPException, OSError):
        return False
    finally:
        s.close()


def test_a_slow_reader(make_server):
    server = make_server(client_timeout="1s", output_limit="1MiB")
    with server.wire() as w:
        ids = w.pipeline([("SCHEDULE", "q", "x" * 900_000) for _ in range(8)])
        slow, start = [], time.monotonic()
        for data in (encode("GET", ids[0]) * 20, request("POST", "/v1/leases", b'{"queues":"q","count":8}')):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", server.port))
            s.sendall(data)
            slow.append(s)
        wait_for(lambda: w.call("QUEUE", "q")["leased"] > 0, what="the one of HTTP is answered")
        wait_for(lambda: "it does not read its replies" in server.log(), 25, "the one of RESP is cut off")
        wait_for(lambda: w.call("STATS")["connections"] == 1, 25, "they are cut off")
        assert time.monotonic() - start > 0.8, "but not before their time"
        for s in slow:
            s.close()


def dates(size):
    """Dates of EXDATE with commas between, so many bytes in all: 17 each, and shorter ones at the end."""
    text = ",".join(f"{2100 + i // 300}01{1 + i % 28:02d}T{i // 28 % 24:02d}0000Z" for i in range(481))
    return text + "," + "20990101T000000" + "Z" * (size - 8192)


@pytest.mark.parametrize("option", ["EXDATE", "RDATE"])
def test_dates_of_a_recurrence_have_8192_bytes(server, option):
    with server.wire(3) as b, Web(server.port) as w:
        recur = ("RECUR", "r", "q", "x", "CRON", "0 9 * * *", option)
        assert len(dates(8192)) == 8192
        assert b.call(*recur, dates(8192))[option.lower()] == dates(8192)
        assert b.call("RECURRENCE", "r")[option.lower()] == dates(8192)
        beyond = f"{option.lower()}: 8193 bytes, the limit is 8192"
        assert refused("TOOLARGE", b.call, *recur, dates(8193)).endswith(beyond)
        body = {"queue": "q", "payload": "x", "cron": "0 9 * * *", option.lower(): dates(8192)}
        assert w.ask("PUT", "/v1/recurrences/web", body).status == 200
        answer = w.ask("PUT", "/v1/recurrences/web", {**body, option.lower(): dates(8193)})
        assert (answer.status, answer.json["code"]) == (413, "TOOLARGE")
        assert answer.json["detail"].endswith(beyond)
