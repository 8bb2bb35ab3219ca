# SPDX-License-Identifier: MIT
"""EXPLAIN names the right reason in each case."""
import json
import time

from conftest import belfry
from web import Web
from wire import now_ms

SERVER = "server"  # each test has its own


def why(b, id, *options):
    x = b.call("EXPLAIN", id, *options)
    assert x["id"] == id and x["why"]
    return x["reason"]


def test_scheduled_later(b):
    due = now_ms() + 3_600_000
    id = b.call("SCHEDULE", "q", "x", "AT", str(due))
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["state"], x["until_ms"]) == ("scheduled", "scheduled", due)


def test_no_worker_has_asked(b):
    id = b.call("SCHEDULE", "q", "x")
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["asked_ms"]) == ("no_worker", None)


def test_behind_others(b):
    first, second = b.call("SCHEDULE", "q", "x"), b.call("SCHEDULE", "q", "y")
    assert b.lease("q")[0]["id"] == first
    third = b.call("SCHEDULE", "q", "z")
    x = b.call("EXPLAIN", third)
    assert (x["reason"], x["ready_in_queue"], x["ahead"], x["ahead_most"], x["first"]) == ("behind", 2, 1, 1, second)
    assert x["at_ms"] <= now_ms()
    assert why(b, first) == "running"


def test_the_next_job_waits_for_a_worker(b):
    b.call("SCHEDULE", "q", "x")
    id = b.call("SCHEDULE", "q", "y")
    before = now_ms()
    b.lease("q")
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["ahead"], x["at_ms"]) == ("no_worker", 0, None)
    assert before <= x["asked_ms"] <= now_ms() and "since 20" in x["why"]


def test_queue_paused(b):
    id = b.call("SCHEDULE", "q", "x")
    b.call("PAUSE", "q")
    b.lease("q")
    assert why(b, id) == "paused"
    b.call("RESUME", "q")
    assert why(b, id) != "paused"


def test_tenant_in_maintenance(b):
    id = b.call("SCHEDULE", "q", "x", "TENANT", "acme")
    b.call("TENANT", "acme", "MAINTENANCE", "yes")
    assert why(b, id, "TENANT", "acme") == "maintenance"


def test_running_limit(b):
    b.call("QUEUE", "q", "MAX_RUNNING", "1")
    b.call("SCHEDULE", "q", "x")
    id = b.call("SCHEDULE", "q", "y")
    job = b.lease("q", "COUNT", "10")[0]
    assert why(b, id) == "running_limit"
    b.call("COMPLETE", job["id"], job["token"])
    assert why(b, id) == "no_worker"
    assert b.lease("q")[0]["id"] == id


def test_rate_limit_says_until_when(b):
    b.call("QUEUE", "q", "RATE", "1/1h")
    b.call("SCHEDULE", "q", "x")
    id = b.call("SCHEDULE", "q", "y")
    assert len(b.lease("q", "COUNT", "10")) == 1
    x = b.call("EXPLAIN", id)
    assert x["reason"] == "rate_limit"
    assert 3_500_000 < x["until_ms"] - now_ms() <= 3_600_001
    third = b.call("EXPLAIN", b.call("SCHEDULE", "q", "z"))
    assert third["until_ms"] - x["until_ms"] in range(3_599_998, 3_600_003) and third["ahead"] == 1
    assert third["at_ms"] == third["until_ms"] and third["then"][0]["reason"] == "behind"


def test_retry_back_off(b):
    id = b.call("SCHEDULE", "q", "x", "BACKOFF", "fixed:1h")
    job = b.lease("q")[0]
    again = b.call("FAIL", id, job["token"], "ERROR", "no")
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["until_ms"], x["error"]) == ("backoff", again["at_ms"], "no")
    due = now_ms() + 3_600_000
    b.call("RESCHEDULE", id, "AT", due)
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["until_ms"]) == ("scheduled", due)


def test_later_and_in_maintenance_in_quiet_hours(b):
    due = (now_ms() // 86_400_000 + 2) * 86_400_000 + 3_600_000  # at one o'clock
    b.call("TENANT", "acme", "QUIET", "00:00-06:00", "TZ", "UTC")
    id = b.call("SCHEDULE", "q", "x", "AT", due, "NOTIFY", "yes", "TENANT", "acme")
    x = b.call("EXPLAIN", id, "TENANT", "acme")
    assert (x["reason"], x["until_ms"], x["at_ms"]) == ("scheduled", due, due + 5 * 3_600_000)
    assert [(c["reason"], c["until_ms"]) for c in x["then"]] == [("quiet_hours", x["at_ms"])]
    b.call("TENANT", "acme", "MAINTENANCE", "yes")
    x = b.call("EXPLAIN", id, "TENANT", "acme")
    assert [c["reason"] for c in x["then"]] == ["maintenance", "quiet_hours"] and x["at_ms"] is None


def test_no_lease_ends_in_the_past(make_server):
    server = make_server()
    with server.wire(3) as b:
        id = b.call("SCHEDULE", "q", "x")
        b.lease("q", "FOR", "1s")
        b.call("SCHEDULE", "r", "x")  # its answer says that the lease is on disk
    server.kill()
    time.sleep(1.1)
    server.start()
    with server.wire(3) as b:
        asked = now_ms()
        x = b.call("EXPLAIN", id)
        assert x["reason"] == "running" and asked < x["until_ms"] <= now_ms() + 10_000


FIELDS = ["id", "state", "reason", "why", "until_ms", "ready_in_queue", "deferred_until_ms", "deferrals", "then", "at_ms",
          "ahead", "ahead_most", "first", "asked_ms", "attempt", "attempts", "error", "ended_ms", "parent"]


def test_three_ways_to_ask_have_one_answer(server):
    """RESP, HTTP and the command line; the fields that were there first are first."""
    with server.wire(3) as b, Web(server.port) as web:
        b.call("PAUSE", "q")
        id = b.call("SCHEDULE", "q", "x", "IN", "1h")
        shown = b.call("EXPLAIN", id)
        assert list(shown) == FIELDS
        assert shown["then"] == [{"reason": "paused", "why": "the queue is paused", "until_ms": None}]
        assert web.get(f"/v1/jobs/{id}/explain") == shown
        result = belfry("--port", server.port, "explain", id, "--json")
        assert json.loads(result.stdout) == shown
        text = belfry("--port", server.port, "explain", id).stdout
        assert "the queue is paused" in text
    with server.wire(2) as old:
        assert old.call("EXPLAIN", id)[::2] == FIELDS


def test_ended_and_unknown(b):
    id = b.call("SCHEDULE", "q", "x")
    b.call("CANCEL", id)
    assert why(b, id) == "ended"
    assert b.call("EXPLAIN", id[:-1] + ("0" if id[-1] != "0" else "1")) is None
    assert b.call("EXPLAIN", "KEY", "none", "QUEUE", "q") is None


def test_expired_on_disk(make_server):
    """It counts as ready until it is loaded, but nobody is told that it will run."""
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        ids = b.pipeline([("SCHEDULE", "q", "x" * 200, "EXPIRE", "1ms") for _ in range(60_000)])
        x = b.call("EXPLAIN", ids[-1])
        assert (x["reason"], x["state"]) == ("ended", "expired") and "EXPIRE" in x["why"]


def test_by_key(b):
    id = b.call("SCHEDULE", "q", "x", "KEY", "k", "IN", "1h")
    assert b.call("EXPLAIN", "KEY", "k", "QUEUE", "q")["id"] == id


def test_on_disk(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        ids = b.pipeline([("SCHEDULE", "q", "x" * 200) for _ in range(60_000)])
        assert b.call("STATS")["cold_jobs"] > 0
        assert b.lease("q")[0]["id"] == ids[0]
        assert why(b, ids[-1]) == "on_disk"
        assert why(b, ids[30_000]) == "on_disk"
