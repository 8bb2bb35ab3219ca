# SPDX-License-Identifier: MIT
"""What was acknowledged survives: kill -9 of the server under load, again and again; kill of a
client; SIGTERM under load. And the journal stays small while jobs come and go."""
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import LONG, wait_for
from load import Ledger, Load
from wire import Refused, encode, now_ms

ROUNDS = int(os.environ.get("BELFRY_ROUNDS", 50 if LONG else 8))
QUEUES = ["a", "b", "c"]


def check(ledger):
    assert not ledger.complaints, "\n".join(ledger.complaints)


def check_against_server(ledger, server, jobs):
    """Each acknowledged job is there, or was completed; none that was completed is active."""
    with server.wire() as w:
        shown = w.pipeline([("GET", job.id) for job in jobs])
    for job, view in zip(jobs, shown):
        assert not isinstance(view, Refused), view
        if job.done_token is not None:
            assert view is None or view["state"] == "done", f"completed, but {view}"
        elif not job.done_sent:
            assert view is not None, f"{job.payload} {job.id} was acknowledged and is lost"
            assert view["payload"] == job.payload and view["state"] in ("scheduled", "ready", "leased"), view


def drain(ledger, server, timeout=60):
    """Brings everything forward and completes it; answers the payloads delivered here."""
    end = time.monotonic() + timeout
    with server.wire() as w:
        cursor, ids = None, []
        while True:
            page = w.call("LIST", "STATE", "scheduled", "LIMIT", 1000, *(["CURSOR", cursor] if cursor else []))
            ids += [job["id"] for job in page["jobs"] if job["due_ms"] > now_ms() + 60_000]
            cursor = page["cursor"]
            if cursor is None:
                break
        for job in ledger.jobs.values():
            job.not_before_ms = min(job.not_before_ms, now_ms())
        w.pipeline([("RESCHEDULE", id) for id in ids])
        while time.monotonic() < end:
            jobs = w.lease(",".join(QUEUES), "COUNT", 500, "WAIT", "500ms", "FOR", "30s")
            held = [(ledger.leased(reply), reply) for reply in jobs]
            for (job, reply), answer in zip(held, w.pipeline([("COMPLETE", r["id"], r["token"]) for _, r in held])):
                assert answer == "OK", f"{job.payload}: {answer}"
                ledger.completed(job, reply["token"])
            if not jobs:
                left = [q for q in w.call("QUEUES") if q["scheduled"] + q["ready"] + q["leased"]]
                if not left:
                    return
        raise AssertionError(f"not drained after {timeout} s: {left}")


def final_check(ledger, server):
    drain(ledger, server)
    check(ledger)
    missing = [job.payload for job in ledger.acked_jobs() if job.done_token is None and not job.done_sent]
    assert not missing, f"{len(missing)} acknowledged jobs were never completed: {missing[:5]}"
    undelivered = [job.payload for job in ledger.acked_jobs() if not job.tokens]
    assert not undelivered, f"{len(undelivered)} acknowledged jobs were never delivered: {undelivered[:5]}"
    with server.wire() as w:
        assert sum(q["dead"] + q["cancelled"] for q in w.call("QUEUES")) == 0


@pytest.mark.limit(120 + 20 * ROUNDS)
def test_nothing_acknowledged_is_lost_by_kill_9(make_server):
    seed = int(os.environ.get("BELFRY_SEED", random.randrange(1 << 30) if os.environ.get("BELFRY_LONG") else 1))
    print(f"BELFRY_SEED={seed}")
    rng = random.Random(seed)
    server = make_server(segment_size="64KiB")
    ledger = Ledger()
    known = completed = 0
    for number in range(ROUNDS):
        load = Load(ledger, server, QUEUES, seed=seed + number)
        time.sleep(rng.uniform(0.3, 1.2))
        wait_for(lambda: len(ledger.acked_jobs()) > known + 100 and ledger.completions > completed + 50,
                 what="enough happened in this round", step=0.05)
        server.kill()
        load.join()
        check(ledger)
        server.start(sync_delay=rng.choice(("0ms", "20ms")))  # a slow disk leaves more half done
        acked = ledger.acked_jobs()
        fresh = acked[known:]
        check_against_server(ledger, server, fresh + rng.sample(acked[:known], min(known, 500)))
        known, completed = len(acked), ledger.completions
        print(f"round {number + 1}: {known} acknowledged, {ledger.leases} leases, {ledger.completions} completed, "
              f"{ledger.failures} given back, {ledger.stale} stale, segments "
              f"{server.segments()[0].stem}-{server.segments()[-1].stem}")
    assert known > 100 * ROUNDS and ledger.completions > 50 * ROUNDS, "too little happened to show anything"
    final_check(ledger, server)
    wait_for(lambda: int(server.segments()[0].stem) > 1, 30, "segments of what is done are reclaimed")
    server.stop()


@pytest.mark.limit(240)
def test_sigterm_under_load_exits_0_and_loses_nothing(make_server):
    server = make_server(segment_size="64KiB", drain_timeout="5s")
    ledger = Ledger()
    took = []
    for number in range(3):
        load = Load(ledger, server, QUEUES, seed=number)
        time.sleep(0.7)
        start = time.monotonic()
        server.stop()
        took.append(time.monotonic() - start)
        load.join()
        check(ledger)
        server.start()
        assert not re.search(r"\btorn\b", server.log(this_run=True)), "a clean stop leaves a clean journal"
        check_against_server(ledger, server, ledger.acked_jobs())
    assert min(took) < 6, took  # where the machine stalls it may be more
    final_check(ledger, server)


CLIENT = textwrap.dedent("""
    import sys
    sys.path.insert(0, sys.argv[1])
    from wire import Wire
    w = Wire(int(sys.argv[2]), 3)
    if sys.argv[3] == "work":
        for job in w.lease("q", "COUNT", 5, "FOR", "500ms"):
            print(job["id"], job["token"], job["until_ms"], flush=True)
        w.lease("q2", "WAIT", "60s")
    else:
        for i in range(10**6):
            for id in w.pipeline([("SCHEDULE", "q", f"{i} {k}") for k in range(50)]):
                print(id)
            sys.stdout.flush()
""")


def run_client(server, kind):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.Popen([sys.executable, "-c", CLIENT, here, str(server.port), kind],
                            stdout=subprocess.PIPE, text=True)


def test_jobs_of_a_killed_worker_come_back(server):
    with server.wire() as w:
        for i in range(5):
            w.call("SCHEDULE", "q", i, "BACKOFF", "fixed:10ms")
        client = run_client(server, "work")
        held = {id: (int(token), int(until)) for id, token, until in (client.stdout.readline().split() for _ in range(5))}
        wait_for(lambda: (w.call("QUEUE", "q2") or {}).get("waiting_workers") == 1, what="the worker waits")
        client.send_signal(signal.SIGKILL)
        client.wait()
        again = {}
        end = time.monotonic() + 60
        while len(again) < 5 and time.monotonic() < end:
            for job in w.lease("q", "COUNT", 5, "WAIT", "1s"):
                assert job["id"] not in again and job["attempt"] == 2
                assert job["until_ms"] - job["lease_ms"] >= held[job["id"]][1], "not before its lease ends"
                again[job["id"]] = job["token"]
        assert set(again) == set(held)
        assert all(token > held[id][0] for id, token in again.items())
        wait_for(lambda: not (w.call("QUEUE", "q2") or {}).get("waiting_workers"), what="the killed waiter is gone")


def test_a_killed_producer_leaves_what_was_acknowledged(server):
    client = run_client(server, "produce")
    head = [client.stdout.readline().strip() for _ in range(1000)]
    client.send_signal(signal.SIGKILL)
    ids = head + client.stdout.read().split("\n")[:-1]
    client.wait()
    with server.wire() as w:
        assert all(job["state"] == "ready" for job in w.pipeline([("GET", id) for id in ids]))
        count = w.call("QUEUE", "q")["ready"]
        assert len(ids) <= count <= len(ids) + 50


@pytest.mark.limit(600 if LONG else 120)
def test_the_journal_stays_small_while_jobs_come_and_go(make_server):
    mib, total, batch = 1 << 20, 2_000_000 if LONG else 200_000, 1000
    server = make_server(segment_size="1MiB")
    with server.wire() as w:
        keep = w.pipeline([("SCHEDULE", "keep", f"k{i}", "IN", "1h") for i in range(1000)])
        schedules = b"".join(encode("SCHEDULE", "churn", "x" * 100, "RETAIN", "0") for _ in range(batch))
        largest = 0
        for done in range(0, total, batch):
            w.exchange(schedules, batch)
            jobs = w.lease("churn", "COUNT", batch)
            assert len(jobs) == batch
            replies = w.pipeline([("COMPLETE", job["id"], job["token"]) for job in jobs])
            assert replies == ["OK"] * batch
            if done % (10 * batch) == 0:
                largest = max(largest, server.disk_bytes())
        stats = w.call("STATS")
        print(f"largest {largest / mib:.1f} MiB on disk, {stats}")
        assert largest <= 12 * mib, f"{largest / mib:.1f} MiB on disk with 1 MiB segments"
        assert int(server.segments()[0].stem) > 10, "no segment was reclaimed"
    server.kill()
    server.start()
    with server.wire() as w:
        assert all(job["state"] == "scheduled" for job in w.pipeline([("GET", id) for id in keep]))
        assert w.lease("churn", "COUNT", 1000) == []
