# SPDX-License-Identifier: MIT
"""Queues that push: what tenants, and settings, cannot do to others and to jobs."""
import threading

import pytest

from conftest import wait_for
from test_push import PRETTY_SOON, receive  # noqa: F401


def state_of(w, job):
    return w.call("GET", job, "TENANT", "*")["state"]


def test_a_tenant_with_slow_endpoints_leaves_room_for_others(make_server, receive):  # noqa: F811
    server = make_server(push_allow="loopback", push_max=4)  # noqa: F811
    go = threading.Event()
    slow, quick = receive(lambda request: go.wait(60) and 200), receive()
    with server.wire() as w:
        for queue in ("a", "b"):
            w.call("QUEUE", queue, "PUSH_URL", slow.url, "PUSH_CONCURRENCY", "100", "TENANT", "greedy")
        w.call("QUEUE", "q", "PUSH_URL", quick.url, "TENANT", "other")
        jobs = [w.call("SCHEDULE", queue, "x", "TENANT", "greedy") for _ in range(10) for queue in ("a", "b")]
        wait_for(lambda: len(slow.requests) == 2, PRETTY_SOON)
        for _ in range(5):
            other = w.call("SCHEDULE", "q", "x", "TENANT", "other")
            wait_for(lambda: state_of(w, other) == "done", PRETTY_SOON)
        assert len(slow.requests) == slow.most == 2
        go.set()
        for job in jobs:
            wait_for(lambda: state_of(w, job) == "done", PRETTY_SOON)
    assert slow.most == 2


@pytest.mark.limit(120)
def test_a_tenants_failures_hold_no_other_tenants_pushes(make_server, receive):  # noqa: F811
    server = make_server(push_allow="loopback")  # noqa: F811
    r = receive(lambda request: 500 if request.headers["belfry-tenant"] == "bad" else 200)
    with server.wire() as w:
        for tenant in ("bad", "good"):
            w.call("QUEUE", "q", "PUSH_URL", r.url, "TENANT", tenant, "ATTEMPTS", "1")
        for _ in range(8):
            w.call("SCHEDULE", "q", "x", "TENANT", "bad")
        wait_for(lambda: w.call("STATS")["push_circuits_open"] == 1, PRETTY_SOON)
        for _ in range(5):
            job = w.call("SCHEDULE", "q", "x", "TENANT", "good")
            wait_for(lambda: state_of(w, job) == "done", PRETTY_SOON)
        assert w.call("GET", job, "TENANT", "*")["attempt"] == 1
        # That of the one did not close by what the other sent there.
        assert w.call("STATS")["push_circuits_open"] == 1


def test_jobs_without_a_url_outlive_a_setting_that_asks_for_one(make_server, receive):  # noqa: F811
    server, r = make_server(push_allow="loopback"), receive()
    with server.wire() as w:
        jobs = [w.call("SCHEDULE", "q", "x") for _ in range(5)]
        w.call("QUEUE", "q", "PUSH_URL", "job")
        w.call("SCHEDULE", "q", "y", "PUSH", r.url)
        wait_for(lambda: len(r.requests) == 1, PRETTY_SOON)
        for job in jobs:  # each was looked at, and put off
            shown = wait_for(lambda: (x := w.call("GET", job))["state"] == "scheduled" and x, PRETTY_SOON)
            assert shown["attempt"] == 0 and not shown["error"]
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        for job in jobs:
            w.call("RESCHEDULE", job, "IN", "0s")
            wait_for(lambda: w.call("GET", job)["state"] == "done", PRETTY_SOON)


def test_what_a_stop_did_not_wait_for_has_failed_and_is_retried(make_server, receive):  # noqa: F811
    server = make_server(push_allow="loopback", drain_timeout="300ms")
    go, arrived = threading.Event(), threading.Event()

    def answer(request):
        arrived.set()
        if not go.is_set():
            go.wait(60)
            return None
        return 200

    r = receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_TIMEOUT", "1h", "BACKOFF", "fixed:100ms")
        job = w.call("SCHEDULE", "q", "a")
        assert arrived.wait(PRETTY_SOON)
    server.stop(timeout=45)  # the endpoint would take a minute
    go.set()
    server.start()
    with server.wire() as w:
        wait_for(lambda: w.call("GET", job)["state"] == "done", PRETTY_SOON)
        shown = w.call("GET", job)
        assert [(a["outcome"], a["error"]) for a in shown["history"]][0] == \
            ("failed", "the server was stopped before the endpoint answered")
        assert shown["attempt"] == 2
