# SPDX-License-Identifier: MIT
"""What tests of verbs do again and again. `b` is a connection, `q` a queue."""
import pytest

from conftest import wait_for
from wire import Refused


def refused(code, call, *args):
    """The call is answered with an error of this code; answers its text."""
    with pytest.raises(Refused) as info:
        call(*args)
    assert info.value.code == code, info.value
    return str(info.value)


def state(b, id):
    """None if there is no such job."""
    job = b.call("GET", id)
    return job and job["state"]


def lease1(b, q, *options):
    jobs = b.lease(q, *options)
    assert len(jobs) == 1, jobs
    return jobs[0]


def run_once(b, q, payload="x", *options):
    """A job that has been leased."""
    id = b.call("SCHEDULE", q, payload, *options)
    job = lease1(b, q)
    assert job["id"] == id
    return job


def kill_job(b, q, *options):
    """The id of a dead job of the queue."""
    job = run_once(b, q, "x", *options)
    assert b.call("FAIL", job["id"], job["token"], "FINAL", "yes")["state"] == "dead"
    return job["id"]


def start_of(job):
    """When a lease began."""
    return job["until_ms"] - job["lease_ms"]


def parked(server, *args):
    """A connection whose LEASE waits at the server."""
    with server.wire(3) as w:
        before = w.call("STATS")["waiting_workers"]
        waiting = server.wire(3)
        waiting.send("LEASE", *args, "WAIT", "1h")
        wait_for(lambda: w.call("STATS")["waiting_workers"] > before, what="the worker waits")
    return waiting


def never_was(id):
    """An id like this one, of a job that there never was."""
    return id[:-4] + "ZZZZ"
