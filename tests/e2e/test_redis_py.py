# SPDX-License-Identifier: MIT
"""A client that we did not write: python3-redis."""
import threading
import time

import pytest
import redis

from conftest import best
from wire import as_map, now_ms


@pytest.mark.quiet
def test_schedule_lease_complete(server):
    r = server.client()
    assert r.ping() is True

    def lateness():
        id = r.execute_command("SCHEDULE", "mail", "hello", "IN", "1h")
        assert r.execute_command("LEASE", "mail") == []
        assert r.execute_command("CANCEL", id) == "cancelled"
        at = now_ms() + 400
        id = r.execute_command("SCHEDULE", "mail", "hello", "AT", at)
        (job,) = r.execute_command("LEASE", "mail", "WAIT", "20s")
        got = now_ms()
        job = as_map(job)
        assert job["id"] == id and job["payload"] == "hello" and job["attempt"] == 1
        assert job["due_ms"] == at <= got
        assert r.execute_command("COMPLETE", id, job["token"], "RESULT", "sent") in ("OK", True)
        assert as_map(r.execute_command("GET", id))["result"] == "sent"
        return got - at

    best(200, lateness)


@pytest.mark.quiet
def test_a_worker_waits_while_another_connection_schedules(server):
    r = server.client()
    asked = []

    def schedule():
        asked.append(now_ms())
        r.execute_command("SCHEDULE", "mail", "x", "IN", "200ms")

    def waited():
        start = time.monotonic()  # before the timer, which counts from here at the earliest
        threading.Timer(0.2, schedule).start()
        (job,) = r.execute_command("LEASE", "mail", "WAIT", "20s")
        received = now_ms()
        # In the server's own unit: its moments are whole milliseconds.
        assert asked[-1] + 200 <= as_map(job)["due_ms"] <= received
        return time.monotonic() - start

    best(2, waited)


def test_a_pipeline_of_10000_commands(server):
    r = server.client()
    pipe = r.pipeline(transaction=False)
    for i in range(10_000):
        pipe.execute_command("SCHEDULE", "bulk", f"job {i}", "IN", "1h")
    ids = pipe.execute()
    assert len(set(ids)) == 10_000 and all(len(i) == 26 for i in ids)
    pipe = r.pipeline(transaction=False)
    for id in ids:
        pipe.execute_command("GET", id)
    assert [as_map(job)["payload"] for job in pipe.execute()] == [f"job {i}" for i in range(10_000)]
    for id in ids:
        pipe.execute_command("CANCEL", id)
    assert set(pipe.execute()) == {"cancelled"}


@pytest.mark.parametrize("command, code", [
    (("NOSUCH", "a"), "UNKNOWN"),
    (("SCHEDULE", "q"), "INVALID"),
    (("SCHEDULE", "q", "x", "COLOUR", "red"), "INVALID"),
    (("COMPLETE", "0" * 26, "1"), "NOTFOUND"),
])
def test_errors_are_response_errors_with_a_code_word(server, command, code):
    with pytest.raises(redis.ResponseError) as info:
        server.client().execute_command(*command)
    assert str(info.value).startswith(code + " ")


def test_stale_and_keyexists(server):
    r = server.client()
    id = r.execute_command("SCHEDULE", "q", "x", "KEY", "k")
    (job,) = r.execute_command("LEASE", "q")
    token = int(as_map(job)["token"])
    with pytest.raises(redis.ResponseError, match="^STALE "):
        r.execute_command("COMPLETE", id, token + 1)
    with pytest.raises(redis.ResponseError, match="^KEYEXISTS .*" + id):
        r.execute_command("SCHEDULE", "q", "x", "KEY", "k", "IFEXISTS", "reject")


def test_hello_chooses_resp3_and_back(server):
    with server.wire(2) as w:
        hello = w.call("HELLO", 3)
        assert isinstance(hello, dict) and hello["proto"] == 3 and hello["server"] == "belfry"
        id = w.call("SCHEDULE", "q", "x")
        (job,) = w.call("LEASE", "q")
        assert isinstance(job, dict) and job["id"] == id
        assert w.call("EXTEND", id, job["token"])["cancelled"] is False
        w.send("GET", "0" * 26)
        w.send("PING")
        assert w.sock.recv(3) == b"_\r\n"
        w.recv()
        hello = w.call("HELLO", 2)
        assert as_map(hello)["proto"] == 2
        assert isinstance(w.call("GET", id), list)
        w.send("HELLO", 4)
        assert w.recv().code == "NOPROTO"
        assert w.call("PING") == "PONG"


def test_the_usual_session_commands(server):
    r = server.client(client_name="tester")
    assert r.echo("hello") == "hello"
    assert "belfry" in str(r.info()).lower()
    assert r.execute_command("COMMAND") is not None
    with server.wire(2) as w:
        assert w.call("PING", "hi") == "hi"
        assert w.call("QUIT") == "OK"
        assert w.sock.recv(1) == b""
