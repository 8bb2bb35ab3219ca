# SPDX-License-Identifier: MIT
"""DELETE: a job is forgotten, in memory or on disk, and its key is free."""
import pytest

from conftest import wait_for
from shell import run
from sse import Stream
from steps import lease1
from web import Web
from wire import Refused


def test_a_job_is_deleted_in_any_state_but_leased(b, q):
    id = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "k")
    assert b.call("DELETE", id) == "OK"
    assert b.call("GET", id) is None
    assert b.call("SCHEDULE", q, "y", "KEY", "k") != id
    job = lease1(b, q)
    with pytest.raises(Refused, match="STATE .*CANCEL it, and delete it when it has ended"):
        b.call("DELETE", job["id"])
    b.call("COMPLETE", job["id"], job["token"])
    assert b.call("GET", job["id"])["state"] == "done"
    assert b.call("DELETE", job["id"]) == "OK"
    with pytest.raises(Refused, match="NOTFOUND"):
        b.call("DELETE", job["id"])


def test_a_job_is_deleted_by_its_key(b, q):
    id = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "k")
    assert b.call("DELETE", "KEY", "k", "QUEUE", q) == "OK"
    assert b.call("GET", id) is None


def test_a_key_that_is_held_is_free(b, q):
    b.call("QUEUE", q, "KEY_HOLD", "1h")
    id = b.call("SCHEDULE", q, "x", "KEY", "k")
    b.call("COMPLETE", id, lease1(b, q)["token"])
    assert b.call("SCHEDULE", q, "x", "KEY", "k") == id
    b.call("DELETE", id)
    assert b.call("SCHEDULE", q, "x", "KEY", "k") != id


def test_jobs_that_wait_for_it_learn_that_it_was_cancelled(b, q):
    parent = b.call("SCHEDULE", q, "x", "IN", "1h")
    cancelled = b.call("SCHEDULE", q, "x", "AFTER", parent)
    runs = b.call("SCHEDULE", q, "x", "AFTER", parent, "AFTERFAIL", "run")
    assert b.call("DELETE", parent) == "OK"
    assert b.call("GET", cancelled)["state"] == "cancelled"
    assert lease1(b, q)["id"] == runs
    assert b.call("GET", parent) is None


def test_a_job_on_disk_is_deleted_and_stays_so(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as w:
        ids = []
        for _ in range(20):
            ids += w.pipeline([("SCHEDULE", "q", "x" * 200, "IN", "2h", "KEY", f"k{len(ids) + i}") for i in range(2500)])
        assert w.call("STATS")["cold_jobs"] > 10_000
        gone = ids[::500]
        assert w.pipeline([("DELETE", id) for id in gone]) == ["OK"] * len(gone)
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert w.pipeline([("GET", id) for id in gone]) == [None] * len(gone)
        assert w.call("STATS")["scheduled"] == len(ids) - len(gone)
        assert w.call("SCHEDULE", "q", "new", "IN", "2h", "KEY", "k0") not in ids


def test_http_and_the_command_line_delete(shared_server, b, q):
    one, two, three = (b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", key) for key in "abc")
    with Web(shared_server.port) as web:
        assert web.ask("POST", f"/v1/jobs/{one}/delete").status == 204
        assert web.ask("POST", f"/v1/jobs/{one}/delete").status == 404
        assert web.ask("POST", f"/v1/queues/{q}/keys/b/delete").status == 204
    assert run(shared_server, "delete", three).returncode == 0
    assert [b.call("GET", id) for id in (one, two, three)] == [None] * 3


def test_an_event_tells_of_a_job_that_was_deleted_before_its_end(server):
    with Stream(server.port, "?queue=q") as events, server.wire(3) as w:
        events.ready()
        ahead = w.call("SCHEDULE", "q", "x", "IN", "1h")
        w.call("DELETE", ahead)
        ended = w.call("SCHEDULE", "q", "x")
        w.call("COMPLETE", ended, lease1(w, "q")["token"])
        w.call("DELETE", ended)  # its end has been told, and being forgotten is no event
        last = w.call("SCHEDULE", "q", "x", "IN", "1h")
        told = [(e.data["id"], e.data["state"], e.data["from"], e.data["cause"]) for e in events.take(6)]
    assert told == [
        (ahead, "scheduled", None, "created"), (ahead, "cancelled", "scheduled", "ended"),
        (ended, "scheduled", None, "created"), (ended, "leased", "ready", "leased"), (ended, "done", "leased", "ended"),
        (last, "scheduled", None, "created")]


def test_the_audit_log_has_deleted_queues_and_tenants_and_no_single_jobs(make_server):
    server = make_server()
    with server.wire(3) as w:
        w.call("QUEUE", "q", "MAX_RUNNING", 7, "TENANT", "acme")
        for verb in "CANCEL", "DELETE":
            assert w.call(verb, w.call("SCHEDULE", "q", "x", "IN", "1h", "TENANT", "acme"), "TENANT", "acme")
        w.call("BULK", "delete", "QUEUE", "q", "TENANT", "acme")
    with server.wire(3) as w:
        wait_for(lambda: w.call("QUEUE", "q", "TENANT", "acme")["cancelled"] == 0, what="the bulk is done")
        w.call("QUEUEDELETE", "q", "TENANT", "acme")
        w.call("TENANT", "zeta", "WEIGHT", 3)
        w.call("TENANTDELETE", "zeta")
        assert [e["verb"] for e in w.call("AUDIT", "TENANT", "*")["entries"]] == [
            "QUEUE", "BULK", "QUEUEDELETE", "TENANT", "TENANTDELETE"]


def test_a_queue_without_jobs_is_deleted_with_its_settings(make_server):
    server = make_server()
    with server.wire(3) as w:
        w.call("QUEUE", "q", "MAX_RUNNING", 7)
        id = w.call("SCHEDULE", "q", "x", "IN", "1h")
        with pytest.raises(Refused, match="STATE .*the queue has jobs"):
            w.call("QUEUEDELETE", "q")
        w.call("CANCEL", id)
        with pytest.raises(Refused, match="STATE .*which may have ended"):
            w.call("QUEUEDELETE", "q")
        w.call("DELETE", id)
        assert w.call("QUEUEDELETE", "q") == "OK"
        assert w.call("QUEUE", "q") is None
        with pytest.raises(Refused, match="NOTFOUND"):
            w.call("QUEUEDELETE", "q")
        assert any(entry["verb"] == "QUEUEDELETE" for entry in w.call("AUDIT")["entries"])
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert w.call("QUEUE", "q") is None
        w.call("SCHEDULE", "q", "x")
        assert w.call("QUEUE", "q")["max_running"] == 0
    with Web(server.port) as web:
        assert web.ask("DELETE", "/v1/queues/none").status == 404


def test_a_tenant_that_is_not_used_is_deleted(make_server):
    server = make_server()
    with server.wire(3) as w:
        w.call("TENANT", "acme", "WEIGHT", 3)
        w.call("QUEUE", "q", "MAX_RUNNING", 7, "TENANT", "acme")
        with pytest.raises(Refused, match="STATE .*the tenant has queues"):
            w.call("TENANTDELETE", "acme")
        w.call("QUEUEDELETE", "q", "TENANT", "acme")
        assert w.call("TENANTDELETE", "acme") == "OK"
        assert w.call("TENANT", "acme") is None
        w.call("TENANT", "zeta", "WEIGHT", 3)
        w.call("RECUR", "r", "q", "x", "EVERY", "1h", "TENANT", "zeta")
        with pytest.raises(Refused, match="STATE"):
            w.call("TENANTDELETE", "zeta")
        w.call("RECURDELETE", "r", "TENANT", "zeta")
        with Web(server.port) as web:
            assert web.ask("DELETE", "/v1/tenants/zeta").status == 204
        assert w.call("TENANT", "zeta") is None
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert w.call("TENANT", "acme") is None
