# SPDX-License-Identifier: MIT
"""The attempts of a job that GET shows: all of them within a bound, over restarts and on disk."""
from conftest import wait_for
from steps import lease1

MANY = 250


def fail(w, id, first, last):
    """Attempts `first` to `last` of the job, each with its number as its error."""
    for i in range(first, last + 1):
        w.call("FAIL", id, lease1(w, "q")["token"], "ERROR", f"e{i}", "RETRY", 0)


def errors(w, id):
    shown = w.call("GET", id)
    numbers = [h["attempt"] for h in shown["history"]]
    assert [h["error"] for h in shown["history"]] == [f"e{n}" for n in numbers]
    return numbers, shown["attempts_left_out"]


def span(first, last):
    return list(range(first, last + 1))


def test_of_many_attempts_the_first_ten_and_the_last_are_shown(make_server):
    server = make_server(memory="16MiB")
    with server.wire(timeout=60) as w:
        id = w.call("SCHEDULE", "q", "x", "ATTEMPTS", 0)
        fail(w, id, 1, 100)
        assert errors(w, id) == (span(1, 100), 0)
        fail(w, id, 101, MANY - 50)
    server.kill()
    server.start()
    with server.wire(timeout=60) as w:
        assert errors(w, id) == (span(1, 10) + span(111, 200), 100)
        fail(w, id, MANY - 49, MANY)
        shown = (span(1, 10) + span(161, MANY), 150)
        assert errors(w, id) == shown
        before = w.call("STATS")["cold_jobs"]
        w.call("RESCHEDULE", id, "IN", "3h")
        for i in range(60):
            w.call("SCHEDULE", "big", "l" * 1000000, "IN", "2h")
        wait_for(lambda: w.call("STATS")["cold_jobs"] >= before + 48, timeout=60, what="jobs have gone to disk", step=0.2)
        fetched = w.call("STATS")["fetches"]
        assert errors(w, id) == shown
        assert w.call("STATS")["fetches"] > fetched, "the job was on disk"
    server.restart()
    with server.wire(timeout=60) as w:
        assert errors(w, id) == shown
        assert w.call("CANCEL", id) == "cancelled"
        assert errors(w, id) == shown


def test_the_bound_is_an_option_and_another_one_brings_nothing_back(make_server):
    server = make_server(attempts_kept=4)
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x", "ATTEMPTS", 0)
        fail(w, id, 1, 9)
        assert errors(w, id) == ([1, 2, 8, 9], 5)
    server.restart(attempts_kept=100)
    with server.wire() as w:
        assert errors(w, id) == ([1, 2, 8, 9], 5)
        fail(w, id, 10, 12)
        assert errors(w, id) == ([1, 2, 8, 9, 10, 11, 12], 5)
    code, log = make_server(start=False).refused(attempts_kept=1001)
    assert code != 0 and "--attempts-kept: expected a whole number from 1 to 1000" in log
