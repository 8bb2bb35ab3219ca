# SPDX-License-Identifier: MIT
"""A LEASE that waits is ended by another connection, and a client that left before takes no job."""
import time

import pytest

from conftest import wait_for
from wire import Refused, now_ms


def waiters(b, q):
    queue = b.call("QUEUE", q)
    return queue["waiting_workers"] if queue else 0


def test_another_connection_ends_a_lease_that_waits(shared_server, b, q):
    with shared_server.wire(3) as w:
        id = w.call("CLIENT", "ID")
        assert b.call("CLIENT", "UNBLOCK", id) == 0
        w.send("LEASE", q, "WAIT", "60s")
        wait_for(lambda: waiters(b, q) == 1)
        began = time.monotonic()
        assert b.call("CLIENT", "UNBLOCK", id) == 1
        assert w.recv() == [] and time.monotonic() - began < 20
        assert b.call("CLIENT", "UNBLOCK", id) == 0
        assert waiters(b, q) == 0
        job = b.call("SCHEDULE", q, "x")
        assert w.call("LEASE", q)[0]["id"] == job  # the connection goes on
    for word in ("x", "-1", "9" * 30):
        with pytest.raises(Refused, match="INVALID CLIENT UNBLOCK"):
            b.call("CLIENT", "UNBLOCK", word)
    assert b.call("CLIENT", "UNBLOCK", 10 ** 15) == 0


def test_tenants_end_waits_of_their_own_only(make_server):
    server = make_server()
    with server.wire(3) as w:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        made = {name: w.call("TOKENCREATE", name, role, "TENANT", tenant)["token"]
                for name, role, tenant in (("a", "worker", "acme"), ("b", "worker", "acme"), ("z", "worker", "zeta"),
                                           ("p", "producer", "acme"))}
        with server.wire(3) as waits, server.wire(3) as other:
            waits.call("AUTH", made["a"])
            id = waits.call("CLIENT", "ID")
            waits.send("LEASE", "q", "WAIT", "60s")
            wait_for(lambda: (w.call("QUEUE", "q", "TENANT", "acme") or {}).get("waiting_workers") == 1)
            other.call("AUTH", made["z"])
            assert other.call("CLIENT", "UNBLOCK", id) == 0
            other.call("AUTH", made["p"])
            with pytest.raises(Refused, match="NOPERM"):
                other.call("CLIENT", "UNBLOCK", id)
            other.call("AUTH", made["b"])
            assert other.call("CLIENT", "UNBLOCK", id) == 1
            assert waits.recv() == []


def test_a_client_that_closed_before_its_job_gets_due_takes_none(shared_server, b, q):
    """Clients close 20 ms before the moment, at it and after it. The early ones take no job. Of the others the server may
    learn too late: then the job is leased, and can still be completed by its token."""
    rounds = 30
    for i in range(rounds):
        w = shared_server.wire(3)
        w.__enter__()
        w.send("LEASE", q, "WAIT", "60s", "FOR", "1h")
        wait_for(lambda: waiters(b, q) == 1)
        due = now_ms() + 40
        id = b.call("SCHEDULE", q, "x", "AT", due)
        early = i % 3 == 0
        time.sleep(max(0, (due - now_ms() + (-20, 0, 1)[i % 3]) / 1000))
        w.close()
        gone = now_ms()
        wait_for(lambda: b.call("GET", id)["state"] in ("ready", "leased"))
        wait_for(lambda: waiters(b, q) == 0)
        job = b.call("GET", id)
        assert not (early and gone < due - 5) or job["state"] == "ready", (i, job)
        if job["state"] == "ready":
            leased = b.lease(q)
            assert [j["id"] for j in leased] == [id]
            b.call("COMPLETE", id, leased[0]["token"])
        else:
            b.call("COMPLETE", id, job["token"])
