# SPDX-License-Identifier: MIT
"""Rates: bursts, and what they have counted over restarts."""
import time

import pytest

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


# ---- Measured by the moments that the server notes in the history ----

RATE, LAPSE = 100, 3


def starts_of(w, leased):
    """When each attempt began, by the history, which has the attempts that have ended."""
    w.pipeline([("COMPLETE", job["id"], job["token"]) for job in leased])
    jobs = w.pipeline([("GET", job["id"]) for job in leased])
    return sorted(a["start_ms"] for job in jobs for a in job["history"])


def most_in_any(period, starts):
    """The most of them in any window of this length."""
    most = first = 0
    for last, at in enumerate(starts):
        while at - starts[first] >= period:
            first += 1
        most = max(most, last - first + 1)
    return most


def test_windows_are_counted_right():
    assert most_in_any(1000, [0, 999, 1000, 1001]) == 3 and most_in_any(1000, [0, 1000, 2000]) == 1


def lease_for(w, seconds, leased):
    """Leases as fast as it can, and asks for more than the rate allows."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        leased += w.lease("q", "COUNT", 70, "WAIT", "50ms")


@pytest.mark.parametrize("end", ["none", "stop", "kill -9"])
@pytest.mark.parametrize("burst", [None, 10])
def test_no_window_of_the_period_has_more_than_the_rate(make_server, burst, end):
    server, leased = make_server(), []
    with server.wire(3) as w:
        w.call("QUEUE", "q", "RATE", f"{RATE}/1s", "LEASE", "1h", *(["BURST", burst] if burst else []))
        w.pipeline([("SCHEDULE", "q", "x") for _ in range(RATE * 3 * LAPSE)])
        lease_for(w, LAPSE / 2, leased)
    if end == "stop":
        server.restart()
    elif end == "kill -9":
        server.kill()
        server.start()
    with server.wire(3) as w:
        lease_for(w, LAPSE / 2, leased)
        starts = starts_of(w, leased)
    span = starts[-1] - starts[0]
    second, part = most_in_any(1000, starts), most_in_any(100, starts)
    print(f"\nRATE {RATE}/1s BURST {burst}, {end}: {len(starts)} in {span} ms, {len(starts) * 1000 / span:.1f} a second, "
          f"at most {second} in any second and {part} in any 100 ms", end="")
    assert len(starts) == len(leased) == len({job["id"] for job in leased})
    assert second <= RATE and part <= (burst or RATE)
    assert second > RATE * 0.7, "so few that the test would see no fault"
