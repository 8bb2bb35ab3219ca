# SPDX-License-Identifier: MIT
"""SCHEDULE and every option of it, over the real server."""
import re
from datetime import datetime, timezone

import pytest

from conftest import best, wait_for
from steps import lease1, refused, run_once, state
from wire import now_ms

YEAR_9999 = 253402300799999


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
