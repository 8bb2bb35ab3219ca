# SPDX-License-Identifier: MIT
"""Requests that need jobs on disk cost little, however many and however large these are."""
import threading

import pytest

from conftest import wait_for
from wire import Refused, encode

MIB = 1 << 20
MEMORY = 16 * MIB
LARGE = "l" * (MIB - 1000)
JOBS = 60


def stats(w):
    return w.call("STATS")


def words(*items):
    return [word for item in items for word in (str(len(item)), *item)]


def on_disk(w, queue, n):
    wait_for(lambda: stats(w)["cold_jobs"] >= n, timeout=60, what=f"{n} jobs of {queue} have gone to disk", step=0.2)


@pytest.fixture
def large(make_server):
    """A server with jobs of 1 MiB on disk, and their ids."""
    server = make_server(memory="16MiB")
    with server.wire(timeout=60) as w:
        ids = [w.call("SCHEDULE", "big", LARGE, "IN", "3h", "KEY", f"k{i}") for i in range(JOBS)]
        on_disk(w, "big", JOBS - 12)
        yield server, w, ids


@pytest.mark.limit(180)
def test_keys_that_are_kept_stay_on_disk(large):
    _, w, ids = large
    before = stats(w)
    items = [("big", "x", "IN", "3h", "KEY", f"k{i}") for i in range(JOBS)]
    assert w.call("BATCH", "all", *words(*items)) == ids
    with pytest.raises(Refused) as info:
        w.call("BATCH", "all", *words(*items, (*items[0], "IFEXISTS", "reject")))
    assert info.value.code == "KEYEXISTS"
    after = stats(w)
    assert after["fetches"] - before["fetches"] <= 8, "not one for each key"
    assert after["cold_jobs"] >= before["cold_jobs"]


@pytest.mark.limit(180)
def test_a_batch_that_needs_too_much_of_the_disk_is_refused(large):
    _, w, ids = large
    before = stats(w)
    with pytest.raises(Refused) as info:
        w.call("BATCH", "all", *words(("child", "x", *(word for id in ids[:40] for word in ("AFTER", id)))))
    assert info.value.code == "TOOLARGE" and "several requests" in str(info.value)
    after = stats(w)
    assert after["fetches"] - before["fetches"] <= 8
    assert after["memory_bytes"] <= MEMORY * 5 // 4
    assert w.call("SCHEDULE", "child", "x", "AFTER", ids[0], "AFTER", ids[1])


@pytest.mark.limit(240)
def test_jobs_that_come_from_disk_wait_for_room_in_memory(large):
    server, w, ids = large
    most, ended = [0], threading.Event()

    def move(part):
        with server.wire(timeout=60) as own:
            answers = own.exchange(b"".join(encode("RESCHEDULE", id, "IN", "2h") for id in part), len(part), timeout=200)
            assert answers == ["OK"] * len(part)

    def watch():
        with server.wire(timeout=60) as own:
            while not ended.wait(0.02):
                most[0] = max(most[0], stats(own)["memory_bytes"])

    threads = [threading.Thread(target=move, args=(ids[i::12],)) for i in range(12)]
    watcher = threading.Thread(target=watch)
    for t in (watcher, *threads):
        t.start()
    for t in threads:
        t.join()
    ended.set()
    watcher.join()
    # nine eighths of the budget, and then four jobs with their copies, which may have twice their size
    assert most[0] <= MEMORY * 2, f"{most[0] / MIB:.1f} MiB of a budget of 16"
    assert w.call("GET", ids[-1])["state"] == "scheduled"


@pytest.mark.limit(240)
def test_parents_that_ended_and_are_on_disk_are_looked_up_together(make_server):
    server = make_server(memory="16MiB")
    parents = 1024
    with server.wire(timeout=60) as w:
        ids = w.exchange(b"".join(encode("SCHEDULE", "par", "x" * 100) for _ in range(parents)), parents, timeout=60)
        done = 0
        while done < parents:
            jobs = w.call("LEASE", "par", "COUNT", 500)
            w.exchange(b"".join(encode("COMPLETE", job["id"], job["token"]) for job in jobs), len(jobs), timeout=60)
            done += len(jobs)
        for first in range(0, 8000, 1000):
            rows = range(first, first + 1000)
            w.exchange(b"".join(encode("SCHEDULE", "fill", "f" * 2000, "KEY", f"z{i}", "IN", "3h") for i in rows), 1000,
                       timeout=60)
            w.exchange(b"".join(encode("CANCEL", "KEY", f"z{i}", "QUEUE", "fill") for i in rows), 1000, timeout=60)
        before = stats(w)
        items = [("child", "x", "IN", "3h", *(word for id in ids[i * 64:i * 64 + 64] for word in ("AFTER", id)))
                 for i in range(parents // 64)]
        assert len(w.call("BATCH", "all", *words(*items))) == len(items)
        assert stats(w)["fetches"] - before["fetches"] <= 6, "not one for each parent"
