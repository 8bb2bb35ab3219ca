# SPDX-License-Identifier: MIT
"""What clients hold: memory for what they sent and have not read, and connections. Both are shared by tenants."""
import threading
import time

import pytest

from conftest import wait_for
from steps import refused
from test_strangers import is_closed, lazy, make_root, metric, pour
from web import Web, request
from wire import Refused, encode

MIB = 1 << 20
BIG = "x" * 900_000


def token(w, name, role="admin"):
    return w.call("TOKENCREATE", name, role, "TENANT", name)["token"]


def crowd_of(server, n, words, auth=None):
    """Clients that ask and do not read."""
    crowd = [lazy(server) for _ in range(n)]
    for s in crowd:
        if auth:
            s.sendall(encode("AUTH", auth))
            assert s.recv(100) == b"+OK\r\n"
        s.setblocking(False)
    pour(crowd, words, 5)
    return crowd


@pytest.mark.parametrize("protocol", ["resp", "http"])
def test_answers_that_are_not_read(make_server, protocol):
    server = make_server(memory="64MiB")
    with server.wire() as w, server.wire() as reader:
        id = w.call("SCHEDULE", "q", BIG, "IN", "1h")
        before = server.memory()["VmRSS"]
        words = encode("GET", id) if protocol == "resp" else request("GET", f"/v1/jobs/{id}")
        crowd = crowd_of(server, 24, words * 8)
        most = 0
        for _ in range(30):  # A client that reads gets its answers beside them.
            assert len(reader.call("GET", id)["payload"]) == len(BIG)
            assert w.call("PING") == "PONG"
            most = max(most, server.memory()["VmRSS"] - before)
        assert most < 40 * MIB, f"{most / MIB:.0f} MiB"
        assert w.call("STATS")["clients_limit_bytes"] == 16 * MIB
        for s in crowd:
            s.close()
        wait_for(lambda: w.call("STATS")["clients_bytes"] < MIB, what="all is given back")


def test_a_client_that_reads_slowly_stays_beside_lazy_ones(make_server):
    server = make_server(memory="64MiB")
    with server.wire() as w, server.wire() as reader:
        id = w.call("SCHEDULE", "q", BIG, "IN", "1h")
        crowd = crowd_of(server, 40, encode("GET", id) * 8)
        reader.sock.sendall(encode("GET", id) * 10)
        got, end = 0, time.monotonic() + 60
        while got < 10 * len(BIG):  # about 1 MB/s
            got += len(reader.sock.recv(65536))
            time.sleep(0.05)
            assert time.monotonic() < end
        wait_for(lambda: metric(w, "clients_closed_total") > 5, what="lazy ones are closed")
        for s in crowd:
            s.close()


def test_requests_that_do_not_end(make_server):
    server = make_server(memory="64MiB")
    with server.wire() as w:
        before = server.memory()["VmRSS"]
        half = b"*3\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$1000000\r\n" + b"x" * 999_000
        crowd = [lazy(server) for _ in range(60)]
        sent = [0] * len(crowd)
        for s in crowd:
            s.setblocking(False)
        for _ in range(40):
            for n, s in enumerate(crowd):
                try:
                    sent[n] += s.send(half[sent[n]:sent[n] + 200_000])
                except OSError:
                    pass
            time.sleep(0.02)
        assert w.call("STATS")["clients_bytes"] < 18 * MIB
        assert w.call("SCHEDULE", "q", BIG), "others get their turn"
        assert server.memory()["VmRSS"] - before < 40 * MIB
        for s in crowd:
            s.close()


def test_requests_that_come_byte_by_byte(make_server):
    """None of them is lazy, and there are more than fit: they do not take more and more."""
    server = make_server(memory="64MiB")
    with server.wire() as w:
        make_root(w)
        half = b"*3\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$1000000\r\n" + b"x" * 900_000
        evil = token(w, "evil", "producer")
        crowd = [lazy(server) for _ in range(60)]
        sent = [0] * len(crowd)
        for s in crowd:
            s.sendall(encode("AUTH", evil))
            assert s.recv(100) == b"+OK\r\n"
            s.setblocking(False)
        most = 0
        for turn in range(16):
            for n, s in enumerate(crowd):
                try:
                    sent[n] += s.send(half[sent[n]:sent[n] + 200_000] if sent[n] < len(half) else b"x")
                except OSError:
                    pass
            time.sleep(0.5 if turn > 6 else 0.02)
            most = max(most, w.call("STATS")["clients_bytes"])
        assert 6 * MIB < most < 12 * MIB, f"{most / MIB:.0f} MiB: a tenant has half of 16 MiB"
        for s in crowd:
            s.close()


def test_many_large_requests_at_once(make_server):
    """They wait for each other, and all are executed."""
    server = make_server(memory="64MiB")
    done = []

    def schedule(n):
        with server.wire() as w:
            for i in range(5):
                w.call("SCHEDULE", "q", BIG, "IN", "1h", "KEY", f"{n}-{i}")
            done.append(w.call("SCHEDULE", "q", "z"))

    threads = [threading.Thread(target=schedule, args=(n,)) for n in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(done) == 40
    with server.wire() as w:
        assert metric(w, "clients_closed_total") == 0
    with Web(server.port) as web:
        for n in range(20):
            web.post("/v1/jobs", {"queue": "h", "payload": BIG, "in": "1h"})


def test_a_tenant_does_not_push_out_another(make_server):
    server = make_server(memory="64MiB")
    with server.wire() as w:
        make_root(w)
        with server.wire() as a, server.wire() as b:
            for one, name in ((a, "a"), (b, "b")):
                one.call("AUTH", token(w, name))
            big = a.call("SCHEDULE", "q", BIG, "IN", "1h")
            own = b.call("SCHEDULE", "q", BIG, "IN", "1h")
            # One of b that does not read for a while, within its share.
            slow = crowd_of(server, 3, encode("GET", own) * 2, w.call("TOKENCREATE", "b2", "admin", "TENANT", "b")["token"])
            crowd = crowd_of(server, 60, encode("GET", big) * 8, w.call("TOKENCREATE", "a2", "admin", "TENANT", "a")["token"])
            start, worst = time.monotonic(), 0.0
            while time.monotonic() - start < 8:
                asked = time.monotonic()
                assert len(b.call("GET", own)["payload"]) == len(BIG)
                worst = max(worst, time.monotonic() - asked)
                time.sleep(0.05)
            assert worst < 2, "b does not wait for a"
            assert metric(w, "clients_closed_total") > 0
            assert not any(is_closed(s) for s in slow)
            assert w.call("STATS")["clients_bytes"] < 20 * MIB
            for s in slow + crowd:
                s.close()


def test_a_byte_now_and_then_is_too_little(make_server):
    server = make_server(client_timeout="1s")
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", BIG, "IN", "1h")
        for words in (encode("GET", id) * 20, request("GET", f"/v1/jobs/{id}") * 20):
            s = lazy(server)
            s.sendall(words)
            end = time.monotonic() + 40
            wait_for(lambda: w.call("STATS")["connections"] == 2, what="it is there")
            while w.call("STATS")["connections"] > 1:
                try:
                    s.recv(1)
                except OSError:
                    break
                time.sleep(0.05)
                assert time.monotonic() < end, "it is still there"
            s.close()
        server.says("it does not read its replies")


def test_limits_of_a_tenant(make_server):
    server = make_server()
    with server.wire() as w:
        make_root(w)
        auth = token(w, "a")
        own = w.call("TENANT", "a", "MAX_CONNECTIONS", 2, "REQUESTS", 20)
        assert own["max_connections"] == 2 and own["requests"] == 20
        with server.wire(2) as one, server.wire(2) as two, server.wire(2) as three, server.wire(2) as other:
            one.call("AUTH", auth)
            two.call("AUTH", auth)
            assert "max_connections of a is 2" in refused("BUSY", three.call, "AUTH", auth)
            assert other.call("AUTH", token(w, "b")) == "OK"
            two.close()
            wait_for(lambda: w.call("STATS")["connections"] == 4, what="a place is free")
            assert three.call("AUTH", auth) == "OK"
            # Requests about leases may be as many again.
            answers = one.pipeline([("GET", "01M7HYNQRQ0000000000000001")] * 60)
            wrong = [a for a in answers if isinstance(a, Refused)]
            assert 35 <= len(wrong) <= 45 and all("requests of a is 20 in a second" in str(a) for a in wrong)
            ends = one.pipeline([("EXTEND", "01M7HYNQRQ0000000000000001", "7")] * 60)
            assert 15 <= sum(a.code != "RATE" for a in ends) <= 45
            with Web(server.port, token=auth) as web:
                three.close()
                wait_for(lambda: w.call("STATS")["connections"] == 3, what="a place is free")
                answer = web.ask("GET", "/v1/jobs/01M7HYNQRQ0000000000000001")
                assert answer.status == 429 and answer.json["code"] == "RATE", answer
            assert len(other.pipeline([("PING",)] * 200)) == 200 and w.call("STATS")
            assert metric(w, "tenant_requests_refused_total") > 50
            refused("NOPERM", other.call, "TENANT", "b", "REQUESTS", 0)
            w.call("TENANT", "a", "REQUESTS", 0)
            time.sleep(1)
            assert not any(isinstance(a, Refused) for a in one.pipeline([("PING",)] * 200))


def test_two_tenants_leave_places_for_others(make_server):
    server = make_server(max_connections=40)
    with server.wire() as w:
        root = make_root(w)
        tokens = {name: token(w, name) for name in "abc"}
        taken = {name: [] for name in "abc"}
        for name in "ab":
            for _ in range(40):
                one = server.wire(2)
                try:
                    one.call("AUTH", tokens[name])
                    taken[name].append(one)
                except Refused as e:
                    assert e.code == "BUSY" and "this tenant has as many connections" in str(e)
                    refused("NOAUTH", one.call, "STATS")
                    one.close()
                    break
        assert len(taken["a"]) in (19, 20) and 5 < len(taken["b"]) < 15
        with server.wire(2) as c, server.wire(2) as admin, Web(server.port, token=tokens["a"]) as web:
            assert c.call("AUTH", tokens["c"]) == "OK" and admin.call("AUTH", root) == "OK"
            answer = web.ask("GET", "/v1/stats")
            assert answer.status == 429 and answer.json["code"] == "BUSY"
        assert metric(w, "tenant_connections_refused_total") == 3
        for one in taken["a"][:10]:
            one.close()
        wait_for(lambda: w.call("STATS")["connections"] < 25, what="places are free")
        with server.wire(2) as again:
            assert again.call("AUTH", tokens["b"]) == "OK"


def test_a_request_that_waited_is_refused_once(make_server):
    """It waited for memory, and when its turn came the tenant had sent as many requests as it may."""
    server = make_server(clients_memory="1")
    with server.wire() as w:
        make_root(w)
        auth = token(w, "a")
        w.call("TENANT", "a", "REQUESTS", 1)
        with server.wire(2) as one, server.wire(2) as other:
            one.call("AUTH", auth)
            other.call("AUTH", auth)
            for _ in range(3):
                one.send("GET", "01M7HYNQRQ0000000000000001")
                end = time.monotonic() + 1.5
                while time.monotonic() < end:  # The other leaves nothing to it.
                    other.pipeline([("PING",)] * 10)
                answer = one.recv()
                assert answer is None or answer.code == "RATE"
            w.call("TENANT", "a", "REQUESTS", 0)
            time.sleep(1)
            assert one.call("PING") == "PONG", "its next answer is that of its next request"


def test_bodies_whose_length_no_header_tells(make_server):
    server = make_server(memory="64MiB")
    with server.wire() as w:
        before = server.memory()["VmRSS"]
        head = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
        crowd = [lazy(server) for _ in range(60)]
        for s in crowd:
            s.sendall(head)
            s.setblocking(False)
        wait_for(lambda: w.call("STATS")["connections"] == 61, what="all have begun")
        pour(crowd, b"10000\r\n" + b" " * 65536 + b"\r\n", 20)
        assert w.call("STATS")["clients_bytes"] < 20 * MIB
        assert server.memory()["VmRSS"] - before < 40 * MIB
        for s in crowd:
            s.close()
        wait_for(lambda: w.call("STATS")["clients_bytes"] < MIB, what="all is given back")
        # Small ones do not count as if they were large.
        crowd = [lazy(server) for _ in range(60)]
        for s in crowd:
            s.sendall(head)
        rest = b'"queue":"q","payload":"x"}'
        for s in crowd:
            s.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))
            assert s.recv(100).startswith(b"HTTP/1.1 201")
            s.close()


def test_requests_that_become_larger(make_server):
    """The first large argument is not the largest."""
    server = make_server(memory="64MiB")
    with server.wire() as w:
        before = server.memory()["VmRSS"]
        words = [b"*3\r\n$8\r\nSCHEDULE\r\n$5000\r\n" + b"x" * 4990, b"x" * 10 + b"\r\n$1000000\r\n" + b"x" * 999_000]
        crowd = [lazy(server) for _ in range(60)]
        for s in crowd:
            s.sendall(words[0])
            s.setblocking(False)
        wait_for(lambda: w.call("STATS")["clients_bytes"] > 60 * 5000, what="all have begun")
        sent = [0] * len(crowd)
        for _ in range(40):
            for n, s in enumerate(crowd):
                try:
                    sent[n] += s.send(words[1][sent[n]:sent[n] + 200_000])
                except OSError:
                    pass
            time.sleep(0.02)
        assert w.call("STATS")["clients_bytes"] < 18 * MIB
        assert w.call("SCHEDULE", "q", BIG), "others get their turn"
        assert server.memory()["VmRSS"] - before < 40 * MIB
        for s in crowd:
            s.close()
