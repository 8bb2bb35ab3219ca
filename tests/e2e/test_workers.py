# SPDX-License-Identifier: MIT
"""WORKERS: who asked for jobs, which jobs they have, and how they fared."""
import time

import pytest

from steps import refused
from web import Web

SERVER = "server"


def by_name(rows):
    return {row["worker"]: row for row in rows}


def test_a_known_history(server, b):
    """Each worker takes, completes, fails and keeps known numbers of jobs."""
    begun = time.time() * 1000
    plan = {"w1": (3, 1, 2), "w2": (0, 2, 0), "w3": (0, 0, 4)}
    for name, (done, failed, kept) in plan.items():
        for i in range(done + failed + kept):
            b.call("SCHEDULE", "mail", "x")
            (job,) = b.call("LEASE", "mail,sms", "WORKER", name, "FOR", "10m")
            if i < done:
                b.call("COMPLETE", job["id"], job["token"])
            elif i < done + failed:
                b.call("FAIL", job["id"], job["token"], "FINAL", "yes")
    rows = b.call("WORKERS")
    assert [row["worker"] for row in rows] == ["w3", "w2", "w1"], "the last one that said a word comes first"
    for row in rows:
        done, failed, kept = plan[row["worker"]]
        assert (row["done"], row["failed"], row["running"], row["partial"]) == (done, failed, kept, False)
        assert row["queues"] == ["mail", "sms"] and row["tenant"] == "default" and row["address"].startswith("127.0.0.1:")
        assert begun - 1000 < row["first_ms"] <= row["asked_ms"] <= row["seen_ms"] < begun + 60_000
    with Web(server.port) as web:
        assert web.get("/v1/workers?limit=2")["workers"] == rows[:2]


def test_running_follows_stalls_releases_and_restarts(server, b):
    for _ in range(3):
        b.call("SCHEDULE", "q", "x")
    jobs = b.call("LEASE", "q", "WORKER", "w", "COUNT", "3", "FOR", "10m")
    assert by_name(b.call("WORKERS"))["w"]["running"] == 3
    b.call("RELEASE", jobs[0]["id"], jobs[0]["token"])
    b.call("EXTEND", jobs[1]["id"], jobs[1]["token"], "FOR", "200ms")
    assert by_name(b.call("WORKERS"))["w"]["running"] == 2
    time.sleep(0.4)
    assert by_name(b.call("WORKERS"))["w"]["running"] == 1
    server.restart()
    with server.wire(3) as again:
        assert again.call("WORKERS") == []
        again.call("EXTEND", jobs[2]["id"], jobs[2]["token"], "FOR", "10m")
        (row,) = again.call("WORKERS")
        assert (row["worker"], row["running"], row["asked_ms"], row["queues"]) == ("w", 1, None, [])


def test_a_word_that_is_refused_does_not_count(b):
    b.call("SCHEDULE", "q", "x")
    (job,) = b.call("LEASE", "q", "WORKER", "w")
    refused("STALE", b.call, "COMPLETE", job["id"], int(job["token"]) + 1)
    refused("INVALID", b.call, "COMPLETE", job["id"], job["token"], "RESULT", "r", "AGAIN", "1m")
    assert by_name(b.call("WORKERS"))["w"]["done"] == 0
    b.call("COMPLETE", job["id"], job["token"])
    refused("STALE", b.call, "COMPLETE", job["id"], job["token"])
    assert by_name(b.call("WORKERS"))["w"]["done"] == 1


def test_workers_without_a_name_are_told_apart_by_their_machine(b):
    b.call("SCHEDULE", "q", "x")
    (job,) = b.call("LEASE", "q")
    b.call("COMPLETE", job["id"], job["token"])
    (row,) = b.call("WORKERS")
    assert (row["worker"], row["running"], row["done"]) == (None, None, 1)


def test_a_tenant_sees_its_own_workers(server, b):
    root = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", root)
    acme = b.call("TOKENCREATE", "acme", "read-only", "TENANT", "acme")["token"]
    for tenant in ("acme", "zeta"):
        b.call("SCHEDULE", "q", "x", "TENANT", tenant)
        b.call("LEASE", "q", "WORKER", "of-" + tenant, "TENANT", tenant)
        b.call("SCHEDULE", "q", "x", "TENANT", tenant)
    jobs = b.call("LEASE", "q", "WORKER", "all", "TENANT", "*", "COUNT", "2")
    assert {(r["tenant"], r["worker"]) for r in b.call("WORKERS", "TENANT", "*")} == {
        ("acme", "of-acme"), ("zeta", "of-zeta"), ("*", "all")}
    for job in jobs:
        b.call("COMPLETE", job["id"], job["token"])
    rows = {(r["tenant"], r["worker"]): r for r in b.call("WORKERS", "TENANT", "*")}
    assert rows["acme", "all"]["done"] == rows["zeta", "all"]["done"] == 1 and rows["*", "all"]["done"] == 0
    with server.wire(3) as w:
        w.call("AUTH", acme)
        assert {(r["tenant"], r["worker"]) for r in w.call("WORKERS")} == {("acme", "of-acme"), ("acme", "all")}
        refused("NOPERM", w.call, "WORKERS", "TENANT", "zeta")
    zeta = b.call("TOKENCREATE", "zeta", "worker", "TENANT", "zeta")["token"]
    b.call("SCHEDULE", "q", "x", "TENANT", "acme")
    (job,) = b.call("LEASE", "q", "WORKER", "last", "TENANT", "acme")
    before = b.call("WORKERS", "TENANT", "acme")
    with server.wire(3) as w:
        w.call("AUTH", zeta)
        refused("NOTFOUND", w.call, "COMPLETE", job["id"], job["token"])
    assert b.call("WORKERS", "TENANT", "acme") == before, "a word of a stranger does not count"


@pytest.mark.limit(240)
def test_many_names_take_bounded_memory(server, b):
    before = b.call("STATS")["memory_bytes"]
    for i in range(2500):
        b.call("LEASE", "q", "WORKER", f"worker-{i}")
    assert 1000 * 1000 < b.call("STATS")["memory_bytes"] - before < 1000 * 1500, "workers are in the account"
    rows = b.call("WORKERS", "LIMIT", "1000")
    assert len(rows) == 1000 and rows[0]["worker"] == "worker-2499" and rows[-1]["worker"] == "worker-1500"


def test_the_command_line_shows_them(server, b):
    from shell import run
    b.call("LEASE", "q", "WORKER", "hand")
    out = run(server, "workers").stdout
    assert "hand" in out and "RUNNING" in out.upper()
