# SPDX-License-Identifier: MIT
"""Work that gathers more in one turn than one element of the journal may hold."""
import pytest

PAYLOAD = "x" * 100_000


@pytest.mark.limit(120)
def test_a_thousand_large_dead_jobs_are_redriven(server):
    with server.wire(timeout=60) as w:
        w.call("QUEUE", "q", "ATTEMPTS", "1", "BACKOFF", "fixed:0ms")
        for _ in range(1000):
            w.call("SCHEDULE", "q", PAYLOAD)
        left = 1000
        while left:
            for job in w.call("LEASE", "q", "COUNT", "40"):
                assert w.call("FAIL", job["id"], job["token"])["state"] == "dead"
                left -= 1
        redriven = 0
        while redriven < 1000:  # some are on disk, and come page by page
            n = w.call("REDRIVE", "QUEUE", "q")
            assert n > 0
            redriven += n
        assert redriven == 1000 and w.call("QUEUE", "q")["ready"] == 1000
    server.kill()
    server.start()
    with server.wire(timeout=60) as w:
        assert w.call("QUEUE", "q")["ready"] == 1000
    assert "could not be written" not in server.log()


@pytest.mark.limit(120)
def test_small_jobs_with_large_results_are_reclaimed(make_server):
    """Each is copied forward at the size it has now, not at the one it was scheduled with."""
    server = make_server(segment_size="1MiB")
    with server.wire(timeout=60) as w:
        for q in range(4):
            for _ in range(200):
                w.call("SCHEDULE", f"q{q}", "x")
        for q in range(4):
            for job in w.call("LEASE", f"q{q}", "COUNT", "200"):
                w.call("COMPLETE", job["id"], job["token"], "RESULT", "y" * 60_000)
        reclaimed = w.call("STATS")["journal_reclaimed"]
        for _ in range(1200):  # churn until the segments with the small images are reclaimed
            w.call("SCHEDULE", "churn", PAYLOAD, "RETAIN", "0")
            (job,) = w.call("LEASE", "churn")
            w.call("COMPLETE", job["id"], job["token"])
        assert w.call("STATS")["journal_reclaimed"] > reclaimed
        assert w.call("QUEUE", "q0")["done"] > 0
    assert "could not be written" not in server.log()
