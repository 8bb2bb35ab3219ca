# SPDX-License-Identifier: MIT
"""Jobs that wait for others, as many and as large as may be."""
import re

import pytest

from conftest import best

MIB = 1 << 20
PARENTS = 64


def committed(w):
    return int(re.search(r"^belfry_journal_committed_bytes_total (\d+)$", w.call("METRICS"), re.M)[1])


def cpu(server):
    """Seconds that the server has computed."""
    with open(f"/proc/{server.process.pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def test_large_waiting_jobs_are_not_written_for_each_parent(make_server):
    server = make_server()
    with server.wire() as w:
        parents = [w.call("SCHEDULE", "p", "x", "IN", "1h") for _ in range(PARENTS)]
        after = [word for parent in parents for word in ("AFTER", parent)]
        children = [w.call("SCHEDULE", "c", "x" * MIB, *after, "AFTERFAIL", "run") for _ in range(10)]
        before = committed(w)
        for parent in parents:
            assert w.call("CANCEL", parent) == "cancelled"
        left = list(children)
        while left:
            (job,) = w.call("LEASE", "c", "WAIT", "10s")
            left.remove(job["id"])
        assert committed(w) - before < MIB


def batch(items, parents):
    """The words of a BATCH whose items wait for all these."""
    words = ["c", "x"] + [word for parent in parents for word in ("AFTER", parent)]
    return ["BATCH", "each"] + [word for _ in range(items) for word in (len(words), *words)]


@pytest.mark.limit(120)
def test_a_batch_of_many_that_wait_takes_little_time(make_server):
    server = make_server()
    with server.wire() as w:
        parents = [w.call("SCHEDULE", "p", "x" * 1000, "IN", "1h") for _ in range(PARENTS)]
        for _ in range(14):
            assert len(w.call(*batch(64, parents))) == 64

        def measure():
            before = cpu(server)
            assert len(w.call(*batch(15, parents))) == 15
            return cpu(server) - before

        # 900 wait for each of 64 by now: to read them all for each of 960 took a quarter of a second.
        best(0.1, measure)


@pytest.mark.parametrize("mode", ["each", "all"])
def test_a_batch_waits_for_no_more_jobs_than_it_may(make_server, mode):
    server = make_server()
    with server.wire() as w:
        parents = [w.call("SCHEDULE", "p", "x", "IN", "1h") for _ in range(PARENTS)]
        words = batch(65, parents)
        words[1] = mode
        with pytest.raises(Exception) as refused:
            w.call(*words)
        assert "item 65: after: expected at most 4096 of them in a batch" in str(refused.value)
        assert w.call("QUEUE", "c") is None
        words = batch(64, parents)
        words[1] = mode
        assert len(w.call(*words)) == 64
        assert w.call("QUEUE", "c")["waiting"] == 64
