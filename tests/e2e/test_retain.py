# SPDX-License-Identifier: MIT
"""RETAIN holds for any number of jobs; what bounds it is history_size, and counted."""
import urllib.request

import pytest

from conftest import wait_for
from wire import Refused

MIB = 1 << 20


def complete(w, count, queue="q", size=1000, batch=500):
    """So many jobs, done in order; answers their ids."""
    ids = []
    for start in range(0, count, batch):
        ids += w.pipeline([("SCHEDULE", queue, f"{i}".ljust(size, "."), "RETAIN", "1h")
                           for i in range(start, start + batch)])
        jobs = w.lease(queue, "COUNT", batch)
        assert w.pipeline([("COMPLETE", j["id"], j["token"], "RESULT", "ok") for j in jobs]) == ["OK"] * batch
    return ids


def found(w, ids):
    """Those that GET answers as done."""
    replies = w.pipeline([("GET", id) for id in ids], timeout=60)
    assert not any(isinstance(r, Refused) for r in replies)
    return [r["id"] for r in replies if r and r["state"] == "done" and r["result"] == "ok"]


@pytest.mark.parametrize("memory", ["256MiB", "64MiB"])
def test_retain_holds_for_more_than_memory_has_room_for(make_server, memory):
    """40 MiB of done jobs of one queue: they stay in memory where there is room, and go to disk else."""
    server = make_server(memory=memory)
    with server.wire(timeout=60) as w:
        ids = complete(w, 30_000)
        assert w.call("QUEUE", "q")["done"] == len(ids)
        assert found(w, ids[::30]) == ids[::30]
        after = w.call("SCHEDULE", "q", "next", "AFTER", ids[0])
        wait_for(lambda: w.call("GET", after)["state"] == "ready", what="it counts as done")
        stats = w.call("STATS")
        assert stats["total_history_dropped"] == 0
        assert stats["memory_bytes"] <= stats["memory_limit_bytes"]
        assert (stats["cold_jobs"] > 0) == (memory == "64MiB")
    server.kill()
    server.start()
    with server.wire(timeout=60) as w:
        assert w.call("QUEUE", "q")["done"] == len(ids)
        assert found(w, ids[::30]) == ids[::30]


def test_a_producer_keeps_its_jobs_no_longer_than_the_queue_does(make_server):
    server = make_server()
    with server.wire() as w:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        p = w.call("TOKENCREATE", "p", "producer", "TENANT", "acme")["token"]
        with server.wire() as producer:
            producer.call("AUTH", p)
            producer.call("SCHEDULE", "q", "x", "RETAIN", "1d")
            for call in (("SCHEDULE", "q", "x", "RETAIN", "520w"), ("BATCH", "all", 4, "q", "x", "RETAIN", "25h"),
                         ("RECUR", "r", "q", "x", "EVERY", "1h", "RETAIN", "25h")):
                with pytest.raises(Refused, match="NOPERM.*retain: .* more than the 86400000 ms of the queue"):
                    producer.call(*call)
            w.call("QUEUE", "q", "RETAIN", "520w", "TENANT", "acme")
            producer.call("SCHEDULE", "q", "x", "RETAIN", "520w")
            with pytest.raises(Refused, match="NOPERM"):
                producer.call("SCHEDULE", "other", "x", "RETAIN", "520w")
        w.call("SCHEDULE", "other", "x", "RETAIN", "520w", "TENANT", "acme")


def test_beyond_history_size_the_oldest_go_and_are_counted(make_server):
    server = make_server(memory="16MiB", history_size="4MiB")
    with server.wire(timeout=60) as w:
        ids = complete(w, 30_000)
        wait_for(lambda: w.call("STATS")["run_bytes"] < 8 * MIB, 30, "the oldest are gone")
        for _ in range(100):  # the last batches of history may still be on their way to disk
            q, left = w.call("QUEUE", "q"), found(w, ids)
            if w.call("QUEUE", "q")["done"] == q["done"]:
                break
        assert q["total_history_dropped"] > len(ids) // 2
        assert q["done"] + q["total_history_dropped"] == len(ids)
        assert w.call("STATS")["total_history_dropped"] == q["total_history_dropped"]
        assert len(left) == q["done"] and left == ids[-len(left):], "those that are left are the last"
        metrics = urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics").read().decode()
        assert f'belfry_jobs_history_dropped_total{{tenant="default",queue="q"}} {q["total_history_dropped"]}' in metrics
