# SPDX-License-Identifier: MIT
"""EXPLAIN names the right reason in each case."""
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
    assert why(b, id) == "no_worker"


def test_behind_others(b):
    first, second = b.call("SCHEDULE", "q", "x"), b.call("SCHEDULE", "q", "y")
    assert b.lease("q")[0]["id"] == first
    x = b.call("EXPLAIN", second)
    assert (x["reason"], x["ready_in_queue"]) == ("behind", 1)
    assert why(b, first) == "running"


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
    assert why(b, id) == "behind"
    assert b.lease("q")[0]["id"] == id


def test_rate_limit_says_until_when(b):
    b.call("QUEUE", "q", "RATE", "1/1h")
    b.call("SCHEDULE", "q", "x")
    id = b.call("SCHEDULE", "q", "y")
    assert len(b.lease("q", "COUNT", "10")) == 1
    x = b.call("EXPLAIN", id)
    assert x["reason"] == "rate_limit"
    assert 3_500_000 < x["until_ms"] - now_ms() <= 3_600_001


def test_retry_back_off(b):
    id = b.call("SCHEDULE", "q", "x", "BACKOFF", "fixed:1h")
    job = b.lease("q")[0]
    again = b.call("FAIL", id, job["token"], "ERROR", "no")
    x = b.call("EXPLAIN", id)
    assert (x["reason"], x["until_ms"]) == ("backoff", again["at_ms"])


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
