# SPDX-License-Identifier: MIT
"""The promises of docs/semantics.md, one test or more for each point, by its number. They are short:
each shows that the promise holds over the wire; the other tests try to break it."""
import datetime as dt
import pathlib
import re

import pytest

from conftest import ROOT, best, wait_for
from sse import Stream
from wire import Refused, now_ms

HOUR = 3_600_000
YEAR_9999 = 253402300799999


@pytest.fixture
def b(shared_server):
    with shared_server.wire(3) as w:
        yield w


@pytest.fixture
def q(request):
    """A queue that no other test uses."""
    return re.sub(r"[^A-Za-z0-9._:/-]", "-", request.node.name)[:100]


def refused(code, call, *args):
    with pytest.raises(Refused) as info:
        call(*args)
    assert info.value.code == code, info.value
    return str(info.value)


def lease1(b, q, *options):
    (job,) = b.lease(q, *options)
    return job


def state(b, id):
    return b.call("GET", id)["state"]


def start_of(job):
    return job["until_ms"] - job["lease_ms"]


def kill_job(b, q, *options):
    """A dead job of the queue."""
    id = b.call("SCHEDULE", q, "x", *options)
    b.call("FAIL", id, lease1(b, q)["token"], "FINAL", "yes")
    return id


def parked(server, *args):
    """A connection whose LEASE waits at the server."""
    with server.wire(3) as w:
        before = w.call("STATS")["waiting_workers"]
        waiting = server.wire(3)
        waiting.send("LEASE", *args, "WAIT", "1h")
        wait_for(lambda: w.call("STATS")["waiting_workers"] > before, what="the worker waits")
    return waiting


@pytest.fixture(scope="module")
def deep(tmp_path_factory, request):
    """A server with more jobs than memory has room for, and their ids."""
    from conftest import Server
    server = Server(tmp_path_factory.mktemp("deep"), memory="16MiB").start()
    request.addfinalizer(server.kill)
    start = now_ms() + 24 * HOUR
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "q", "x" * 700, "AT", start + i, "KEY", i) for i in range(30_000)], timeout=60)
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 15_000, timeout=60, what="jobs have gone to disk")
    return server, ids


def test_the_document_names_these_tests_and_no_others():
    text = pathlib.Path(ROOT / "docs" / "semantics.md").read_text()
    named = set(re.findall(r"`(test_point_\w+)`", text))
    there = {name for name in globals() if name.startswith("test_point_")}
    assert named == there
    points = re.split(r"^\*\*(\d+)\.\*\*", text, flags=re.M)[1:]
    assert points
    for number, words in zip(points[::2], points[1::2]):
        found = re.findall(r"`test_point_(\d+)_", words)
        assert found and {int(n) for n in found} == {int(number)}, words


# ---- Intake ----

def test_point_01_what_was_acknowledged_survives_a_kill(make_server):
    server = make_server()
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "q", i, "IN", "1h") for i in range(500)])
        server.kill()
    server.start()
    with server.wire(3) as w:
        shown = w.pipeline([("GET", id) for id in ids])
    assert [job["payload"] for job in shown] == [str(i) for i in range(500)]


def test_point_02_a_past_moment_runs_at_once_unless_the_queue_refuses_it(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", "2001-01-01T00:00:00Z")
    assert lease1(b, q)["id"] == id
    b.call("QUEUE", q, "PAST_GRACE", "1h")
    b.call("SCHEDULE", q, "x", "AT", now_ms() - HOUR // 2)
    refused("PAST", b.call, "SCHEDULE", q, "x", "AT", now_ms() - 2 * HOUR)


def test_point_03_moments_reach_to_the_year_9999_and_are_never_clamped(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", "9999-12-31T23:59:59.999Z")
    assert b.call("GET", id)["due_ms"] == YEAR_9999
    for late in (("AT", YEAR_9999 + 1), ("AT", "10000-01-01T00:00:00Z"), ("IN", f"{YEAR_9999}ms")):
        refused("INVALID", b.call, "SCHEDULE", q, "x", *late)
    assert len(b.call("LIST", "QUEUE", q)["jobs"]) == 1


def test_point_04_a_key_is_kept_replaced_or_rejected(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k", "IN", "1h")
    before = b.call("GET", id)
    assert b.call("SCHEDULE", q, "second", "KEY", "k") == id
    assert id in refused("KEYEXISTS", b.call, "SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "reject")
    assert b.call("GET", id) == before
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == id
    job = lease1(b, q)
    assert (job["id"], job["payload"]) == (id, "second")


def test_point_04_a_key_is_free_when_its_job_has_ended_unless_it_is_held(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k")
    b.call("COMPLETE", id, lease1(b, q)["token"])
    second = b.call("SCHEDULE", q, "x", "KEY", "k")
    assert second != id
    b.call("QUEUE", q, "KEY_HOLD", "1h")
    b.call("COMPLETE", second, lease1(b, q)["token"])
    assert b.call("SCHEDULE", q, "x", "KEY", "k", "IFEXISTS", "replace") == second
    assert state(b, second) == "done" and b.lease(q) == []


def test_point_04_replace_waits_for_the_attempt_that_runs(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k")
    job = lease1(b, q)
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == id
    assert b.call("GET", id)["payload"] == "first"
    b.call("COMPLETE", id, job["token"])
    again = lease1(b, q)
    assert (again["id"], again["payload"]) == (id, "second")


def test_point_04_redrive_does_not_take_a_key_from_another(b, q):
    dead = kill_job(b, q, "KEY", "k")
    b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h")
    refused("KEYEXISTS", b.call, "REDRIVE", dead)
    assert state(b, dead) == "dead"


def test_point_04_a_key_belongs_to_a_tenants_queue(b, q):
    ids = {b.call("SCHEDULE", queue, "x", "KEY", "k", "IN", "1h", "IFEXISTS", "reject", "TENANT", tenant)
           for queue in (q, q + ".other") for tenant in ("default", "acme")}
    assert len(ids) == 4


def test_point_04_a_key_belongs_to_its_ordering_key(b, q):
    plain, mine = b.call("SCHEDULE", q, "x", "KEY", "k"), b.call("SCHEDULE", q, "x", "KEY", "k", "ORDER", "o")
    assert plain != mine == b.call("SCHEDULE", q, "y", "KEY", "k", "ORDER", "o")
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q, "ORDER", "o") == "cancelled"
    assert (state(b, plain), state(b, mine)) == ("ready", "cancelled")


def test_point_05_a_batch_is_all_or_none_or_each_by_itself(b, q):
    good, bad = (2, q, "x"), (4, q, "x", "PRIORITY", 9)
    assert "item 2" in refused("INVALID", b.call, "BATCH", "all", *good, *bad)
    assert b.call("QUEUE", q) is None
    ids = b.call("BATCH", "all", *good, *good)
    assert [job["id"] for job in b.lease(q, "COUNT", 10)] == ids
    first, second, third = b.call("BATCH", "each", *good, *bad, *good)
    assert isinstance(second, Refused) and second.code == "INVALID"
    assert [job["id"] for job in b.lease(q, "COUNT", 10)] == [first, third]


@pytest.mark.parametrize("args, text", [
    (("SCHEDULE", "no such name", "x"), "INVALID queue: expected 1-128 characters of A-Z a-z 0-9 . _ - : /"),
    (("SCHEDULE", b"\xff\xfe", "x"), "INVALID queue: expected 1-128 characters of A-Z a-z 0-9 . _ - : /"),
    (("SCHEDULE", "q", "x", "PRIORITY", "high"), "INVALID priority: expected 1 to 5"),
    (("SCHEDULE", "q", "x", "COLOUR", "red"), "INVALID unknown option 'COLOUR'"),
    (("SCHEDULE", "q", "x" * (1 << 20 | 1)), "TOOLARGE "),
    (("SCHEDULE", "q", "x", "KEY", "k" * 513), "TOOLARGE key: 513 bytes, the limit is 512"),
    (("SCHEDULE", "q", "x", "BACKOFF", "exp:1h:1s"), "INVALID backoff: expected exp:FIRST:LONGEST"),
    (("SCHEDULE", "q", "x", "AT", "2026-02-30T00:00:00Z"), "INVALID at: "),
    (("FROBNICATE",), "UNKNOWN "),
], ids=lambda v: None)
def test_point_06_bad_input_is_told_precisely_and_changes_nothing(b, args, text):
    before = b.call("STATS")
    b.send(*args)
    reply = b.recv()
    assert isinstance(reply, Refused) and str(reply).startswith(text), reply
    after = b.call("STATS")
    for name in ("queues", "total_scheduled", "total_kept", "total_replaced", "total_cancelled"):
        assert after[name] == before[name]


# ---- Control ----

def test_point_07_cancel_says_cancelled_running_or_notfound(b, q):
    waiting = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "k")
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q) == "cancelled"
    assert b.call("CANCEL", waiting) == "notfound"
    id = b.call("SCHEDULE", q, "x")
    token = lease1(b, q)["token"]
    assert b.call("CANCEL", id) == "running"
    assert b.call("EXTEND", id, token)["cancelled"] is True
    assert b.call("FAIL", id, token)["state"] == "cancelled"  # and not tried again


def test_point_07_reschedule_keeps_id_key_and_attempts(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k", "BACKOFF", "fixed:1h")
    b.call("FAIL", id, lease1(b, q)["token"])
    assert b.call("RESCHEDULE", id) == "OK"
    job = lease1(b, q)
    assert (job["id"], job["key"], job["attempt"]) == (id, "k", 2)


def test_point_07_a_job_on_disk_is_cancelled_and_moved_like_any_other(deep):
    server, ids = deep
    with server.wire(3) as b:
        assert b.call("CANCEL", ids[100]) == "cancelled"
        assert b.call("CANCEL", "KEY", 200, "QUEUE", "q") == "cancelled"
        assert [state(b, ids[i]) for i in (100, 200)] == ["cancelled"] * 2
        assert b.call("RESCHEDULE", ids[300]) == "OK"
        job = lease1(b, "q", "WAIT", "10s")
        assert (job["id"], job["key"]) == (ids[300], "300")
        assert b.call("RELEASE", job["id"], job["token"], "IN", "1d") == "OK"


def test_point_08_list_shows_each_job_once_and_counts_are_kept(deep):
    server, ids = deep
    with server.wire(3) as b:
        b.call("SCHEDULE", "few", "x", "IN", "1h")
        before = b.call("STATS")
        seen, cursor = [], None
        while True:
            page = b.call("LIST", "QUEUE", "q", "LIMIT", 1000, *(("CURSOR", cursor) if cursor else ()))
            assert len(page["jobs"]) <= 1000
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        after = b.call("STATS")
        assert set(seen) == set(ids)
        assert len(seen) == len(ids) or before["hot_jobs"] != after["hot_jobs"]  # one that moves may come twice
        counts = b.call("QUEUE", "q")
        assert sum(counts[s] for s in ("scheduled", "ready", "leased", "done", "dead", "cancelled")) == len(ids)
        assert b.call("QUEUE", "few")["scheduled"] == 1
        assert b.call("TENANT", "default")["pending"] == counts["scheduled"] + counts["ready"] + 1


def bulk(b, *args):
    """Asks for a bulk and waits for its end."""
    id = b.call("BULK", *args)["id"]
    return wait_for(lambda: (x := b.call("BULKS", "ID", id)[0])["state"] != "running" and x)


def test_point_09_a_dry_run_says_how_many_and_a_bulk_changes_them(b, q):
    due = now_ms() + HOUR
    mine = [b.call("SCHEDULE", q, "x", "AT", due, "TAG", "mine") for _ in range(20)]
    other = b.call("SCHEDULE", q, "x", "AT", due)
    dry = bulk(b, "cancel", "QUEUE", q, "TAG", "mine", "DRYRUN", "yes")
    assert (dry["state"], dry["matched"], dry["changed"]) == ("done", 20, 0) and state(b, mine[0]) == "scheduled"
    moved = bulk(b, "reschedule", "QUEUE", q, "TAG", "mine", "FROM", due, "TO", due + 1, "AT", due + HOUR)
    assert moved["changed"] == 20 and {b.call("GET", id)["due_ms"] for id in mine} == {due + HOUR}
    assert bulk(b, "cancel", "QUEUE", q, "TAG", "mine")["changed"] == 20
    assert {state(b, id) for id in mine} == {"cancelled"} and state(b, other) == "scheduled"
    refused("INVALID", b.call, "BULK", "cancel")


def test_point_09_deleting_and_putting_back_many_at_once(b, q):
    dead = [kill_job(b, q) for _ in range(5)]
    assert bulk(b, "redrive", "QUEUE", q)["changed"] == 5
    jobs = b.lease(q, "COUNT", 10)
    assert {job["id"] for job in jobs} == set(dead)
    for job in jobs:
        b.call("COMPLETE", job["id"], job["token"])
    assert bulk(b, "delete", "QUEUE", q, "STATE", "done")["changed"] == 5
    assert all(b.call("GET", id) is None for id in dead)


def test_point_09_a_bulk_goes_on_after_a_kill(make_server):
    server = make_server()
    with server.wire(3) as b:
        b.call("QUEUE", "q", "RETAIN", "0ms")
        b.pipeline([("SCHEDULE", "q", "x", "IN", "1h")] * 20_000)
        id = b.call("BULK", "cancel", "QUEUE", "q")["id"]
    server.kill()
    server.start()
    with server.wire(3) as b:
        done = wait_for(lambda: (x := b.call("BULKS", "ID", id)[0])["state"] == "done" and x, 30)
        assert (done["matched"], done["changed"]) == (20_000, 20_000)
        assert b.call("LIST", "QUEUE", "q")["jobs"] == []


def test_point_10_a_paused_queue_waits_until_it_is_resumed(b, q, shared_server):
    b.call("PAUSE", q)
    id = b.call("SCHEDULE", q, "x")
    assert b.lease(q) == []
    worker = parked(shared_server, q)
    b.call("RESUME", q)
    (job,) = worker.recv()
    assert job["id"] == id and job["attempt"] == 1
    worker.close()


def test_point_10_redrive_puts_dead_jobs_back(b, q):
    ids = [kill_job(b, q) for _ in range(3)]
    assert b.call("REDRIVE", ids[1]) == 1
    assert b.call("REDRIVE", "QUEUE", q, "LIMIT", 10) == 2
    jobs = b.lease(q, "COUNT", 10)
    assert {job["id"] for job in jobs} == set(ids) and all(job["attempt"] == 1 for job in jobs)


def test_point_30_an_ended_job_is_kept_as_long_as_retain_says(b, q):
    kept = b.call("SCHEDULE", q, "x", "RETAIN", "1h")
    gone = b.call("SCHEDULE", q, "x", "RETAIN", 0)
    for job in b.lease(q, "COUNT", 2):
        b.call("COMPLETE", job["id"], job["token"], "RESULT", "ok")
    assert b.call("GET", kept)["state"] == "done" and b.call("GET", kept)["result"] == "ok"
    assert b.call("GET", gone) is None
    assert b.call("QUEUE", q)["total_history_dropped"] == 0


# ---- Dispatch ----

def test_point_11_a_waiting_worker_gets_a_job_when_it_is_due_and_never_before(b, q, shared_server):
    worker = parked(shared_server, q)  # for an hour, and asks only once
    due = now_ms() + 300
    id = b.call("SCHEDULE", q, "x", "AT", due)
    (job,) = worker.recv()
    assert job["id"] == id and now_ms() >= due and start_of(job) >= due
    worker.close()
    for i in range(50):
        b.call("SCHEDULE", q, i, "IN", f"{i * 7}ms")
    for _ in range(50):
        job = lease1(b, q, "WAIT", "10s")
        assert start_of(job) >= job["due_ms"]


def test_point_12_jobs_with_one_ordering_key_run_one_at_a_time_in_order(b, q):
    at = now_ms()
    late, early, same = (b.call("SCHEDULE", q, "x", "ORDER", "o", "AT", at - ms) for ms in (10, 2000, 2000))
    other = b.call("SCHEDULE", q, "x", "ORDER", "p", "AT", at - 5)
    jobs = {job["id"]: job for job in b.lease(q, "COUNT", 10)}
    assert set(jobs) == {early, other} and jobs[early]["order"] == "o"
    b.call("COMPLETE", early, jobs[early]["token"])
    for id in (same, late):
        (job,) = b.lease(q, "COUNT", 10)
        assert job["id"] == id
        b.call("COMPLETE", id, job["token"])


def test_point_12_one_that_fails_holds_back_its_own_key_only_until_it_has_ended(b, q):
    first, second = (b.call("SCHEDULE", q, "x", "ORDER", "o") for _ in range(2))
    token = lease1(b, q)["token"]
    other = b.call("SCHEDULE", q, "x", "ORDER", "p")
    # Both at once: no stall comes between them. RESCHEDULE would give up the key.
    _, jobs = b.pipeline([("FAIL", first, token, "RETRY", "300ms"), ("LEASE", q, "COUNT", 10)])
    assert [job["id"] for job in jobs] == [other]
    (job,) = b.lease(q, "COUNT", 10, "WAIT", "20s")
    assert (job["id"], job["attempt"]) == (first, 2)
    x = b.call("EXPLAIN", second)
    assert x["reason"] == "ordering_key" and first in x["why"]
    b.call("FAIL", first, job["token"], "FINAL", "yes")
    job = lease1(b, q, "COUNT", 10)
    assert job["id"] == second
    b.call("RELEASE", second, job["token"], "IN", "1h")
    third = b.call("SCHEDULE", q, "x", "ORDER", "o")
    assert b.lease(q, "COUNT", 10) == []
    assert b.call("CANCEL", second) == "cancelled"
    assert lease1(b, q, "COUNT", 10)["id"] == third


def test_point_13_tenants_take_turns_by_weight(b, q):
    heavy, light = "heavy." + q, "light." + q
    b.call("TENANT", heavy, "WEIGHT", 2)
    for tenant, jobs in ((heavy, 60), (light, 10)):
        b.pipeline([("SCHEDULE", q, "x", "TENANT", tenant) for _ in range(jobs)])
    got = [job["tenant"] for job in b.lease(q, "TENANT", "*", "COUNT", 30)]
    assert got == [heavy, heavy, light] * 10


def test_point_13_within_a_tenant_the_lowest_rank_goes_first(b, q):
    for priority in (5, 3, 1, 4, 2, 3):
        b.call("SCHEDULE", q, "x", "PRIORITY", priority)
    assert [job["priority"] for job in b.lease(q, "COUNT", 10)] == [1, 2, 3, 3, 4, 5]


@pytest.mark.parametrize("whose", ["queue", "tenant"])
def test_point_14_a_queue_and_a_tenant_run_as_many_as_they_may(b, q, shared_server, whose):
    tenant = "acme." + q
    limit = ("QUEUE", q, "MAX_RUNNING", 2, "TENANT", tenant) if whose == "queue" else ("TENANT", tenant, "MAX_RUNNING", 2)
    b.call(*limit)
    for _ in range(4):
        b.call("SCHEDULE", q, "x", "TENANT", tenant)
    jobs = b.lease(q, "TENANT", tenant, "COUNT", 10)
    assert len(jobs) == 2
    worker = parked(shared_server, q, "TENANT", tenant, "COUNT", 10)
    b.call("COMPLETE", jobs[0]["id"], jobs[0]["token"])
    assert len(worker.recv()) == 1
    worker.close()


def test_point_14_a_server_runs_as_many_as_it_may(make_server):
    server = make_server(max_running=3)
    with server.wire(3) as w:
        w.pipeline([("SCHEDULE", f"q{i}", "x") for i in range(5)])
        queues = ",".join(f"q{i}" for i in range(5))
        jobs = w.lease(queues, "COUNT", 10)
        assert len(jobs) == 3 and w.lease(queues) == []
        w.call("COMPLETE", jobs[0]["id"], jobs[0]["token"])
        assert len(w.lease(queues, "COUNT", 10)) == 1


def test_point_14_a_server_starts_slowly_if_asked(make_server):
    server = make_server(max_running=20, slow_start="1h")
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "q", "x") for _ in range(20)])
        jobs = w.lease("q", "COUNT", 20)
        assert len(jobs) == 2 and w.lease("q") == []
        explained = w.call("EXPLAIN", ids[-1])
        assert explained["reason"] == "slow_start" and explained["until_ms"] > now_ms()
        assert "started" in w.call("QUEUE", "q")["held_by"]
        w.call("COMPLETE", jobs[0]["id"], jobs[0]["token"])
        assert len(w.lease("q", "COUNT", 10)) == 1

    def until_all_run():
        server = make_server(max_running=20, slow_start="1800ms")
        with server.wire(3) as w:
            w.pipeline([("SCHEDULE", "q", "x") for _ in range(20)])
            got, began = 0, now_ms()
            while got < 20:  # woken as more may run, each time
                jobs = w.lease("q", "COUNT", 20, "WAIT", "20s")
                assert jobs
                got += len(jobs)
            return now_ms() - began

    best(5000, until_all_run)


def test_point_14_a_rate_is_kept(b, q):
    b.call("QUEUE", q, "RATE", "4/1d")
    b.pipeline([("SCHEDULE", q, "x") for _ in range(10)])
    assert len(b.lease(q, "COUNT", 10)) == 4 and b.lease(q) == []


def test_point_14_a_tenant_has_as_many_jobs_waiting_as_it_may(b, q):
    b.call("TENANT", "acme." + q, "MAX_PENDING", 1)
    b.call("SCHEDULE", q, "x", "TENANT", "acme." + q)
    refused("LIMIT", b.call, "SCHEDULE", q, "x", "TENANT", "acme." + q)


def test_point_15_maintenance_holds_a_tenants_jobs_and_costs_no_attempt(b, q, shared_server):
    tenant = "acme." + q
    id = b.call("SCHEDULE", q, "x", "TENANT", tenant)
    b.call("TENANT", tenant, "MAINTENANCE", "yes")
    assert b.lease(q, "TENANT", tenant) == [] and b.lease(q, "TENANT", "*") == []
    worker = parked(shared_server, q, "TENANT", "*")
    b.call("TENANT", tenant, "MAINTENANCE", "no")
    (job,) = worker.recv()
    assert job["id"] == id and job["attempt"] == 1
    worker.close()


def quiet_now(hours=2):
    """A window of UTC that began an hour ago, and when it ends."""
    now = dt.datetime.now(dt.timezone.utc)
    end = (now + dt.timedelta(hours=hours)).replace(second=0, microsecond=0)
    return f"{now - dt.timedelta(hours=1):%H:%M}-{end:%H:%M}", int(end.timestamp() * 1000)


def test_point_15_quiet_hours_put_notify_jobs_off_to_their_end(b, q, shared_server):
    tenant = "acme." + q
    windows, end = quiet_now()
    b.call("TENANT", tenant, "QUIET", windows, "TZ", "UTC")
    id = b.call("SCHEDULE", q, "x", "NOTIFY", "yes", "TENANT", tenant)
    other = b.call("SCHEDULE", q, "x", "TENANT", tenant)
    explained = b.call("EXPLAIN", id, "TENANT", tenant)
    assert (explained["reason"], explained["until_ms"], explained["deferred_until"]) == ("quiet_hours", end, None)
    assert [job["id"] for job in b.lease(q, "TENANT", tenant, "COUNT", 10)] == [other]
    worker = parked(shared_server, q, "TENANT", "*")
    job = b.call("GET", id, "TENANT", tenant)
    assert (job["state"], job["deferred_until"], job["deferrals"], job["attempt"]) == ("scheduled", end, 1, 0)
    (listed,) = [j for j in b.call("LIST", "QUEUE", q, "TENANT", tenant)["jobs"] if j["id"] == id]
    assert (listed["deferred_until"], listed["deferrals"]) == (end, 1)
    explained = b.call("EXPLAIN", id, "TENANT", tenant)
    assert (explained["reason"], explained["until_ms"], explained["deferrals"]) == ("quiet_hours", end, 1)
    assert b.call("QUEUE", q, "TENANT", tenant)["total_deferred"] == 1
    # It stays so when quiet hours end, until it is rescheduled.
    b.call("TENANT", tenant, "QUIET", "")
    assert b.call("GET", id, "TENANT", tenant)["deferred_until"] == end
    b.call("RESCHEDULE", id, "TENANT", tenant)
    (job,) = worker.recv()
    assert job["id"] == id and job["attempt"] == 1
    worker.close()


def test_point_15_a_spread_keeps_the_end_of_quiet_hours_from_being_a_herd(b, q):
    tenant = "acme." + q
    windows, end = quiet_now()
    b.call("TENANT", tenant, "QUIET", windows, "SPREAD", "10m")
    ids = b.pipeline([("SCHEDULE", q, "x", "NOTIFY", "yes", "TENANT", tenant) for _ in range(50)])
    assert b.lease(q, "TENANT", tenant) == []
    moments = [b.call("GET", id, "TENANT", tenant)["deferred_until"] for id in ids]
    assert all(end <= at <= end + 600000 for at in moments) and max(moments) - min(moments) > 60000


def test_point_15_gates_pass_ignores_maintenance_and_quiet_hours(b, q, shared_server):
    tenant = "acme." + q
    windows, end = quiet_now()
    b.call("TENANT", tenant, "MAINTENANCE", "yes", "QUIET", windows)
    held = b.call("SCHEDULE", q, "x", "TENANT", tenant)
    worker = parked(shared_server, q, "TENANT", "*")
    id = b.call("SCHEDULE", q, "x", "NOTIFY", "yes", "GATES", "pass", "TENANT", tenant)
    (job,) = worker.recv()
    assert job["id"] == id
    worker.close()
    job = b.call("GET", id, "TENANT", tenant)
    assert (job["notify"], job["gates"], job["deferrals"]) == (True, "pass", 0)
    assert b.lease(q, "TENANT", tenant) == []
    assert b.call("EXPLAIN", held, "TENANT", tenant)["reason"] == "maintenance"
    # But a pause holds it.
    b.call("PAUSE", q, "TENANT", tenant)
    id = b.call("SCHEDULE", q, "x", "GATES", "pass", "TENANT", tenant)
    assert b.lease(q, "TENANT", tenant) == [] and b.call("EXPLAIN", id, "TENANT", tenant)["reason"] == "paused"
    b.call("RESUME", q, "TENANT", tenant)
    assert [job["id"] for job in b.lease(q, "TENANT", tenant, "COUNT", 10)] == [id]


def test_point_15_a_job_that_is_put_off_still_expires(b, q):
    tenant = "acme." + q
    b.call("TENANT", tenant, "QUIET", quiet_now()[0])
    id = b.call("SCHEDULE", q, "x", "NOTIFY", "yes", "EXPIRE", "300ms", "TENANT", tenant)
    assert b.lease(q, "TENANT", tenant) == []
    wait_for(lambda: b.call("GET", id, "TENANT", tenant)["state"] == "expired")


# ---- Execution ----

def test_point_16_a_lease_tells_all_that_a_worker_needs(b, q):
    id = b.call("SCHEDULE", q, b"any\0bytes", "KEY", "k", "PRIORITY", 2, "META", "user", "7", "META", "traceparent",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    due = b.call("GET", id)["due_ms"]
    job = lease1(b, q)
    token = job.pop("token")
    until = job.pop("until_ms")
    assert token > 0 and until >= due + 60000
    assert job == {"id": id, "tenant": "default", "queue": q, "payload": "any\0bytes", "attempt": 1, "priority": 2,
                   "due_ms": due, "lease_ms": 60000, "key": "k", "tags": [], "order": None,
                   "recurrence": None, "nominal_ms": None,
                   "meta": {"user": "7", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}


def test_point_16_the_length_of_a_lease_is_the_workers_else_the_jobs_else_the_queues(b, q):
    b.call("SCHEDULE", q, "x")
    assert lease1(b, q)["lease_ms"] == 60000
    b.call("QUEUE", q, "LEASE", "10m")
    b.call("SCHEDULE", q, "x")
    assert lease1(b, q)["lease_ms"] == 600_000
    for options, length in (((), 1200_000), (("FOR", "5m"), 300_000)):
        b.call("SCHEDULE", q, "x", "LEASE", "20m")
        assert lease1(b, q, *options)["lease_ms"] == length


def test_point_16_wait_ends_with_work_or_with_its_time(b, q, shared_server):
    began = now_ms()
    assert b.lease(q, "WAIT", "100ms") == [] and now_ms() - began >= 99
    worker = parked(shared_server, q)
    id = b.call("SCHEDULE", q, "x")
    assert worker.recv()[0]["id"] == id
    worker.close()


def test_point_17_extend_is_the_heartbeat_and_an_old_token_is_stale(b, q):
    id = b.call("SCHEDULE", q, "x")
    old = lease1(b, q)
    assert b.call("EXTEND", id, old["token"], "FOR", "1h")["until_ms"] > old["until_ms"]
    b.call("RELEASE", id, old["token"])
    new = lease1(b, q)
    assert new["token"] > old["token"]
    before = b.call("GET", id)
    for verb in ("COMPLETE", "FAIL", "EXTEND", "RELEASE"):
        refused("STALE", b.call, verb, id, old["token"])
    assert b.call("GET", id) == before
    assert b.call("COMPLETE", id, new["token"]) == "OK"


def test_point_18_a_lease_that_ends_without_a_word_is_a_stall(b, q):
    id = b.call("SCHEDULE", q, "x", "LEASE", "20ms", "ATTEMPTS", 9, "BACKOFF", "fixed:10ms")
    job = lease1(b, q)
    for attempt in range(2, 10):  # often: two clocks are read, and which is ahead depends on the moment
        until, job = job["until_ms"], lease1(b, q, "WAIT", "10s")
        assert (job["id"], job["attempt"]) == (id, attempt)
        assert start_of(job) >= until + 9  # the back-off, within its jitter
    wait_for(lambda: state(b, id) == "dead", what="dead after its attempts")
    assert {h["outcome"] for h in b.call("GET", id)["history"]} == {"stalled"}
    assert b.call("QUEUE", q)["total_stalled"] == 9


def test_point_18_release_gives_a_job_back_at_no_cost(b, q):
    id = b.call("SCHEDULE", q, "x")
    b.call("RELEASE", id, lease1(b, q)["token"])
    job = lease1(b, q)
    assert (job["id"], job["attempt"]) == (id, 1)
    began = now_ms()
    b.call("RELEASE", id, job["token"], "IN", "1h")
    job = b.call("GET", id)
    assert (job["state"], job["attempt"]) == ("scheduled", 0) and job["at_ms"] >= began + HOUR - 1


@pytest.mark.parametrize("backoff, pauses", [
    ("fixed:20s", [(18, 22)] * 3), ("1m,5m,15m", [(54, 66), (270, 330), (810, 990)]),
    ("exp:2s:5s", [(1, 2), (2, 4), (2.5, 5)])])
def test_point_19_failures_follow_the_back_off(b, q, backoff, pauses):
    id = b.call("SCHEDULE", q, "x", "BACKOFF", backoff)
    for low, high in pauses:
        token = lease1(b, q)["token"]
        began = now_ms()
        again = b.call("FAIL", id, token, "ERROR", "no")["at_ms"]
        assert began + low * 1000 - 1 <= again <= now_ms() + high * 1000 + 1
        b.call("RESCHEDULE", id)


def test_point_19_a_job_is_dead_after_its_attempts(b, q):
    for options, attempts in (((), 5), (("ATTEMPTS", 2), 2)):
        id = b.call("SCHEDULE", q, "x", *options)
        states = [b.call("FAIL", id, lease1(b, q)["token"], "RETRY", 0)["state"] for _ in range(attempts)]
        assert states == ["scheduled"] * (attempts - 1) + ["dead"]
    id = b.call("SCHEDULE", q, "x", "ATTEMPTS", 0)
    for _ in range(20):
        assert b.call("FAIL", id, lease1(b, q)["token"], "RETRY", 0)["state"] == "scheduled"


def test_point_19_a_worker_may_say_when_or_that_it_is_over_or_once_more(b, q):
    id = b.call("SCHEDULE", q, "x")
    began = now_ms()
    assert b.call("FAIL", id, lease1(b, q)["token"], "RETRY", "1h")["at_ms"] >= began + HOUR - 1
    b.call("RESCHEDULE", id)
    job = lease1(b, q)
    assert job["attempt"] == 2
    b.call("COMPLETE", id, job["token"], "AGAIN", 0)
    job = lease1(b, q)
    assert (job["id"], job["attempt"]) == (id, 1)
    assert b.call("FAIL", id, job["token"], "FINAL", "yes")["state"] == "dead"


def test_point_20_a_job_that_kills_its_workers_is_poison(b, q):
    id = b.call("SCHEDULE", q, "x", "LEASE", "5ms", "ATTEMPTS", 0, "BACKOFF", "fixed:1ms")
    for _ in range(10):
        assert lease1(b, q, "WAIT", "10s")["id"] == id
    wait_for(lambda: state(b, id) == "dead", what="dead after ten stalls")
    assert b.call("GET", id)["error"].startswith("poison")


def test_point_20_an_attempt_that_kills_the_server_is_counted(make_server):
    server = make_server()
    with server.wire(3) as w:
        id = w.call("SCHEDULE", "q", "x")
    server.kill()
    server.start()  # from here on leases are on disk before they are given
    with server.wire(3) as w:
        assert lease1(w, "q")["id"] == id
        server.kill()
    server.start()
    with server.wire(3) as w:
        assert w.call("GET", id)["attempt"] == 1


def test_point_22_a_job_that_is_not_started_in_time_expires(b, q):
    id = b.call("SCHEDULE", q, "x", "EXPIRE", "30ms")
    started = b.call("SCHEDULE", q + ".started", "x", "EXPIRE", "1h")
    wait_for(lambda: state(b, id) == "expired", what="expired")
    assert b.lease(q) == []
    assert [job["id"] for job in b.call("LIST", "QUEUE", q, "STATE", "expired")["jobs"]] == [id]
    assert b.call("QUEUE", q)["total_expired"] == 1
    b.call("FAIL", started, lease1(b, q + ".started")["token"], "RETRY", "2h")
    assert state(b, started) == "scheduled"  # it was started


# ---- Recurrence ----

def test_point_24_preview_says_when_a_rule_runs(b):
    def local(*rule):
        return [step["local"] for step in b.call("PREVIEW", *rule, "START", "2027-01-01T09:00:00Z",
                                                 "FROM", "2027-01-01T09:00:00Z", "COUNT", 2)]

    assert local("RRULE", "FREQ=MONTHLY;BYDAY=-1FR") == ["2027-01-29T09:00:00+00:00", "2027-02-26T09:00:00+00:00"]
    assert local("CRON", "15 6 * * 1-5") == ["2027-01-04T06:15:00+00:00", "2027-01-05T06:15:00+00:00"]
    assert local("CRON", "@daily") == ["2027-01-02T00:00:00+00:00", "2027-01-03T00:00:00+00:00"]
    assert local("EVERY", "90m") == ["2027-01-01T09:00:00+00:00", "2027-01-01T10:30:00+00:00"]
    refused("INVALID", b.call, "PREVIEW", "CRON", "61 * * * *")


def test_point_24_a_local_time_that_does_not_exist_or_exists_twice_runs_once(b):
    def preview(start):
        return b.call("PREVIEW", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "FROM", start, "COUNT", 2)

    spring, after = preview("2027-03-27T12:00:00Z")
    assert spring["local"] == "2027-03-28T03:00:00+02:00" and "does not exist" in spring["note"]
    assert after["local"] == "2027-03-29T02:30:00+02:00" and after["note"] is None
    autumn, after = preview("2027-10-30T12:00:00Z")
    assert autumn["local"] == "2027-10-31T02:30:00+02:00" and "twice" in autumn["note"]
    assert after["local"] == "2027-11-01T02:30:00+01:00"


def finish(b, q, *more):
    """Takes the next job of a queue and completes it."""
    job = lease1(b, q, "WAIT", "20s", *more)
    assert b.call("COMPLETE", job["id"], job["token"]) == "OK"
    return job


def ledger(b, name):
    return [(entry["outcome"], entry["count"]) for entry in b.call("RECURRENCE", name)["ledger"]]


def test_point_21_however_an_occurrence_ends_its_recurrence_goes_on(b, q):
    b.call("RECUR", q, q, "x", "EVERY", "150ms", "ATTEMPTS", 1)
    dead = lease1(b, q, "WAIT", "20s")
    b.call("FAIL", dead["id"], dead["token"], "ERROR", "no")
    gone = lease1(b, q, "WAIT", "20s")
    b.call("CANCEL", gone["id"])
    b.call("FAIL", gone["id"], gone["token"])
    done = finish(b, q)
    b.call("RECURPAUSE", q)  # one more may have been made before it
    expected = {dead["id"]: "failed", gone["id"]: "cancelled", done["id"]: "ran"}.items()
    wait_for(lambda: {e["id"]: e["outcome"] for e in b.call("RECURRENCE", q)["ledger"]}.items() >= expected,
             what="all told")


def test_point_21_an_occurrence_and_what_is_known_of_it_survive_a_kill_together(make_server):
    server = make_server()
    with server.wire() as w:  # no more than the ledger has room for, however long this takes
        w.call("RECUR", "tick", "q", "x", "EVERY", "250ms", "OVERLAP", "allow", "CATCHUP", "all")
    for _ in range(4):
        before = len((server.client().execute_command("LIST", "QUEUE", "q", "LIMIT", 1000))[1])
        wait_for(lambda: len(server.client().execute_command("LIST", "QUEUE", "q", "LIMIT", 1000)[1]) > before)
        server.kill()
        server.start()
    with server.wire() as w:
        wait_for(lambda: w.call("QUEUE", "q")["ready"] >= 5, what="occurrences")
        w.call("RECURPAUSE", "tick")
        jobs = w.call("LIST", "QUEUE", "q", "LIMIT", 1000)["jobs"]
        seen = [w.call("GET", job["id"]) for job in jobs]
        shown = w.call("RECURRENCE", "tick")
    nominal = sorted(job["nominal_ms"] for job in seen)
    assert len(set(nominal)) == len(nominal), "an occurrence was made twice"
    assert {job["recurrence"] for job in seen} == {"tick"}
    assert {e["id"] for e in shown["ledger"] if e["id"]} == {job["id"] for job in seen}
    assert nominal == list(range(nominal[0], nominal[0] + 250 * len(nominal), 250)), "one is missing"


def test_point_23_a_job_waits_for_others_to_be_done(b, q):
    fetch, check = b.call("SCHEDULE", q, "fetch"), b.call("SCHEDULE", q, "check")
    report = b.call("SCHEDULE", q, "report", "AFTER", fetch, "AFTER", check)
    mail = b.call("SCHEDULE", q, "mail", "AFTER", report)
    assert state(b, report) == state(b, mail) == "waiting"
    told = b.call("EXPLAIN", report)
    assert told["reason"] == "parent" and fetch in told["why"]
    assert sorted(job["payload"] for job in b.lease(q, "COUNT", 10, "FOR", "1ms")) == ["check", "fetch"]
    wait_for(lambda: "leased" not in (state(b, fetch), state(b, check)), what="both leases have ended")
    b.call("RESCHEDULE", fetch), b.call("RESCHEDULE", check)
    first = finish(b, q)
    assert state(b, report) == "waiting", "one of the two is not done"
    assert {first["payload"], finish(b, q)["payload"]} == {"check", "fetch"}
    assert finish(b, q)["payload"] == "report"
    assert finish(b, q)["payload"] == "mail"
    assert b.call("GET", mail)["after"] == []


def test_point_23_what_happens_if_one_of_them_is_not_done(b, q):
    first = b.call("SCHEDULE", q, "first", "ATTEMPTS", 1)
    lost = b.call("SCHEDULE", q, "lost", "AFTER", first)
    further = b.call("SCHEDULE", q, "further", "AFTER", lost)
    runs = b.call("SCHEDULE", q, "runs", "AFTER", first, "AFTERFAIL", "run")
    b.call("FAIL", first, lease1(b, q)["token"])
    wait_for(lambda: state(b, further) == "cancelled", what="the whole chain")
    assert state(b, lost) == "cancelled" and first in b.call("GET", lost)["error"]
    assert finish(b, q)["id"] == runs
    assert state(b, b.call("SCHEDULE", q, "late", "AFTER", first)) == "cancelled"
    refused("NOTFOUND", b.call, "SCHEDULE", q, "x", "AFTER", "0" * 26)


def test_point_24_a_recurrence_makes_jobs_by_its_rule(b, q):
    shown = b.call("RECUR", q, q, "x", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "PRIORITY", 2, "TAG", "t")
    wanted, = b.call("PREVIEW", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "COUNT", 1)
    assert shown["next_ms"] == wanted["at_ms"] and shown["revision"] == 1
    id = b.call("RECURRUN", q)
    job = b.call("GET", id)
    assert job["recurrence"] == q and job["priority"] == 2 and job["tags"] == ["t"] and job["payload"] == "x"
    assert q in [r["name"] for r in b.call("RECURRENCES", "LIMIT", 1000)["recurrences"]]
    refused("INVALID", b.call, "RECUR", q, q, "x", "CRON", "61 * * * *")
    refused("INVALID", b.call, "RECUR", q, q, "x", "RRULE", "FREQ=DAILY;UNTIL=20200101T000000Z")
    refused("INVALID", b.call, "RECUR", q, q, "x", "EVERY", "1s", "TZ", "Mars/Olympus")
    assert b.call("RECURRENCE", q)["revision"] == 1


@pytest.mark.parametrize("overlap", ["skip", "allow", "queue"])
def test_point_25_overlap_with_one_that_has_not_ended(b, q, overlap):
    name = f"{q[:60]}.{overlap}"
    b.call("RECUR", name, name, "x", "EVERY", "100ms", "OVERLAP", overlap)
    first = lease1(b, name, "WAIT", "20s")
    shown = wait_for(lambda: (r := b.call("RECURRENCE", name))["last_ms"] and
                     r["last_ms"] >= first["due_ms"] + 300 and r, what="three more of its times")
    if overlap == "skip":
        assert ledger(b, name)[0] == ("open", 1) and ledger(b, name)[1][0] == "skipped" and shown["skipped"] >= 3
        assert b.lease(name) == []
    elif overlap == "allow":
        assert shown["open"] >= 4 and len(b.lease(name, "COUNT", 3)) == 3
    else:
        assert shown["open"] == 1 and shown["queued"] >= 3 and b.lease(name) == []
    b.call("COMPLETE", first["id"], first["token"])
    if overlap == "queue":
        assert finish(b, name)["due_ms"] == first["due_ms"] + 100, "they come one after another"
    b.call("RECURDELETE", name)


def test_point_25_count_counts_nominal_times_and_then_it_is_finished(b, q):
    b.call("RECUR", q, q, "x", "RRULE", "FREQ=SECONDLY;COUNT=2", "START", now_ms() + 2000, "OVERLAP", "skip")
    shown = wait_for(lambda: (r := b.call("RECURRENCE", q))["finished"] and r, what="its end")
    assert shown["next_ms"] is None and [n for _, n in ledger(b, q)] == [1, 1]
    assert ledger(b, q)[1] == ("skipped", 1), "the second met the first"


def test_point_26_an_edit_makes_no_past_occurrences(b, q):
    b.call("RECUR", q, q, "old", "EVERY", "100ms", "OVERLAP", "allow")
    wait_for(lambda: (b.call("QUEUE", q) or {"ready": 0})["ready"] >= 2)
    before = b.call("RECURRENCE", q)
    after = b.call("RECUR", q, q, "new", "EVERY", "1h", "START", now_ms() - 10 * HOUR)
    assert after["revision"] == 2 and after["next_ms"] > max(before["last_ms"], after["edited_ms"])
    made = b.call("QUEUE", q)["total_scheduled"]
    assert b.call("RECUR", q, q, "new", "EVERY", "1h", "START", after["start_ms"])["revision"] == 2, "no change"
    assert b.call("QUEUE", q)["total_scheduled"] == made
    assert {job["payload"] for job in b.lease(q, "COUNT", 100)} == {"old"}


def test_point_26_pausing_resuming_and_deleting_work_at_once(b, q):
    b.call("RECUR", q, q, "x", "EVERY", "200ms", "OVERLAP", "allow")
    wait_for(lambda: (b.call("QUEUE", q) or {"ready": 0})["ready"] >= 1)
    b.call("RECURPAUSE", q)
    made = b.call("QUEUE", q)["total_scheduled"]
    wait_for(lambda: now_ms() > b.call("RECURRENCE", q)["last_ms"] + 500)
    assert b.call("QUEUE", q)["total_scheduled"] == made
    b.call("RECURRESUME", q)
    wait_for(lambda: b.call("QUEUE", q)["total_scheduled"] > made)
    assert any(e["why"] == "the recurrence was paused" for e in b.call("RECURRENCE", q)["ledger"])
    b.call("RECURDELETE", q)
    made = b.call("QUEUE", q)["total_scheduled"]
    assert b.call("RECURRENCE", q) is None
    refused("NOTFOUND", b.call, "RECURPAUSE", q)
    assert len(b.lease(q, "COUNT", 1000)) == made, "those that it made go on"


# ---- Insight ----

def test_point_27_lateness_and_counts_are_kept_for_each_queue(b, q):
    b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h")
    b.call("SCHEDULE", q, "x", "KEY", "k")
    b.call("CANCEL", "KEY", "k", "QUEUE", q)
    for outcome in ("COMPLETE", "FAIL", "RELEASE"):
        id = b.call("SCHEDULE", q, "x")
        b.call(outcome, id, lease1(b, q)["token"])
        b.call("CANCEL", id)
    kill_job(b, q)
    figures = b.call("QUEUE", q)
    assert {name[6:]: n for name, n in figures.items() if name.startswith("total_") and n} == {
        "scheduled": 5, "kept": 1, "picked": 4, "succeeded": 1, "failed": 2, "released": 1, "retried": 1, "dead": 1,
        "cancelled": 3}
    for name in ("lateness", "runtime"):
        assert 0 <= figures[f"{name}_p50_ms"] <= figures[f"{name}_p99_ms"] <= figures[f"{name}_max_ms"]


def test_point_27_each_change_of_a_job_is_told_once_and_in_order(b, q, shared_server):
    with Stream(shared_server.port, f"?queue={q}") as s:
        s.ready()
        id = b.call("SCHEDULE", q, "x", "ATTEMPTS", "1")
        job = lease1(b, q)
        b.call("FAIL", id, job["token"])
        b.call("REDRIVE", id)
        b.call("CANCEL", id)
        told = s.take(5)
    assert [e.data["id"] for e in told] == [id] * 5
    assert [(e.data["from"], e.name) for e in told] == [
        (None, "scheduled"), ("ready", "leased"), ("leased", "dead"), ("dead", "scheduled"), ("ready", "cancelled")]


def test_point_27_how_long_workers_waited_is_measured(b, q, shared_server):
    b.call("SCHEDULE", q, "x")
    lease1(b, q)
    figures = b.call("QUEUE", q)
    assert [figures[f"wait_{name}_ms"] for name in ("p50", "p99", "max")] == [0, 0, 0]
    worker = parked(shared_server, q)
    b.call("SCHEDULE", q, "x", "IN", "300ms")
    assert len(worker.recv()) == 1
    worker.close()
    assert 250 <= b.call("QUEUE", q)["wait_max_ms"] <= 60000
    assert b.call("STATS")["wait_max_ms"] >= 300


def test_point_28_explain_says_why_a_job_has_not_run_and_until_when(b, q):
    due = now_ms() + HOUR
    id = b.call("SCHEDULE", q, "x", "AT", due)
    shown = b.call("EXPLAIN", id)
    assert (shown["reason"], shown["until_ms"]) == ("scheduled", due)
    b.call("RESCHEDULE", id)
    b.call("PAUSE", q)
    assert b.call("EXPLAIN", id)["reason"] == "paused"


def test_point_28_forecast_says_how_many_are_due_when(b, q):
    start = YEAR_9999 - 10 * HOUR  # where no other test has jobs
    for i in (0, 0, 2):
        b.call("SCHEDULE", q, "x", "AT", start + i * HOUR)
    steps = b.call("FORECAST", "FROM", start, "TO", start + 3 * HOUR, "STEP", "1h")
    assert [step["jobs"] for step in steps] == [2, 0, 1]


def test_point_28_each_attempt_is_remembered(b, q):
    id = b.call("SCHEDULE", q, "x")
    job = lease1(b, q, "WORKER", "one")
    b.call("FAIL", id, job["token"], "ERROR", "no", "RETRY", 0)
    b.call("COMPLETE", id, lease1(b, q, "WORKER", "two")["token"], "RESULT", "fine")
    shown = b.call("GET", id)
    assert shown["result"] == "fine"
    assert [(h["attempt"], h["worker"], h["outcome"], h["error"]) for h in shown["history"]] == [
        (1, "one", "failed", "no"), (2, "two", "done", None)]
    assert all(h["late_ms"] >= 0 and h["end_ms"] >= h["start_ms"] for h in shown["history"])


# ---- Security ----

def test_point_29_only_loopback_is_served(make_server):
    code, log = make_server(start=False).refused(bind="0.0.0.0")
    assert code != 0 and "only loopback is served" in log


def test_point_29_connections_and_sizes_have_limits(make_server):
    server = make_server(max_connections=2, max_payload="100B")
    with server.wire(3) as w, server.wire(3):
        with server.wire(2) as third:
            assert third.recv().code == "BUSY"
        refused("TOOLARGE", w.call, "SCHEDULE", "q", "x" * 101)
        w.call("SCHEDULE", "q", "x" * 100)


def test_point_29_audit_tells_who_changed_what_also_after_a_kill(server):
    with server.wire(3) as b:
        b.call("CLIENT", "SETNAME", "ops")
        b.call("PAUSE", "q", "TENANT", "acme")
    server.kill()
    server.start()
    with server.wire(3) as b:
        (entry,) = b.call("AUDIT", "TENANT", "acme")["entries"]
        assert (entry["verb"], entry["request"], entry["client"]) == ("PAUSE", "PAUSE q TENANT acme", "ops")
        assert entry["address"].startswith("127.0.0.1:") and entry["at_ms"] <= now_ms()
        assert b.call("QUEUE", "q", "TENANT", "acme")["paused"] is True
        assert b.call("AUDIT")["entries"] == []


def test_point_29_a_token_says_who_may_do_what(server):
    with server.wire(3) as b, server.wire(3) as shop, server.wire(3) as other:
        root = b.call("TOKENCREATE", "root", "admin")["token"]
        refused("NOAUTH", b.call, "STATS")
        b.call("AUTH", root)
        shop.call("AUTH", b.call("TOKENCREATE", "shop", "producer", "TENANT", "acme")["token"])
        other.call("AUTH", b.call("TOKENCREATE", "other", "admin", "TENANT", "zeta")["token"])
        id = shop.call("SCHEDULE", "q", "x")
        assert shop.call("GET", id)["tenant"] == "acme" and other.call("GET", id) is None
        refused("NOPERM", shop.call, "LEASE", "q")
        refused("NOPERM", shop.call, "SCHEDULE", "q", "x", "TENANT", "zeta")
        assert other.call("QUEUES") == [] and other.call("STATS")["ready"] == 0
        b.call("TOKENREVOKE", "shop")
        refused("NOAUTH", shop.call, "GET", id)
