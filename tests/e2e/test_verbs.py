# SPDX-License-Identifier: MIT
"""Every verb and every option of it, over the real server; SCHEDULE and LEASE have files of their own."""
import time

import pytest

from conftest import wait_for
from steps import kill_job, lease1, refused, run_once, state
from wire import Refused, now_ms


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
    b.call("FAIL", job["id"], job["token"], "ERROR", "é" * 9000, "FINAL", "yes")
    shown = b.call("GET", job["id"])
    assert shown["error"].encode() == "é".encode() * 8192
    assert shown["history"][0]["error"].encode() == "é".encode() * 128
    # Where many are shown and searched it is the beginning.
    summary, = b.call("LIST", "QUEUE", q, "ERROR", "éé")["jobs"]
    assert summary["error"].encode() == "é".encode() * 512


def test_only_the_beginning_of_an_error_is_searched(b, q):
    job = run_once(b, q)
    b.call("FAIL", job["id"], job["token"], "ERROR", "x" * 1020 + "needle", "FINAL", "yes")
    assert b.call("GET", job["id"])["error"].endswith("needle")
    assert b.call("LIST", "QUEUE", q, "ERROR", "need")["jobs"] and not b.call("LIST", "QUEUE", q, "ERROR", "needle")["jobs"]


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
    refused("STATE", b.call, "CANCEL", scheduled)
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
