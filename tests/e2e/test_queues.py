# SPDX-License-Identifier: MIT
"""Queues are many and small: their number has a limit, their memory is in the account, and figures of all cost little."""
import time

import pytest

from conftest import wait_for
from wire import Refused

MIB = 1 << 20


def use_once(w, names, *options, tenant="acme", batch=1000):
    """A job in each of these queues, which is cancelled at once."""
    for start in range(0, len(names), batch):
        part = names[start:start + batch]
        ids = w.pipeline([("SCHEDULE", name, "x", "IN", "1h", "TENANT", tenant, *options) for name in part], timeout=60)
        refused = [id for id in ids if isinstance(id, Refused)]
        assert not refused, refused[0]
        assert set(w.pipeline([("CANCEL", id, "TENANT", tenant) for id in ids], timeout=60)) == {"cancelled"}


def work_once(w, names, tenant="acme", batch=500):
    """A job in each of these queues, which is done at once."""
    for start in range(0, len(names), batch):
        part = names[start:start + batch]
        w.pipeline([("SCHEDULE", name, "x", "TENANT", tenant) for name in part], timeout=60)
        jobs = [job for answer in w.pipeline([("LEASE", name, "TENANT", tenant) for name in part], timeout=60)
                for job in answer]
        assert len(jobs) == len(part)
        w.pipeline([("COMPLETE", job["id"], job["token"], "TENANT", tenant) for job in jobs], timeout=60)


def rss(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))


def test_a_tenant_has_ten_thousand_queues_and_not_one_more(make_server):
    server = make_server(memory="64MiB")
    with server.wire(timeout=60) as w:
        use_once(w, [f"q{i}" for i in range(10_000)])
        with pytest.raises(Refused, match="LIMIT.*max_queues of acme is 10000"):
            w.call("SCHEDULE", "another", "x", "TENANT", "acme")
        w.call("SCHEDULE", "q7", "x", "IN", "1h", "TENANT", "acme")
        w.call("SCHEDULE", "another", "x", "TENANT", "other")
        assert w.call("TENANT", "acme")["used_queues"] == 10_000
        stats = w.call("STATS")
        assert stats["memory_bytes"] > 5 * MIB, "queues are in the account"
        assert rss(server) < stats["memory_limit_bytes"] + 32 * MIB
    server.kill()
    server.start()
    with server.wire(timeout=60) as w:
        with pytest.raises(Refused, match="max_queues of acme is 10000"):
            w.call("SCHEDULE", "another", "x", "TENANT", "acme")
        w.call("TENANT", "acme", "MAX_QUEUES", 10_001)
        w.call("SCHEDULE", "another", "x", "TENANT", "acme")


def test_queues_that_were_used_once_are_small_and_are_forgotten(make_server):
    """Twenty thousand that did a job: some MiB with their history; and nothing without it."""
    server = make_server()
    with server.wire(timeout=60) as w:
        w.call("TENANT", "acme", "MAX_QUEUES", 0)
        before = rss(server)
        work_once(w, [f"q{i}" for i in range(20_000)])
        stats = w.call("STATS")
        assert stats["queues"] == 20_000
        grown = rss(server) - before
        assert grown < 64 * MIB, f"{grown / MIB} MiB"
        assert stats["memory_bytes"] > 20 * MIB
        use_once(w, [f"gone{i}" for i in range(20_000)], "RETAIN", "0s")
        stats = w.call("STATS")
        assert stats["queues"] <= 22_001 and stats["queues_forgotten"] >= 17_999
        sums = w.call("STATS", "TENANT", "acme")
        assert sums["total_scheduled"] == 40_000 and sums["total_cancelled"] == 20_000
        assert sums["done"] == 20_000 and sums["cancelled"] == 0
        done = w.call("BULK", "delete", "STATE", "done", "TENANT", "acme")["id"]
        wait_for(lambda: next(b for b in w.call("BULKS", "TENANT", "acme") if b["id"] == done)["state"] == "done", 60)
        w.call("SCHEDULE", "last", "x", "TENANT", "acme")
        assert w.call("STATS")["queues"] <= 1002, "those that are used no more"
    server.kill()
    server.start()
    with server.wire(timeout=60) as w:
        assert w.call("STATS")["queues"] <= 1002


def test_a_queue_is_forgotten_when_its_settings_are_the_defaults(make_server):
    server = make_server()
    with server.wire(timeout=60) as w:
        w.call("PAUSE", "set", "TENANT", "acme")
        use_once(w, [f"q{i}" for i in range(2_000)], "RETAIN", "0s")
        assert w.call("QUEUE", "set", "TENANT", "acme")["paused"] is True
        w.call("RESUME", "set", "TENANT", "acme")
        use_once(w, [f"r{i}" for i in range(4_000)], "RETAIN", "0s")
        assert w.call("QUEUE", "set", "TENANT", "acme") is None


def cost(server, w, *call):
    """What a call costs the loop, in milliseconds of processor time: the least of several."""
    def used():
        with open(f"/proc/{server.process.pid}/task/{server.process.pid}/schedstat") as f:
            return int(f.read().split()[0]) / 1e6

    times = []
    for _ in range(9):
        start = used()
        w.call(*call)
        times.append(used() - start)
    return min(times)


def test_figures_cost_the_same_with_many_queues(make_server):
    server = make_server()
    calls = [("METRICS",), ("METRICS", "TENANT", "acme"), ("STATS",), ("STATS", "TENANT", "acme"),
             ("QUEUES", "LIMIT", 1, "TENANT", "*"), ("QUEUES", "LIMIT", 1, "AFTER", "q2", "TENANT", "acme")]
    with server.wire(timeout=60) as w:
        w.call("TENANT", "acme", "MAX_QUEUES", 0)
        use_once(w, [f"q{i}" for i in range(200)])
        few = [cost(server, w, *call) for call in calls]
        use_once(w, [f"q{i}" for i in range(60_000)])
        many = [cost(server, w, *call) for call in calls]
        print(*zip(calls, few, many), sep="\n")
        assert all(b < 2 * a + 1 for a, b in zip(few, many)), list(zip(calls, few, many))


def test_metrics_has_as_many_queues_as_the_option_says(make_server):
    server = make_server(metrics_queues=3)
    with server.wire(timeout=60) as w:
        use_once(w, [f"q{i}" for i in range(5)])
        text = w.call("METRICS")
        assert 'belfry_jobs_scheduled_total{tenant="acme",queue="q2"} 1\n' in text and 'queue="q3"' not in text
        assert 'belfry_jobs_scheduled_total{tenant="~other",queue="~other"} 2\n' in text


def test_metrics_of_a_thousand_queues_does_not_hold_the_loop(make_server):
    server = make_server(metrics_queues=1000)
    with server.wire(timeout=60) as w:
        work_once(w, [f"q{i}" for i in range(1000)])
        assert cost(server, w, "METRICS") < 40, "about 10 on a machine without load"


def test_pages_of_queues_have_each_once_in_order(make_server):
    server = make_server()
    with server.wire(timeout=60) as w:
        names = sorted(f"q{i}" for i in range(2_500))
        use_once(w, names)
        seen, after = [], ()
        while page := w.call("QUEUES", "LIMIT", 1000, "TENANT", "acme", *after):
            seen += [q["queue"] for q in page]
            after = ("AFTER", seen[-1])
        assert seen == names
