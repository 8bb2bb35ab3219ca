# SPDX-License-Identifier: MIT
"""Clients that wait for the result of a job: GET and SCHEDULE with WAIT, over RESP, HTTP and the command line."""
import json
import socket
import threading
import time

import pytest

from conftest import belfry, wait_for
from web import Web, raw, request
from wire import Closed, Refused, encode

ENDED = ("done", "dead", "cancelled", "expired")


def waiting(b):
    return b.call("STATS")["waiting_results"]


def finish(b, q, result="ok"):
    job = b.call("LEASE", q, "WAIT", "10s")[0]
    b.call("COMPLETE", job["id"], job["token"], "RESULT", result)
    return job["id"]


class Soon:
    """A worker with a connection of its own, which completes a job of the queue after a while."""

    def __init__(self, server, q, result, after_s=0.3):
        self.thread = threading.Timer(after_s, self.work, (server, q, result))

    def work(self, server, q, result):
        with server.wire(3) as own:
            finish(own, q, result)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.thread.join()


@pytest.fixture
def w(shared_server):
    with shared_server.wire(3) as w:
        yield w


def test_get_waits_for_the_result(b, q, w):
    id = b.call("SCHEDULE", q, "x")
    w.send("GET", id, "WAIT", "60s")
    wait_for(lambda: waiting(b) == 1)
    token = b.call("LEASE", q)[0]["token"]
    b.call("FAIL", id, token, "ERROR", "first", "RETRY", "0ms")  # no end: it is retried
    finish(b, q, "second")
    shown = w.recv()
    assert (shown["state"], shown["result"], shown["id"]) == ("done", "second", id)
    assert waiting(b) == 0
    assert w.call("GET", id, "WAIT", "60s") == shown  # an ended job is shown at once


@pytest.mark.parametrize("end, state", [(("CANCEL", "{id}"), "cancelled"), (None, "dead"), (("expire",), "expired")])
def test_every_end_is_an_end(b, q, w, end, state):
    id = b.call("SCHEDULE", q, "x", *(("EXPIRE", "300ms") if state == "expired" else ()))
    w.send("GET", id, "WAIT", "60s")
    if state == "cancelled":
        b.call("CANCEL", id)
    elif state == "dead":
        b.call("FAIL", id, b.call("LEASE", q)[0]["token"], "FINAL", "yes")
    assert w.recv()["state"] == state


def test_the_state_so_far_when_the_time_is_up(b, q, w):
    id = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "k")
    start = time.monotonic()
    assert w.call("GET", id, "WAIT", "300ms")["state"] == "scheduled"
    assert time.monotonic() - start >= 0.299
    assert w.call("GET", "KEY", "k", "QUEUE", q, "WAIT", "0")["id"] == id
    assert w.call("GET", "0" * 26, "WAIT", "60s") is None
    for words in (("WAIT", "2d"), ("WAIT", "x")):
        with pytest.raises(Refused, match="INVALID wait"):
            w.call("GET", id, *words)


def test_what_follows_on_the_connection_waits(b, q, w):
    id = b.call("SCHEDULE", q, "x")
    w.sock.sendall(encode("GET", id, "WAIT", "60s") + encode("PING") + encode("GET", id, "WAIT", "60s") + encode("ECHO", "y"))
    wait_for(lambda: waiting(b) == 1)
    time.sleep(0.05)
    assert waiting(b) == 1
    finish(b, q)
    assert w.recv()["state"] == "done" and w.recv() == "PONG" and w.recv()["state"] == "done" and w.recv() == "y"


def test_schedule_waits_for_its_own_job(b, q, w):
    w.send("SCHEDULE", q, "x", "WAIT", "60s", "KEY", "once", "RETAIN", "0")
    id = finish(b, q, "made")
    shown = w.recv()
    assert (shown["id"], shown["result"], shown["key"]) == (id, "made", "once")  # it is kept for those who wait
    assert w.call("SCHEDULE", q, "x", "WAIT", "50ms")["state"] == "ready"
    first = b.call("SCHEDULE", q, "x", "KEY", "taken", "IN", "1h")
    assert w.call("SCHEDULE", q, "y", "KEY", "taken", "WAIT", "10ms")["id"] == first
    with pytest.raises(Refused, match="item 1: wait: an item of a batch cannot wait"):
        w.call("BATCH", "all", 4, q, "x", "WAIT", "1s")


def test_a_job_that_is_forgotten_is_null(b, q, w):
    id = b.call("SCHEDULE", q, "x", "IN", "1h")
    w.send("GET", id, "WAIT", "60s")
    wait_for(lambda: waiting(b) == 1)
    b.call("DELETE", id)
    assert w.recv() is None


def test_a_client_that_goes_waits_no_longer(shared_server, b, q, w):
    id = b.call("SCHEDULE", q, "x")
    w.send("GET", id, "WAIT", "60s")
    web = socket.create_connection(("127.0.0.1", shared_server.port))
    web.sendall(request("GET", f"/v1/jobs/{id}?wait=60s"))
    wait_for(lambda: waiting(b) == 2)
    w.close()
    web.close()
    wait_for(lambda: waiting(b) == 0)
    finish(b, q)


def test_unblock_and_a_revoked_token_end_the_wait(make_server):
    server = make_server()
    with server.wire(3) as root, server.wire(3) as w:
        root.call("AUTH", root.call("TOKENCREATE", "root", "admin")["token"])
        w.call("AUTH", root.call("TOKENCREATE", "shop", "producer", "TENANT", "acme")["token"])
        number = w.call("CLIENT", "ID")
        id = w.call("SCHEDULE", "q", "secret", "IN", "1h")
        w.send("GET", id, "WAIT", "60s")
        wait_for(lambda: waiting(root) == 1)
        assert root.call("CLIENT", "UNBLOCK", number) == 1
        assert w.recv()["state"] == "scheduled"
        w.send("GET", id, "WAIT", "60s")
        wait_for(lambda: waiting(root) == 1)
        root.call("TOKENREVOKE", "shop")
        answer = w.recv()
        assert isinstance(answer, Refused) and answer.code == "NOAUTH", answer
        # Another tenant's job is not there, however long one waits.
        other = root.call("TOKENCREATE", "other", "producer", "TENANT", "zeta")["token"]
        with server.wire(3) as z:
            z.call("AUTH", other)
            assert z.call("GET", id, "WAIT", "60s") is None
        assert waiting(root) == 0


def test_a_stop_answers_those_who_wait(make_server):
    server = make_server()
    with server.wire(3) as w, server.wire(3) as b:
        id = b.call("SCHEDULE", "q", "x", "IN", "1h")
        w.send("GET", id, "WAIT", "60s")
        wait_for(lambda: waiting(b) == 1)
        server.stop()
        assert w.recv()["state"] == "scheduled"


# ---- HTTP and the command line ----

def test_http_says_whether_the_job_has_ended(shared_server, web, b, q):
    id = b.call("SCHEDULE", q, "x")
    so_far = web.ask("GET", f"/v1/jobs/{id}?wait=50ms")
    assert (so_far.status, so_far.headers["Location"], so_far.json["state"]) == (202, f"/v1/jobs/{id}", "ready")
    assert web.ask("GET", f"/v1/jobs/{id}").status == 200  # it was not asked to wait
    with Soon(shared_server, q, '{"n":1}'):
        done = web.ask("GET", f"/v1/jobs/{id}?wait=50s&payload=json")
    assert (done.status, done.json["state"], done.json["result_json"]) == (200, "done", {"n": 1})
    assert "Location" not in done.headers
    assert web.ask("GET", "/v1/jobs/" + "0" * 26 + "?wait=50s").status == 404
    refused = web.ask("GET", f"/v1/jobs/{id}?wait=2d")
    assert refused.status == 400 and "wait" in refused.json["detail"]


def ask_with(port, method, path, prefer, body=b""):
    answer = raw(port, request(method, path, body, f"Prefer: {prefer}", "Connection: close"))
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode().lower(), json.loads(text)


def test_prefer_wait(shared_server, b, q):
    port = shared_server.port
    status, head, job = ask_with(port, "POST", "/v1/jobs", "wait=1", json.dumps({"queue": q, "payload": "x", "in": "1h"}).encode())
    assert status == 202 and f"location: /v1/jobs/{job['id'].lower()}" in head and job["state"] == "scheduled"
    b.call("CANCEL", job["id"])
    status, _, seen = ask_with(port, "GET", f"/v1/jobs/{job['id']}", "respond-async, wait=60")
    assert (status, seen["state"]) == (200, "cancelled")
    with Soon(shared_server, q, "sent"):
        status, head, job = ask_with(port, "POST", "/v1/jobs", "Wait=60; x=y", json.dumps({"queue": q, "payload": "x"}).encode())
    assert (status, job["result"]) == (200, "sent") and "location" not in head
    status, head, job = ask_with(port, "POST", "/v1/jobs", "wait=soon, handling=lenient", json.dumps({"queue": q, "payload": "x"}).encode())
    assert (status, sorted(job)) == (201, ["created", "id", "outcome"])
    assert ask_with(port, "GET", "/v1/queues", "wait=60")[0] == 200


def test_the_command_line_waits(shared_server, b, q):
    with Soon(shared_server, q, "from a worker"):
        done = belfry("schedule", q, "x", "--wait", "50s", "--port", shared_server.port)
    assert done.returncode == 0 and "from a worker" in done.stdout, done
    id = b.call("SCHEDULE", q, "x", "IN", "1h")
    assert "scheduled" in belfry("get", id, "--wait", "100ms", "--port", shared_server.port).stdout


# ---- Many, jobs on disk, and kill -9 ----

def test_a_thousand_wait_for_one_job_and_one_for_each_of_a_thousand(make_server):
    server = make_server()
    with server.wire(3) as b:
        one = b.call("SCHEDULE", "one", "x")
        each = [b.call("SCHEDULE", "each", str(i)) for i in range(500)]
        ws = []
        try:
            for i in range(1000):
                ws.append(server.wire(3))
                ws[-1].send("GET", one if i < 500 else each[i - 500], "WAIT", "100s")
            wait_for(lambda: waiting(b) == 1000)
            stalls = b.call("STATS")["stalls"]
            finish(b, "one", "for all")
            for job in b.call("LEASE", "each", "COUNT", 500):
                b.call("COMPLETE", job["id"], job["token"], "RESULT", job["payload"])
            for i, w in enumerate(ws):
                shown = w.recv()
                assert shown["state"] == "done" and shown["result"] == ("for all" if i < 500 else str(i - 500)), i
            figures = b.call("STATS")
            assert figures["waiting_results"] == 0 and figures["stalls"] == stalls
        finally:
            for w in ws:
                w.close()


def test_a_job_on_disk_is_awaited(make_server):
    server = make_server(memory="16m")
    with server.wire(3) as b, server.wire(3) as w:
        pad = "p" * 2000
        ids = []
        for i in range(30):
            b.sock.sendall(b"".join(encode("SCHEDULE", "far", pad, "IN", "1h") for _ in range(500)))
            ids += [b.recv() for _ in range(500)]
        wait_for(lambda: b.call("STATS")["cold_jobs"] > 1000)
        for id in (ids[0], ids[-1]):
            w.send("GET", id, "WAIT", "60s")
            wait_for(lambda: waiting(b) == 1)
            b.call("RESCHEDULE", id)
            assert finish(b, "far", "came back") == id
            assert w.recv()["result"] == "came back"
        w.send("GET", ids[7], "WAIT", "60s")
        wait_for(lambda: waiting(b) == 1)
        b.call("CANCEL", ids[7])
        assert w.recv()["state"] == "cancelled"


def test_only_a_durable_end_is_told(make_server):
    """A server that is killed again and again: an end that a client was told of is an end after the start."""
    server = make_server()
    told = []
    for round in range(8):
        with server.wire(3) as b:
            ids = [b.call("SCHEDULE", "q", "x") for _ in range(20)]
            ws = [server.wire(3) for _ in ids]
            for w, id in zip(ws, ids):
                w.send("GET", id, "WAIT", "60s")
            wait_for(lambda: waiting(b) == len(ids))
            jobs = b.call("LEASE", "q", "COUNT", 20, "FOR", "1h")
            b.sock.sendall(b"".join(encode("COMPLETE", job["id"], job["token"], "RESULT", job["id"]) for job in jobs))
            time.sleep(0.0003 * round)
            server.kill()
            for w, id in zip(ws, ids):
                try:
                    shown = w.recv()
                    assert shown["state"] == "done" and shown["result"] == id
                    told.append(id)
                except (Closed, ConnectionError):
                    pass  # it asks again after the start
                w.close()
        server.start()
        with server.wire(3) as b:
            for id in told:
                assert b.call("GET", id, "WAIT", "0")["state"] == "done"
            for id in ids:
                if id not in told:
                    b.call("CANCEL", id) if b.call("GET", id)["state"] not in ENDED else None
            wait_for(lambda: all(b.call("GET", id, "WAIT", "0")["state"] in ENDED + ("leased",) for id in ids))
