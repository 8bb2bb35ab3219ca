# SPDX-License-Identifier: MIT
"""A LEASE that waits is ended by another connection, and a client that left before takes no job."""
import json
import socket
import time

import pytest

from conftest import wait_for
from web import request
from wire import Refused, encode, now_ms


def waiters(b, q):
    queue = b.call("QUEUE", q)
    return queue["waiting_workers"] if queue else 0


def test_another_connection_ends_a_lease_that_waits(shared_server, b, q):
    with shared_server.wire(3) as w:
        id = w.call("CLIENT", "ID")
        assert b.call("CLIENT", "UNBLOCK", id) == 0
        w.send("LEASE", q, "WAIT", "60s")
        wait_for(lambda: waiters(b, q) == 1)
        began = time.monotonic()
        assert b.call("CLIENT", "UNBLOCK", id) == 1
        assert w.recv() == [] and time.monotonic() - began < 20
        assert b.call("CLIENT", "UNBLOCK", id) == 0
        assert waiters(b, q) == 0
        job = b.call("SCHEDULE", q, "x")
        assert w.call("LEASE", q)[0]["id"] == job  # the connection goes on
    for word in ("x", "-1", "9" * 30):
        with pytest.raises(Refused, match="INVALID CLIENT UNBLOCK"):
            b.call("CLIENT", "UNBLOCK", word)
    assert b.call("CLIENT", "UNBLOCK", 10 ** 15) == 0


def test_tenants_end_waits_of_their_own_only(make_server):
    server = make_server()
    with server.wire(3) as w:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        made = {name: w.call("TOKENCREATE", name, role, "TENANT", tenant)["token"]
                for name, role, tenant in (("a", "worker", "acme"), ("b", "worker", "acme"), ("z", "worker", "zeta"),
                                           ("p", "producer", "acme"))}
        with server.wire(3) as waits, server.wire(3) as other:
            waits.call("AUTH", made["a"])
            id = waits.call("CLIENT", "ID")
            waits.send("LEASE", "q", "WAIT", "60s")
            wait_for(lambda: (w.call("QUEUE", "q", "TENANT", "acme") or {}).get("waiting_workers") == 1)
            other.call("AUTH", made["z"])
            assert other.call("CLIENT", "UNBLOCK", id) == 0
            other.call("AUTH", made["p"])
            with pytest.raises(Refused, match="NOPERM"):
                other.call("CLIENT", "UNBLOCK", id)
            other.call("AUTH", made["b"])
            assert other.call("CLIENT", "UNBLOCK", id) == 1
            assert waits.recv() == []


def spin_until(ns):
    while time.time_ns() < ns:
        pass


def resp_client(server, q):
    w = server.wire(3)
    w.__enter__()
    w.send("LEASE", q, "WAIT", "60s", "FOR", "1h")
    return w.sock


def http_client(server, q):
    s = socket.create_connection(("127.0.0.1", server.port))
    s.sendall(request("POST", "/v1/leases", json.dumps({"queues": q, "wait": "60s", "for": "1h"}).encode()))
    return s


class Crowd:
    """Clients that keep the loop busy for some milliseconds, so that it hears of an end too late."""
    EACH, REPLY = 400, 33  # requests in a burst, bytes of an id

    def __init__(self, server):
        self.sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        self.burst = encode("SCHEDULE", "crowd", "x", "IN", "1h") * self.EACH

    def ask(self):
        for s in self.sockets:
            s.sendall(self.burst)

    def take(self):
        for s in self.sockets:
            left = self.EACH * self.REPLY
            while left:
                left -= len(s.recv(left))


def half_closed(s):
    """A client that sends no more takes no jobs, though it might read."""
    s.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("connect", [resp_client, http_client])
@pytest.mark.parametrize("leave", [socket.socket.close, half_closed])
def test_a_client_that_closed_before_its_job_gets_due_takes_none(shared_server, b, q, connect, leave):
    """Clients close from 2 ms before the moment to a little after it. Of an end after the moment the server may learn
    too late: then the job is leased, and can still be completed by its token."""
    crowd, early, i = Crowd(shared_server), 0, 0
    while early < 30 and i < 90:  # on a busy machine few of them close in time
        s = connect(shared_server, q)
        wait_for(lambda: waiters(b, q) == 1)
        due = now_ms() + 20
        id = b.call("SCHEDULE", q, "x", "AT", due)
        spin_until(due * 1_000_000 - 3_000_000)
        crowd.ask()
        spin_until(due * 1_000_000 - (1_200_000, 700_000, 300_000, 150_000, -100_000)[i % 5])
        leave(s)
        gone = time.time_ns()
        crowd.take()
        wait_for(lambda: waiters(b, q) == 0)
        wait_for(lambda: b.call("GET", id)["state"] in ("ready", "leased"))
        job = b.call("GET", id)
        early += gone < due * 1_000_000
        assert job["state"] == "ready" or gone >= due * 1_000_000, (i, gone - due * 1_000_000, job)
        token = b.lease(q)[0]["token"] if job["state"] == "ready" else job["token"]
        b.call("COMPLETE", id, token)
        s.close()
        i += 1
    assert early
