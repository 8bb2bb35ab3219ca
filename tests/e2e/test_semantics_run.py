# SPDX-License-Identifier: MIT
"""The promises of docs/semantics.md about who gets a job when, and what becomes of an attempt."""
import datetime as dt

import pytest

from conftest import best, wait_for
from steps import lease1, parked, refused, start_of, state
from wire import now_ms

HOUR = 3_600_000


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


def test_point_14_no_second_has_more_than_its_rate(b, q):
    b.call("QUEUE", q, "RATE", "50/1s")
    b.pipeline([("SCHEDULE", q, "x") for _ in range(200)])
    jobs = []
    while len(jobs) < 150:
        jobs += b.lease(q, "COUNT", 100, "WAIT", "2s")
    b.pipeline([("COMPLETE", job["id"], job["token"]) for job in jobs])
    given = sorted(job["history"][0]["start_ms"] for job in b.pipeline([("GET", job["id"]) for job in jobs]))
    assert all(given[i + 50] - given[i] >= 1000 for i in range(100))


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


def test_point_15_maintenance_ends_by_itself_and_is_counted(b, q, shared_server):
    tenant = "acme." + q
    b.call("SCHEDULE", q, "x", "TENANT", tenant)
    until = now_ms() + 1500
    shown = b.call("TENANT", tenant, "MAINTENANCE", "yes", "UNTIL", until)
    assert shown["maintenance"] and shown["maintenance_until_ms"] == until
    assert b.lease(q, "TENANT", tenant) == []
    worker = parked(shared_server, q, "TENANT", tenant)
    worker.recv()
    assert now_ms() >= until and not b.call("TENANT", tenant)["maintenance"]
    assert b.call("QUEUE", q, "TENANT", tenant)["total_deferred"] == 1
    worker.close()
    refused("INVALID", b.call, "TENANT", tenant, "MAINTENANCE", "no", "UNTIL", until)


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
    assert (explained["reason"], explained["until_ms"], explained["deferred_until_ms"]) == ("quiet_hours", end, None)
    assert [job["id"] for job in b.lease(q, "TENANT", tenant, "COUNT", 10)] == [other]
    worker = parked(shared_server, q, "TENANT", "*")
    job = b.call("GET", id, "TENANT", tenant)
    assert (job["state"], job["deferred_until_ms"], job["deferrals"], job["attempt"]) == ("scheduled", end, 1, 0)
    (listed,) = [j for j in b.call("LIST", "QUEUE", q, "TENANT", tenant)["jobs"] if j["id"] == id]
    assert (listed["deferred_until_ms"], listed["deferrals"]) == (end, 1)
    explained = b.call("EXPLAIN", id, "TENANT", tenant)
    assert (explained["reason"], explained["until_ms"], explained["deferrals"]) == ("quiet_hours", end, 1)
    assert b.call("QUEUE", q, "TENANT", tenant)["total_deferred"] == 1
    # It stays so when quiet hours end, until it is rescheduled.
    b.call("TENANT", tenant, "QUIET", "")
    assert b.call("GET", id, "TENANT", tenant)["deferred_until_ms"] == end
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
    moments = [b.call("GET", id, "TENANT", tenant)["deferred_until_ms"] for id in ids]
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
