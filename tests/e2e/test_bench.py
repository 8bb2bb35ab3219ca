# SPDX-License-Identifier: MIT
"""The generator's checker must see what is wrong: each fault is made on purpose."""
import json

import pytest

from conftest import belfry, best
from wire import now_ms

FAULTS = ("missing", "twice", "early", "moved", "damaged")


def bench(server, *args, code=0):
    done = belfry("bench", "--port", server.port, "--keep", "--json", *args)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def drain(server, queue, jobs, *args, **kw):
    (row,) = bench(server, "--op", "drain", "--queue", queue, "--jobs", jobs, *args, **kw)
    return row, {name: row[name] for name in FAULTS if row[name]}


def test_what_was_filled_is_drained(shared_server):
    bench(shared_server, "--op", "fill", "--queue", "good", "--jobs", 3000)
    row, wrong = drain(shared_server, "good", 3000, "--batch", 1000)
    assert row["delivered"] == row["jobs"] == 3000 and not wrong
    assert row["earliest_us"] >= 0 and row["late_us"]["count"] == 3000
    with shared_server.wire() as w:
        queue = w.call("QUEUE", "good")
        assert queue["ready"] + queue["leased"] + queue["done"] == 0


def test_scheduled_jobs_are_drained_when_they_are_due(shared_server):
    at = now_ms() + 1500
    when = ("--at", at, "--span", "500ms")
    bench(shared_server, "--op", "schedule", "--queue", "timed", "--jobs", 2000, *when)
    row, wrong = drain(shared_server, "timed", 2000, *when)
    assert row["delivered"] == 2000 and not wrong and now_ms() >= at + 490


def test_a_job_that_comes_twice_is_seen(shared_server):
    for _ in range(2):
        bench(shared_server, "--op", "fill", "--queue", "twice", "--jobs", 100)
    row, wrong = drain(shared_server, "twice", 200, code=1)
    assert row["delivered"] == 100 and wrong == {"twice": 100, "missing": 100}


def test_a_job_with_another_due_time_is_seen(shared_server):
    past = now_ms() - 10_000
    bench(shared_server, "--op", "schedule", "--queue", "moved", "--jobs", 100, "--at", past, "--span", "1s")
    _, wrong = drain(shared_server, "moved", 100, "--at", past + 1, "--span", "1s", code=1)
    assert wrong == {"moved": 100}


@pytest.mark.parametrize("payload", ["0000000007", "x" * 100, ""])
def test_a_payload_that_was_not_sent_is_seen(shared_server, payload):
    with shared_server.wire() as w:
        w.call("SCHEDULE", "damaged", payload)
    _, wrong = drain(shared_server, "damaged", 1, code=1)
    assert wrong == {"damaged": 1, "missing": 1}


def test_jobs_behind_later_ones_are_counted(shared_server):
    """Priority goes before due time, so these come in the opposite order."""
    now = now_ms()
    filler = bench_payload(shared_server)
    with shared_server.wire() as w:
        for n in range(4):
            w.call("SCHEDULE", "order", f"{n:010}" + filler, "AT", now - 1000 * n, "PRIORITY", n + 1)
    row, wrong = drain(shared_server, "order", 4, "--connections", 1)
    assert not wrong and row["behind"] == 3 and row["behind_max_ms"] == 3000


def bench_payload(server):
    """What follows the number."""
    bench(server, "--op", "fill", "--queue", "look", "--jobs", 1)
    with server.wire() as w:
        (job,) = w.lease("look")
        return job["payload"][10:]


def test_progress_and_sample(shared_server):
    rows = bench(shared_server, "--op", "schedule", "--queue", "wide", "--jobs", 10_000, "--span", "90d", "--progress", 2500,
                 "--sample", 50)
    parts, (whole,) = [r for r in rows if "so_far" in r], [r for r in rows if "so_far" not in r]
    assert [(r["so_far"], r["jobs"]) for r in parts] == [(n, 2500) for n in (2500, 5000, 7500, 10_000)]
    assert sum(r["latency_us"]["count"] for r in parts) == whole["latency_us"]["count"] == whole["jobs"] == 10_000
    assert 40 <= len(whole["sample"]) <= 50
    with shared_server.wire() as w:
        for job in whole["sample"]:
            view = w.call("GET", job["id"])
            assert (view["due_ms"], int(view["payload"][:10])) == (job["due_ms"], job["n"])
    due = [job["due_ms"] for job in whole["sample"]]
    assert max(due) - min(due) > 70 * 86_400_000


def test_ping_is_answered_beside_a_timer(shared_server):
    def missed():
        """Of the timer's, which stands still if its thread does."""
        (row,) = bench(shared_server, "--op", "ping", "--jobs", 100, "--every", "2ms")
        assert row["jobs"] == row["latency_us"]["count"] == 100 and row["seconds"] >= 0.2
        return 100 - row["timer_us"]["count"]

    best(11, missed)
