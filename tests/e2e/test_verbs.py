# SPDX-License-Identifier: MIT
"""Every verb and every option of it, over the real server."""
import re
import select
import time
from datetime import datetime, timezone

import pytest

from conftest import best, wait_for
from wire import Refused, as_map, now_ms

YEAR_9999 = 253402300799999


@pytest.fixture
def b(shared_server):
    with shared_server.wire(3) as w:
        yield w


@pytest.fixture
def q(request):
    """A queue that no other test uses."""
    return re.sub(r"[^A-Za-z0-9._:/-]", "-", request.node.name)[:120]


def refused(code, call, *args):
    with pytest.raises(Refused) as info:
        call(*args)
    assert info.value.code == code, info.value
    return str(info.value)


def lease1(b, q, *options):
    jobs = b.lease(q, *options)
    assert len(jobs) == 1, jobs
    return jobs[0]


def state(b, id):
    job = b.call("GET", id)
    return job and job["state"]


def run_once(b, q, payload="x", *options):
    """A job that has been leased."""
    id = b.call("SCHEDULE", q, payload, *options)
    job = lease1(b, q)
    assert job["id"] == id
    return job


# ---- SCHEDULE ----

def test_a_job_without_a_time_is_ready_at_once(b, q):
    before = now_ms()
    id = b.call("SCHEDULE", q, "hello")
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", id)
    job = b.call("GET", id)
    assert job["id"] == id and job["queue"] == q and job["payload"] == "hello"
    assert job["state"] == "ready" and job["priority"] == 3 and job["attempt"] == 0
    assert before - 50 <= job["due_ms"] <= now_ms()


def test_in_sets_the_due_time_from_now(b, q):
    before = now_ms()
    job = b.call("GET", b.call("SCHEDULE", q, "x", "IN", "1h30m"))
    assert job["state"] == "scheduled"
    assert before + 5400_000 <= job["due_ms"] <= now_ms() + 5400_000


@pytest.mark.parametrize("text", ["ms", "z", "offset", "fraction"])
def test_at_takes_milliseconds_and_rfc_3339(b, q, text):
    at = (now_ms() // 1000 + 3600) * 1000
    moment = datetime.fromtimestamp(at // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    if text == "ms":
        word = at
    elif text == "z":
        word = moment + "Z"
    elif text == "offset":
        word, at = moment + "+02:00", at - 7200_000
    else:
        word, at = moment + ".250Z", at + 250
    job = b.call("GET", b.call("SCHEDULE", q, "x", "AT", word))
    assert job["due_ms"] == at


def test_a_moment_that_has_passed_runs_at_once(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", "2020-01-01T00:00:00Z")
    job = lease1(b, q)
    assert job["id"] == id and job["due_ms"] == 1577836800000


def test_the_end_of_the_year_9999_is_the_last_moment(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", YEAR_9999)
    assert b.call("GET", id)["due_ms"] == YEAR_9999
    refused("INVALID", b.call, "SCHEDULE", q, "x", "AT", YEAR_9999 + 1)
    refused("INVALID", b.call, "SCHEDULE", q, "x", "AT", "10000-01-01T00:00:00Z")
    refused("INVALID", b.call, "SCHEDULE", q, "x", "AT", -1)
    refused("INVALID", b.call, "SCHEDULE", q, "x", "IN", f"{YEAR_9999}ms")
    assert len(b.call("LIST", "QUEUE", q)["jobs"]) == 1


def test_in_and_at_together_are_refused(b, q):
    refused("INVALID", b.call, "SCHEDULE", q, "x", "IN", "1s", "AT", YEAR_9999)


def test_a_payload_is_any_bytes(b, q, shared_server):
    payload = bytes(range(256)) * 8 + b"\r\n$-1\r\n"
    id = b.call("SCHEDULE", q, payload)
    got = b.call("GET", id)["payload"].encode("utf-8", "surrogateescape")
    assert got == payload
    assert lease1(b, q)["payload"].encode("utf-8", "surrogateescape") == payload
    empty = b.call("SCHEDULE", q, "")
    assert b.call("GET", empty)["payload"] == ""


def test_options_come_in_any_order_and_either_case(b, q):
    id = b.call("schedule", q, "x", "priority", 1, "Key", "k", "IN", "1h", "aTTempts", 7)
    job = b.call("get", id)
    assert job["priority"] == 1 and job["key"] == "k" and job["attempts"] == 7


def test_keep_answers_the_job_there_is(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k", "IN", "1h")
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IN", "2h") == id
    assert b.call("SCHEDULE", q, "third", "KEY", "k", "IFEXISTS", "keep") == id
    job = b.call("GET", id)
    assert job["payload"] == "first" and job["state"] == "scheduled" and job["key"] == "k"
    assert len(b.call("LIST", "QUEUE", q)["jobs"]) == 1


def test_replace_gives_the_same_job_another_payload_and_time(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k", "IN", "1h")
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == id
    job = lease1(b, q)
    assert job["id"] == id and job["payload"] == "second"
    assert b.lease(q) == []


def test_replace_of_a_leased_job_applies_when_the_attempt_ends(b, q):
    job = run_once(b, q, "first", "KEY", "k")
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == job["id"]
    assert state(b, job["id"]) == "leased"
    assert b.call("COMPLETE", job["id"], job["token"]) == "OK"
    again = lease1(b, q)
    assert again["id"] == job["id"] and again["payload"] == "second"
    assert again["token"] > job["token"]
    b.call("COMPLETE", again["id"], again["token"])
    assert b.lease(q) == []


def test_reject_names_the_job_there_is(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k")
    assert id in refused("KEYEXISTS", b.call, "SCHEDULE", q, "x", "KEY", "k", "IFEXISTS", "reject")
    assert b.call("GET", id)["payload"] == "first"


def test_a_key_belongs_to_its_queue(b, q):
    one = b.call("SCHEDULE", q, "x", "KEY", "k")
    two = b.call("SCHEDULE", q + "2", "x", "KEY", "k")
    assert one != two
    assert b.call("GET", "KEY", "k", "QUEUE", q)["id"] == one
    assert b.call("GET", "KEY", "k", "QUEUE", q + "2")["id"] == two
    assert b.call("GET", "KEY", "other", "QUEUE", q) is None


def test_a_key_is_free_once_its_job_has_ended(b, q):
    job = run_once(b, q, "x", "KEY", "k")
    b.call("COMPLETE", job["id"], job["token"])
    second = b.call("SCHEDULE", q, "x", "KEY", "k")
    assert second != job["id"]
    assert b.call("CANCEL", second) == "cancelled"
    assert b.call("SCHEDULE", q, "x", "KEY", "k") not in (job["id"], second)


@pytest.mark.quiet
def test_key_hold_keeps_a_done_jobs_key(b, q):
    assert b.call("QUEUE", q, "KEY_HOLD", "1h")["key_hold_ms"] == 3600_000
    job = run_once(b, q, "x", "KEY", "k")
    b.call("COMPLETE", job["id"], job["token"])
    assert b.call("SCHEDULE", q, "y", "KEY", "k") == job["id"]
    assert b.call("SCHEDULE", q, "y", "KEY", "k", "IFEXISTS", "replace") == job["id"]
    refused("KEYEXISTS", b.call, "SCHEDULE", q, "y", "KEY", "k", "IFEXISTS", "reject")
    assert b.lease(q) == []
    assert b.call("QUEUE", q, "KEY_HOLD", "400ms")["key_hold_ms"] == 400

    def held():
        """For how long another's key was."""
        key = f"k{now_ms()}"
        job = run_once(b, q, "x", "KEY", key)
        b.call("COMPLETE", job["id"], job["token"])
        later = wait_for(lambda: (id := b.call("SCHEDULE", q, "y", "KEY", key)) != job["id"] and id, what="the key is free")
        took = b.call("GET", later)["created_ms"] - b.call("GET", job["id"])["ended_ms"]
        assert took >= 400 and b.call("CANCEL", later) == "cancelled"
        return took

    best(1000, held)


def test_key_hold_outlives_retention(b, q):
    b.call("QUEUE", q, "KEY_HOLD", "1h", "RETAIN", "0")
    job = run_once(b, q, "x", "KEY", "k")
    b.call("COMPLETE", job["id"], job["token"])
    assert b.call("SCHEDULE", q, "y", "KEY", "k") == job["id"]
    assert b.lease(q) == []


def test_a_key_has_at_most_512_bytes(b, q):
    b.call("SCHEDULE", q, "x", "KEY", "k" * 512)
    assert refused("TOOLARGE", b.call, "SCHEDULE", q, "x", "KEY", "k" * 513)
    refused("INVALID", b.call, "SCHEDULE", q, "x", "KEY", "")


def test_priorities_go_from_1_to_5(b, q):
    for priority in (5, 3, 1, 4, 2):
        b.call("SCHEDULE", q, priority, "PRIORITY", priority)
    jobs = b.lease(q, "COUNT", 5)
    assert [job["priority"] for job in jobs] == [1, 2, 3, 4, 5]
    assert [job["payload"] for job in jobs] == list("12345")


def test_one_priority_goes_in_order_of_time(b, q):
    ids = [b.call("SCHEDULE", q, i) for i in range(20)]
    assert [job["id"] for job in b.lease(q, "COUNT", 20)] == ids


@pytest.mark.parametrize("backoff, pauses", [
    ("fixed:60s", [(54, 66), (54, 66)]), ("60s,80s", [(54, 66), (72, 88)]), ("exp:60s:100s", [(30, 60), (50, 100)])])
def test_retries_follow_the_back_off_until_the_job_is_dead(b, q, backoff, pauses):
    id = b.call("SCHEDULE", q, "x", "ATTEMPTS", 3, "BACKOFF", backoff)
    tokens = []
    for attempt in (1, 2, 3):
        job = lease1(b, q, "WAIT", "20s")
        assert job["id"] == id and job["attempt"] == attempt
        tokens.append(job["token"])
        before = now_ms()
        answer = b.call("FAIL", id, job["token"], "ERROR", f"no {attempt}")
        if attempt < 3:
            low, high = pauses[attempt - 1]
            assert answer["state"] == "scheduled"
            assert before + low * 1000 - 1 <= answer["at_ms"] <= now_ms() + high * 1000 + 1
            assert b.call("GET", id)["at_ms"] == answer["at_ms"]
            assert b.lease(q) == []
            b.call("RESCHEDULE", id)
        else:
            assert answer["state"] == "dead"
    assert tokens == sorted(set(tokens))
    job = b.call("GET", id)
    assert job["state"] == "dead" and job["error"] == "no 3" and job["attempt"] == 3
    assert b.lease(q, "WAIT", "200ms") == []


def test_a_retry_comes_by_itself_after_its_back_off(b, q):
    id = b.call("SCHEDULE", q, "x", "ATTEMPTS", 3, "BACKOFF", "50ms")
    for attempt in (1, 2):
        at = b.call("FAIL", id, lease1(b, q, "WAIT", "10s")["token"])["at_ms"]
        job = lease1(b, q, "WAIT", "10s")
        assert (job["id"], job["attempt"]) == (id, attempt + 1) and job["until_ms"] - job["lease_ms"] >= at
        b.call("RELEASE", id, job["token"])


def test_attempts_0_means_for_ever(b, q):
    id = b.call("SCHEDULE", q, "x", "ATTEMPTS", 0, "BACKOFF", "fixed:1ms")
    for attempt in range(1, 21):
        job = lease1(b, q, "WAIT", "20s")
        assert job["attempt"] == attempt
        assert b.call("FAIL", id, job["token"])["state"] == "scheduled"


def test_the_default_is_5_attempts(b, q):
    job = b.call("GET", b.call("SCHEDULE", q, "x"))
    assert job["attempts"] == 5


@pytest.mark.parametrize("spec", ["", "soon", "fixed", "fixed:", "fixed:x", "exp:2s", "exp:1h:2s", "1m,,2m", "1m,"])
def test_a_bad_back_off_is_refused(b, q, spec):
    refused("INVALID", b.call, "SCHEDULE", q, "x", "BACKOFF", spec)


def test_a_lease_that_ends_without_a_word_is_a_stall(b, q):
    id = b.call("SCHEDULE", q, "x", "LEASE", "100ms", "ATTEMPTS", 2, "BACKOFF", "fixed:10ms")
    first = lease1(b, q)
    assert first["until_ms"] - now_ms() <= 100
    second = lease1(b, q, "WAIT", "20s", "FOR", "1h")
    assert second["until_ms"] - second["lease_ms"] >= first["until_ms"]
    assert second["id"] == id and second["attempt"] == 2 and second["token"] > first["token"]
    for verb in ("COMPLETE", "FAIL", "EXTEND", "RELEASE"):
        refused("STALE", b.call, verb, id, first["token"])
    assert state(b, id) == "leased"
    b.call("EXTEND", id, second["token"], "FOR", "1ms")
    wait_for(lambda: state(b, id) == "dead", what="dead after two stalls")
    refused("STALE", b.call, "COMPLETE", id, second["token"])
    history = b.call("GET", id)["history"]
    assert [h["outcome"] for h in history] == ["stalled", "stalled"]


def test_ten_stalls_in_a_row_are_poison(b, q):
    id = b.call("SCHEDULE", q, "x", "LEASE", "5ms", "ATTEMPTS", 0, "BACKOFF", "fixed:1ms")
    for _ in range(10):
        assert lease1(b, q, "WAIT", "20s")["id"] == id
    wait_for(lambda: state(b, id) == "dead", what="dead after ten stalls")
    assert "poison" in b.call("GET", id)["error"]


def test_retain_0_forgets_a_job_once_it_is_done(b, q):
    job = run_once(b, q, "x", "RETAIN", "0")
    b.call("COMPLETE", job["id"], job["token"])
    assert b.call("GET", job["id"]) is None
    refused("NOTFOUND", b.call, "COMPLETE", job["id"], job["token"])


def test_retain_keeps_a_done_job_for_so_long(b, q):
    kept = run_once(b, q, "x", "RETAIN", "1h")
    b.call("COMPLETE", kept["id"], kept["token"])
    job = run_once(b, q, "x", "RETAIN", "300ms")
    b.call("COMPLETE", job["id"], job["token"])
    wait_for(lambda: b.call("GET", job["id"]) is None, 30, "forgotten")
    assert now_ms() >= job["due_ms"] + 300
    shown = b.call("GET", kept["id"])
    assert shown["state"] == "done" and shown["keep_ms"] == shown["ended_ms"] + 3600_000


def test_past_grace_refuses_what_is_older(b, q):
    assert b.call("QUEUE", q, "PAST_GRACE", "1m")["past_grace_ms"] == 60000
    b.call("SCHEDULE", q, "x", "AT", now_ms() - 30_000)
    refused("PAST", b.call, "SCHEDULE", q, "x", "AT", now_ms() - 90_000)


# ---- LEASE ----

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


# ---- COMPLETE, FAIL, EXTEND, RELEASE ----

def test_complete_keeps_the_result(b, q):
    job = run_once(b, q)
    assert b.call("COMPLETE", job["id"], job["token"], "RESULT", "sent") == "OK"
    shown = b.call("GET", job["id"])
    assert shown["state"] == "done" and shown["result"] == "sent"
    refused("STALE", b.call, "COMPLETE", job["id"], job["token"])
    assert b.lease(q) == []


def test_a_result_has_at_most_64_kib(b, q):
    job = run_once(b, q)
    refused("TOOLARGE", b.call, "COMPLETE", job["id"], job["token"], "RESULT", "r" * 65537)
    assert state(b, job["id"]) == "leased"
    assert b.call("COMPLETE", job["id"], job["token"], "RESULT", "r" * 65536) == "OK"


def test_a_token_must_be_the_current_one(b, q):
    job = run_once(b, q)
    refused("STALE", b.call, "COMPLETE", job["id"], job["token"] + 1)
    refused("STALE", b.call, "COMPLETE", job["id"], job["token"] - 1)
    refused("STALE", b.call, "COMPLETE", job["id"], 0)
    refused("NOTFOUND", b.call, "COMPLETE", "0" * 26, job["token"])
    refused("INVALID", b.call, "COMPLETE", job["id"], "token")
    refused("INVALID", b.call, "COMPLETE", "no-id", job["token"])
    assert state(b, job["id"]) == "leased"


def test_complete_again_runs_the_job_once_more(b, q):
    job = run_once(b, q, "x", "ATTEMPTS", 2)
    assert b.call("COMPLETE", job["id"], job["token"], "AGAIN", "1h") == "OK"
    assert state(b, job["id"]) == "scheduled"
    assert b.lease(q) == []
    b.call("RESCHEDULE", job["id"])
    again = lease1(b, q)
    assert again["id"] == job["id"] and again["attempt"] == 1 and again["token"] > job["token"]
    before = now_ms()
    assert b.call("COMPLETE", again["id"], again["token"], "AGAIN", "150ms") == "OK"
    third = lease1(b, q, "WAIT", "20s")
    assert before + 150 <= third["due_ms"] <= third["until_ms"] - third["lease_ms"]
    assert third["id"] == job["id"] and third["attempt"] == 1 and third["token"] > again["token"]


def test_fail_retry_says_when(b, q):
    job = run_once(b, q, "x", "BACKOFF", "fixed:1h")
    before = now_ms()
    answer = b.call("FAIL", job["id"], job["token"], "RETRY", "100ms")
    assert answer["state"] == "scheduled" and before + 100 - 50 <= answer["at_ms"] <= now_ms() + 100
    job = lease1(b, q, "WAIT", "20s")
    assert job["attempt"] == 2 and job["until_ms"] - job["lease_ms"] >= answer["at_ms"]


def test_fail_final_is_dead_at_once(b, q):
    job = run_once(b, q)
    assert b.call("FAIL", job["id"], job["token"], "FINAL", "yes", "ERROR", "bad")["state"] == "dead"
    shown = b.call("GET", job["id"])
    assert shown["state"] == "dead" and shown["error"] == "bad" and shown["attempt"] == 1


def test_a_long_error_is_cut(b, q):
    job = run_once(b, q)
    b.call("FAIL", job["id"], job["token"], "ERROR", "e" * 5000)
    assert b.call("GET", job["id"])["error"] == "e" * 1024


def test_extend_lengthens_the_lease(b, q):
    for _ in range(3):  # a machine that stalls for as long as the lease is asked again
        job = run_once(b, q, "x", "LEASE", "1s", "ATTEMPTS", 1)
        until = job["until_ms"]
        try:
            while now_ms() <= job["until_ms"] + 100:
                time.sleep(0.15)
                before = now_ms()
                answer = b.call("EXTEND", job["id"], job["token"])
                assert before + 1000 - 50 <= answer["until_ms"] <= now_ms() + 1000 and answer["cancelled"] is False
                until = answer["until_ms"]
            break
        except Refused as late:
            assert late.code == "STALE" and now_ms() >= until, late
    assert until > job["until_ms"] + 100, "the lease was never extended in time"
    job = run_once(b, q, "x", "ATTEMPTS", 1)
    before = now_ms()
    # Both at once: no stall comes between them.
    brief, answer = b.pipeline([("EXTEND", job["id"], job["token"], "FOR", length) for length in ("300ms", "1m")])
    assert before + 60_000 - 50 <= answer["until_ms"] <= now_ms() + 60_000
    wait_for(lambda: now_ms() > brief["until_ms"] + 100, what="it would have ended")
    assert b.call("COMPLETE", job["id"], job["token"]) == "OK"


def test_extend_tells_progress_and_a_note(b, q):
    job = run_once(b, q)
    b.call("EXTEND", job["id"], job["token"], "PROGRESS", 40, "NOTE", "half way")
    shown = b.call("GET", job["id"])
    assert shown["progress"] == 40 and shown["note"] == "half way"
    b.call("EXTEND", job["id"], job["token"], "PROGRESS", 41)
    shown = b.call("GET", job["id"])
    assert shown["progress"] == 41 and shown["note"] == "half way"
    b.call("EXTEND", job["id"], job["token"], "NOTE", "n" * 3000)
    assert b.call("GET", job["id"])["note"] == "n" * 1024
    refused("INVALID", b.call, "EXTEND", job["id"], job["token"], "PROGRESS", 101)
    refused("INVALID", b.call, "EXTEND", job["id"], job["token"], "PROGRESS", -1)


def test_release_costs_no_attempt(b, q):
    job = run_once(b, q, "x", "ATTEMPTS", 1)
    for _ in range(3):
        assert b.call("RELEASE", job["id"], job["token"]) == "OK"
        again = lease1(b, q)
        assert again["attempt"] == 1 and again["token"] > job["token"]
        refused("STALE", b.call, "RELEASE", job["id"], job["token"])
        job = again


def test_release_in_asks_again_later(b, q):
    job = run_once(b, q)
    assert b.call("RELEASE", job["id"], job["token"], "IN", "1h") == "OK"
    assert state(b, job["id"]) == "scheduled"
    assert b.lease(q) == []
    b.call("RESCHEDULE", job["id"])
    again = lease1(b, q)
    before = now_ms()
    assert again["attempt"] == 1 and b.call("RELEASE", again["id"], again["token"], "IN", "150ms") == "OK"
    third = lease1(b, q, "WAIT", "20s")
    assert third["until_ms"] - third["lease_ms"] >= before + 150 and third["attempt"] == 1


# ---- CANCEL, RESCHEDULE ----

def test_cancel_has_three_answers(b, q):
    scheduled = b.call("SCHEDULE", q, "x", "IN", "1h")
    assert b.call("CANCEL", scheduled) == "cancelled"
    assert state(b, scheduled) == "cancelled"
    assert b.call("CANCEL", scheduled) == "notfound"
    ready = b.call("SCHEDULE", q, "x")
    assert b.call("CANCEL", ready) == "cancelled"
    job = run_once(b, q)
    assert b.call("CANCEL", job["id"]) == "running"
    assert b.call("CANCEL", "0" * 26) == "notfound"
    assert b.lease(q) == []


def test_a_worker_learns_of_a_cancel_when_it_extends(b, q):
    job = run_once(b, q)
    assert b.call("EXTEND", job["id"], job["token"])["cancelled"] is False
    b.call("CANCEL", job["id"])
    assert b.call("EXTEND", job["id"], job["token"])["cancelled"] is True
    assert b.call("FAIL", job["id"], job["token"])["state"] == "cancelled"
    assert state(b, job["id"]) == "cancelled"
    assert b.lease(q, "WAIT", "200ms") == []


def test_a_cancelled_job_whose_lease_ends_is_not_retried(b, q):
    job = run_once(b, q, "x", "LEASE", "100ms", "BACKOFF", "fixed:1ms")
    b.call("CANCEL", job["id"])
    wait_for(lambda: state(b, job["id"]) == "cancelled", what="cancelled")
    assert b.lease(q, "WAIT", "200ms") == []


def test_cancel_by_key(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h")
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q) == "cancelled"
    assert state(b, id) == "cancelled"
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q) == "notfound"
    refused("INVALID", b.call, "CANCEL", "KEY", "k")
    refused("INVALID", b.call, "CANCEL")
    refused("INVALID", b.call, "CANCEL", id, "KEY", "k", "QUEUE", q)


def test_reschedule_moves_a_job_and_keeps_the_rest(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h", "ATTEMPTS", 5)
    assert b.call("RESCHEDULE", id) == "OK"
    job = lease1(b, q)
    assert job["id"] == id and job["key"] == "k"
    refused("STATE", b.call, "RESCHEDULE", id, "IN", "1h")
    b.call("FAIL", id, job["token"], "RETRY", "1h")
    at = now_ms() + 200
    assert b.call("RESCHEDULE", id, "AT", at) == "OK"
    assert b.call("GET", id)["due_ms"] == at
    again = lease1(b, q, "WAIT", "20s")
    assert now_ms() >= at and again["id"] == id and again["attempt"] == 2
    b.call("RELEASE", id, again["token"], "IN", "1h")
    before = now_ms()
    assert b.call("RESCHEDULE", id, "IN", "2h") == "OK"
    assert before + 7200_000 <= b.call("GET", id)["due_ms"] <= now_ms() + 7200_000
    refused("NOTFOUND", b.call, "RESCHEDULE", "0" * 26)
    b.call("CANCEL", id)
    refused("STATE", b.call, "RESCHEDULE", id)


# ---- GET, LIST ----

def test_get_shows_the_history_of_attempts(b, q):
    id = b.call("SCHEDULE", q, "x", "ATTEMPTS", 9, "BACKOFF", "fixed:1ms", "LEASE", "50ms")
    job = lease1(b, q, "WORKER", "w1", "FOR", "1h")
    b.call("FAIL", id, job["token"], "ERROR", "timeout")
    lease1(b, q, "WORKER", "w2", "WAIT", "20s")
    job = lease1(b, q, "WORKER", "w3", "WAIT", "20s", "FOR", "1h")
    b.call("COMPLETE", id, job["token"])
    shown = b.call("GET", id)
    history = shown["history"]
    assert [(h["outcome"], h["worker"]) for h in history] == [("failed", "w1"), ("stalled", "w2"), ("done", "w3")]
    assert history[0]["error"] == "timeout"
    assert [h["attempt"] for h in history] == [1, 2, 3]
    for h in history:
        assert shown["created_ms"] <= h["start_ms"] <= h["end_ms"] <= now_ms() and h["late_ms"] >= 0


def test_get_answers_null_for_what_is_not_there(b):
    assert b.call("GET", "0" * 26) is None
    refused("INVALID", b.call, "GET", "nonsense")
    refused("INVALID", b.call, "GET")


@pytest.mark.parametrize("limit", [1000, 97])
def test_list_pages_through_5000_jobs_exactly_once(b, q, limit):
    ids = b.pipeline([("SCHEDULE", q, i, "IN", f"{3600 + i % 700}s") for i in range(5000)])
    assert len(set(ids)) == 5000
    seen, cursor, calls = [], None, 0
    while True:
        page = b.call("LIST", "QUEUE", q, "LIMIT", limit, *(["CURSOR", cursor] if cursor else []))
        assert len(page["jobs"]) <= limit
        seen += [job["id"] for job in page["jobs"]]
        calls += 1
        # Jobs that come and go meanwhile change nothing for the others.
        b.call("CANCEL", b.call("SCHEDULE", q, "passing", "IN", "2d", "RETAIN", 0))
        cursor = page["cursor"]
        if cursor is None:
            break
        assert calls < 20_000
    expected = set(ids)
    assert sorted(i for i in seen if i in expected) == sorted(ids)


def test_list_filters(b, q):
    base = now_ms() + 3600_000
    ids = [b.call("SCHEDULE", q, i, "AT", base + i * 1000) for i in range(10)]
    ready = b.call("SCHEDULE", q, "r")
    leased = b.call("SCHEDULE", q, "l", "PRIORITY", 1)
    assert lease1(b, q)["id"] == leased
    dead = b.call("SCHEDULE", q, "d", "PRIORITY", 1)
    b.call("FAIL", dead, lease1(b, q)["token"], "FINAL", "yes")
    done = b.call("SCHEDULE", q, "e", "PRIORITY", 1)
    b.call("COMPLETE", done, lease1(b, q)["token"])
    b.call("CANCEL", ids[9])

    def listed(*options):
        found, cursor = [], None
        while True:
            page = b.call("LIST", "QUEUE", q, *options, *(["CURSOR", cursor] if cursor else []))
            found += [job["id"] for job in page["jobs"]]
            cursor = page["cursor"]
            if cursor is None:
                return sorted(found)

    assert listed("STATE", "scheduled") == sorted(ids[:9])
    assert listed("STATE", "ready") == [ready]
    assert listed("STATE", "leased") == [leased]
    assert listed("STATE", "dead") == [dead]
    assert listed("STATE", "done") == [done]
    assert listed("STATE", "cancelled") == [ids[9]]
    assert listed("FROM", base + 2000, "TO", base + 5000) == sorted(ids[2:5])
    assert listed("STATE", "scheduled", "FROM", base + 8000) == [ids[8]]
    assert len(listed()) == 14
    refused("INVALID", b.call, "LIST", "STATE", "asleep")
    refused("INVALID", b.call, "LIST", "CURSOR", "zzz")
    refused("INVALID", b.call, "LIST", "LIMIT", 1001)


# ---- STATS, QUEUES, QUEUE, PAUSE, RESUME, REDRIVE ----

def test_stats_is_a_map_of_figures(b, q):
    before = b.call("STATS")
    job = run_once(b, q)
    b.call("COMPLETE", job["id"], job["token"])
    after = b.call("STATS")
    assert isinstance(after, dict) and set(before) == set(after)
    assert after["total_succeeded"] == before["total_succeeded"] + 1
    assert after["commands"] >= before["commands"] + 3 and after["connections"] >= 1
    assert after["uptime_ms"] >= before["uptime_ms"] and after["rss_bytes"] > 1 << 20
    assert after["journal_segments"] >= 1 and after["commits"] > before["commits"] and after["epoch"] >= 1


def test_queues_counts_per_state(b, q):
    b.call("SCHEDULE", q, "x", "IN", "1h")
    b.call("SCHEDULE", q, "x")
    b.call("SCHEDULE", q, "x")
    lease1(b, q)
    shown = b.call("QUEUE", q)
    (listed,) = [v for v in b.call("QUEUES") if v["queue"] == q]
    for view in (shown, listed):
        assert (view["scheduled"], view["ready"], view["leased"]) == (1, 1, 1)
        assert (view["done"], view["dead"], view["cancelled"]) == (0, 0, 0)


def test_queue_settings_are_the_defaults_of_its_jobs(b, q):
    assert b.call("QUEUE", q) is None
    b.call("SCHEDULE", q, "x", "IN", "1h")
    shown = b.call("QUEUE", q)
    assert shown["lease_ms"] == 60_000 and shown["attempts"] == 5 and shown["backoff"] == "exp:2s:1h"
    assert shown["retain_ms"] == 86_400_000 and shown["retain_dead_ms"] == 30 * 86_400_000
    assert shown["key_hold_ms"] == 0
    shown = b.call("QUEUE", q, "ATTEMPTS", 1, "RETAIN_DEAD", "200ms")
    assert shown["attempts"] == 1 and shown["retain_dead_ms"] == 200 and shown["lease_ms"] == 60_000
    job = run_once(b, q)
    assert b.call("FAIL", job["id"], job["token"])["state"] == "dead"
    wait_for(lambda: b.call("GET", job["id"]) is None, 30, "forgotten")
    b.call("QUEUE", q, "ATTEMPTS", 3, "BACKOFF", "fixed:5ms")
    job = run_once(b, q)
    b.call("FAIL", job["id"], job["token"])
    assert lease1(b, q, "WAIT", "20s")["attempt"] == 2


def test_queues_shows_every_queue(server):
    with server.wire() as w:
        for i in range(300):
            w.call("SCHEDULE", f"queue.{i:03}", "x", *(["IN", "1h"] if i % 2 else []))
        w.call("QUEUE", "settings.only", "LEASE", "5s")
        for i in range(0, 300, 3):  # and those that have become idle, or not: as many as it says
            for job in w.lease(f"queue.{i:03}"):
                w.call("COMPLETE", job["id"], job["token"])
        names = [view["queue"] for view in w.call("QUEUES")]
        assert names == sorted(names) and {f"queue.{i:03}" for i in range(300)} <= set(names)
        assert w.call("STATS")["queues"] == len(names)
        assert w.call("PING") == "PONG"


def test_one_queue_named_twice(b, q, shared_server):
    with shared_server.wire(3) as worker:
        worker.send("LEASE", f"{q},{q}", "COUNT", 5, "WAIT", "20s")
        time.sleep(0.05)
        id = b.call("SCHEDULE", q, "x")
        assert [job["id"] for job in worker.recv()] == [id]
    b.call("SCHEDULE", q, "y")
    assert len(b.lease(f"{q},{q}", "COUNT", 5)) == 1


def test_queue_of_a_name_not_seen_before(b, q):
    assert b.call("QUEUE", q, "LEASE", "5s")["lease_ms"] == 5000
    assert b.call("QUEUE", q)["lease_ms"] == 5000


def test_settings_survive_a_restart(make_server):
    server = make_server()
    with server.wire() as w:
        w.call("QUEUE", "q", "ATTEMPTS", 9, "KEY_HOLD", "1h")
        w.call("PAUSE", "p")
        job = w.call("SCHEDULE", "q", "x", "KEY", "k")
        (lease,) = w.lease("q")
        w.call("COMPLETE", job, lease["token"], "RESULT", "r")
        w.call("SCHEDULE", "p", "x")
    server.restart()
    with server.wire() as w:
        shown = w.call("QUEUE", "q")
        assert shown["attempts"] == 9 and shown["key_hold_ms"] == 3600_000
        assert w.call("SCHEDULE", "q", "x", "KEY", "k") == job
        assert w.call("GET", job)["result"] == "r"
        assert w.lease("p") == []
        w.call("RESUME", "p")
        assert len(w.lease("p")) == 1


def test_a_paused_queue_gives_out_nothing(b, q, shared_server):
    b.call("SCHEDULE", q, "x")
    assert b.call("PAUSE", q) == "OK"
    assert b.call("QUEUE", q)["paused"] in (True, 1)
    assert b.lease(q) == []
    assert b.lease(q, "WAIT", "150ms") == []
    b.call("SCHEDULE", q, "y")
    with shared_server.wire(3) as worker:
        worker.send("LEASE", q, "COUNT", 2, "WAIT", "10s")
        time.sleep(0.1)
        assert b.call("RESUME", q) == "OK"
        assert sorted(job["payload"] for job in worker.recv()) == ["x", "y"]


def kill_job(b, q, *options):
    id = b.call("SCHEDULE", q, "x", *options)
    job = lease1(b, q)
    assert job["id"] == id
    assert b.call("FAIL", id, job["token"], "FINAL", "yes")["state"] == "dead"
    return id


def test_redrive_puts_a_dead_job_back(b, q):
    id = kill_job(b, q, "ATTEMPTS", 3)
    assert b.call("REDRIVE", id) == 1
    job = lease1(b, q)
    assert job["id"] == id and job["attempt"] == 1
    refused("STATE", b.call, "REDRIVE", id)
    refused("NOTFOUND", b.call, "REDRIVE", "0" * 26)


def test_redrive_of_a_queue_takes_the_oldest_first(b, q):
    ids = [kill_job(b, q) for _ in range(5)]
    assert b.call("REDRIVE", "QUEUE", q, "LIMIT", 2) == 2
    assert {job["id"] for job in b.lease(q, "COUNT", 10)} == set(ids[:2])
    assert b.call("REDRIVE", "QUEUE", q) == 3
    assert {job["id"] for job in b.lease(q, "COUNT", 10)} == set(ids[2:])
    assert b.call("REDRIVE", "QUEUE", q) == 0


def test_redrive_of_a_job_whose_key_is_taken(b, q):
    id = kill_job(b, q, "KEY", "k")
    other = b.call("SCHEDULE", q, "y", "KEY", "k", "IN", "1h")
    assert other != id
    refused("KEYEXISTS", b.call, "REDRIVE", id)
    assert b.call("REDRIVE", "QUEUE", q) == 0
    b.call("CANCEL", other)
    assert b.call("REDRIVE", id) == 1


def test_tokens_grow_over_a_restart_too(make_server):
    server = make_server()
    tokens = []
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x", "ATTEMPTS", 0)
        for _ in range(3):
            (job,) = w.lease("q")
            tokens.append(job["token"])
            w.call("RELEASE", id, job["token"])
    for _ in range(3):
        server.restart()
        with server.wire() as w:
            (job,) = w.lease("q")
            tokens.append(job["token"])
            w.call("RELEASE", id, job["token"])
    assert tokens == sorted(set(tokens))


def test_a_live_lease_survives_a_restart(make_server):
    server = make_server()
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x", "LEASE", "5s")
        (job,) = w.lease("q")
    server.restart()
    with server.wire() as w:
        left = max(job["until_ms"] - now_ms(), 0)
        assert w.lease("q", "WAIT", f"{left + 300}ms") == []  # it got at least ten seconds more
        assert w.call("COMPLETE", id, job["token"]) == "OK"


def test_each_job_of_a_lease_has_its_own_fields(shared_server):
    """What is the same for neighbours is written once and repeated: so neighbours differ here in every way."""
    kinds = [[], [], ["KEY", "k"], ["TAG", "t"], [], ["META", "m", "v"], ["ORDER", "o"], [], ["LEASE", "7s"], ["LEASE", "7s"],
             ["PRIORITY", "3", "KEY", "j", "TAG", "u"], []]
    for proto in 2, 3:
        with shared_server.wire(proto) as w:
            want = {}
            for i, kind in enumerate(kinds):
                queue = f"fields{proto}{'ab'[i // 2 % 2]}"
                id = w.call("SCHEDULE", queue, f"p{i}", *kind)
                options = dict(zip(kind[::2], kind[1::2]))
                want[id] = {"queue": queue, "payload": f"p{i}", "key": options.get("KEY"), "order": options.get("ORDER"),
                            "tags": [options["TAG"]] if "TAG" in options else [],
                            "meta": {"m": "v"} if "META" in options else {}, "recurrence": None, "nominal_ms": None,
                            "lease_ms": 7000 if "LEASE" in options else 60000, "priority": 3, "attempt": 1, "tenant": "default"}
            got = w.call("LEASE", f"fields{proto}a,fields{proto}b", "COUNT", "20")
            if proto == 2:
                got = [dict(zip(j[::2], j[1::2])) for j in got]
                for job in got:
                    job["meta"] = dict(zip(job["meta"][::2], job["meta"][1::2]))
            assert len(got) == len(want)
            for job in got:
                assert len(job) == 16
                assert {name: job[name] for name in want[job["id"]]} == want[job["id"]]
                assert job["until_ms"] > job["due_ms"] and int(job["token"]) > 0
