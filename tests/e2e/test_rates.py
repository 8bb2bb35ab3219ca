# SPDX-License-Identifier: MIT
"""Rates: bursts, and what they have counted over restarts."""
from steps import refused


def test_a_burst_goes_in_its_part_of_the_period(b, q):
    mine = "acme." + q
    answer = b.call("QUEUE", q, "RATE", "20/2h", "BURST", 4, "TENANT", mine)
    assert answer["rate"] == "20/2h" and answer["burst"] == 4
    b.pipeline([("SCHEDULE", q, "x", "TENANT", mine) for _ in range(20)])
    assert len(b.lease(q, "TENANT", mine, "COUNT", 20)) == 4 and b.lease(q, "TENANT", mine) == []
    refused("INVALID", b.call, "QUEUE", q, "BURST", 3, "TENANT", mine)
    assert b.call("QUEUE", q, "RATE", "20/2h", "TENANT", mine)["burst"] == 0
    assert len(b.lease(q, "TENANT", mine, "COUNT", 20)) == 16


def test_a_rate_counts_over_kill_9_and_over_a_stop(make_server):
    server = make_server()
    with server.wire(3) as w:
        w.call("QUEUE", "q", "RATE", "10/1h", "TENANT", "acme")
        w.call("TENANT", "zeta", "RATE", "6/1h")
        w.pipeline([("SCHEDULE", "q", "x", "TENANT", t) for _ in range(20) for t in ("acme", "zeta")])
        assert len(w.lease("q", "TENANT", "acme", "COUNT", 5)) == 5
        assert len(w.lease("q", "TENANT", "zeta", "COUNT", 2)) == 2
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert len(w.lease("q", "TENANT", "acme", "COUNT", 3)) == 3
        w.call("QUEUE", "q", "ATTEMPTS", 7, "TENANT", "acme")  # its record knows what was given
        assert len(w.lease("q", "TENANT", "zeta", "COUNT", 3)) == 3
    server.restart()
    with server.wire(3) as w:
        assert len(w.lease("q", "TENANT", "acme", "COUNT", 20)) == 2
        assert len(w.lease("q", "TENANT", "zeta", "COUNT", 20)) == 1
