# SPDX-License-Identifier: MIT
"""LEASE and every option of it, over the real server."""
import select
import time

import pytest

from conftest import best, wait_for
from steps import lease1, refused, run_once
from wire import Refused, as_map, now_ms


def test_a_lease_tells_everything_a_worker_needs(b, q):
    before = now_ms()
    id = b.call("SCHEDULE", q, "x", "KEY", "k", "PRIORITY", 2)
    job = lease1(b, q, "FOR", "30s", "WORKER", "w1")
    assert set(job) >= {"id", "token", "queue", "payload", "attempt", "priority", "due_ms", "until_ms", "key"}
    assert job["id"] == id and job["queue"] == q and job["attempt"] == 1
    assert job["priority"] == 2 and job["key"] == "k" and job["due_ms"] <= now_ms()
    assert before + 30_000 - 50 <= job["until_ms"] <= now_ms() + 30_000
    shown = b.call("GET", id)
    assert shown["state"] == "leased" and shown["worker"] == "w1" and int(shown["token"]) == job["token"]


def test_resp2_shows_maps_as_flat_arrays(shared_server, q):
    with shared_server.wire(2) as w:
        id = w.call("SCHEDULE", q, "x")
        (job,) = w.call("LEASE", q)
        assert isinstance(job, list) and as_map(job)["id"] == id
        assert as_map(w.call("GET", id))["state"] == "leased"
        assert w.call("GET", "0" * 26) is None
        page = as_map(w.call("LIST", "QUEUE", q))
        assert as_map(page["jobs"][0])["id"] == id and page["cursor"] is None


def test_a_lease_is_a_minute_unless_told_otherwise(b, q):
    def is_leased_for(ms, *options):
        before = now_ms()
        job = run_once(b, q, "x", *options)
        assert before + ms - 50 <= job["until_ms"] <= now_ms() + ms

    is_leased_for(60_000)
    b.call("QUEUE", q, "LEASE", "5m")
    is_leased_for(300_000)
    is_leased_for(600_000, "LEASE", "10m")


def test_count_bounds_the_jobs(b, q):
    for i in range(5):
        b.call("SCHEDULE", q, i)
    assert len(b.lease(q)) == 1
    assert len(b.lease(q, "COUNT", 3)) == 3
    assert len(b.lease(q, "COUNT", 1000)) == 1
    assert b.lease(q, "COUNT", 1000) == []
    refused("INVALID", b.call, "LEASE", q, "COUNT", 1001)
    refused("INVALID", b.call, "LEASE", q, "COUNT", 0)


def test_several_queues_in_one_lease(b, q):
    b.call("SCHEDULE", q + ".a", "a")
    b.call("SCHEDULE", q + ".b", "b")
    jobs = b.lease(f"{q}.a,{q}.b,{q}.none", "COUNT", 10)
    assert sorted(job["payload"] for job in jobs) == ["a", "b"]
    assert {job["queue"] for job in jobs} == {q + ".a", q + ".b"}
    refused("INVALID", b.call, "LEASE", q + ",")
    refused("INVALID", b.call, "LEASE", "")


@pytest.mark.quiet
def test_wait_ends_empty_when_its_time_is_up(b, q):
    def waited():
        start = time.monotonic()
        assert b.lease(q, "WAIT", "300ms") == []
        took = time.monotonic() - start
        assert took >= 0.299  # clocks count in whole milliseconds
        return took

    best(1.0, waited)


@pytest.mark.quiet
def test_wait_delivers_at_the_due_time_and_not_before(b, q):
    def lateness():
        at = now_ms() + 300
        b.call("SCHEDULE", q, "x", "AT", at)
        job = lease1(b, q, "WAIT", "20s")
        got = now_ms()
        assert job["due_ms"] == at <= got
        return got - at

    best(100, lateness)


def test_nothing_is_ever_early(b, q):
    start = now_ms() + 100
    data = [("SCHEDULE", q, i, "AT", start + i % 500, "RETAIN", 0) for i in range(2000)]
    assert not [r for r in b.pipeline(data) if isinstance(r, Refused)]
    seen = 0
    end = time.monotonic() + 60
    while seen < 2000 and time.monotonic() < end:
        jobs = b.lease(q, "COUNT", 100, "WAIT", "1s")
        got = now_ms()
        assert all(job["due_ms"] <= got for job in jobs)
        seen += len(jobs)
    assert seen == 2000


def test_wait_is_served_by_a_schedule_of_somebody_else(b, q, shared_server):
    with shared_server.wire(3) as worker:
        worker.send("LEASE", q, "WAIT", "10s")
        time.sleep(0.05)
        id = b.call("SCHEDULE", q, "x")
        (job,) = worker.recv()
        assert job["id"] == id


def test_each_job_goes_to_one_waiting_worker(b, q, shared_server):
    workers = [shared_server.wire(3) for _ in range(10)]
    for w in workers:
        w.send("LEASE", q, "WAIT", "1h")
    wait_for(lambda: (b.call("QUEUE", q) or {}).get("waiting_workers") == 10, what="ten waiters")
    ids = [b.call("SCHEDULE", q, i) for i in range(7)]

    def answered():
        return select.select([w.sock for w in workers], [], [], 0)[0]

    wait_for(lambda: len(answered()) >= 7, what="seven answers")
    served = answered()
    got = [w.recv() for w in workers if w.sock in served]
    assert sorted(job["id"] for jobs in got for job in jobs) == sorted(ids) and len(got) == 7
    assert b.call("QUEUE", q)["waiting_workers"] == 3 and not answered()
    for w in workers:
        w.close()


def test_commands_after_a_waiting_lease_are_answered_in_order(b, q):
    b.send("LEASE", q, "WAIT", "300ms")
    b.send("PING")
    b.send("LEASE", q, "WAIT", "100ms")
    b.send("PING")
    assert [b.recv() for _ in range(4)] == [[], "PONG", [], "PONG"]


def test_a_worker_that_goes_away_while_waiting_takes_no_job(b, q, shared_server):
    w = shared_server.wire(3)
    w.send("LEASE", q, "WAIT", "10s")
    wait_for(lambda: (b.call("QUEUE", q) or {}).get("waiting_workers") == 1, what="a waiter")
    w.close()
    wait_for(lambda: not (b.call("QUEUE", q) or {}).get("waiting_workers"), what="no waiter")
    id = b.call("SCHEDULE", q, "x")
    assert lease1(b, q)["id"] == id
