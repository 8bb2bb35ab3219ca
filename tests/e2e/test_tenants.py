# SPDX-License-Identifier: MIT
"""Tenants over the wire: nobody sees or touches another's things, all get their turn, each keeps to its
limits."""
import socket

import pytest

from conftest import wait_for
from steps import never_was, refused
from wire import Refused, now_ms

LONGEST = 128


@pytest.fixture
def mine(q):
    """A tenant that no other test uses."""
    return "mine." + q[:110]


@pytest.fixture
def theirs(q):
    return "theirs." + q[:110]


def raw(w, *args):
    """One reply as bytes: of an error, a status, a number or null."""
    w.send(*args)
    data = b""
    while not data.endswith(b"\r\n"):
        data += w.sock.recv(65536)
    return data


def tenants_of(jobs):
    return [job["tenant"] for job in jobs]


def finish(w, jobs):
    for job in jobs:
        assert w.call("COMPLETE", job["id"], job["token"]) == "OK"


class Parked:
    """A worker that waits, on a connection of its own."""

    def __init__(self, server, *args):
        self.wire = server.wire(3)
        self.wire.send("LEASE", *args, "WAIT", "1h")

    def has_answer(self, seconds=0.0):
        self.wire.sock.settimeout(seconds or 0.001)
        try:
            return len(self.wire.sock.recv(1, socket.MSG_PEEK)) == 1
        except (BlockingIOError, TimeoutError):
            return False
        finally:
            self.wire.sock.settimeout(30)

    def answer(self):
        return self.wire.recv()

    def close(self):
        self.wire.close()


@pytest.fixture
def park(shared_server):
    """Parks a worker; the server has its LEASE before this returns."""
    parked = []

    def start(*args, server=shared_server):
        with server.wire(3) as w:
            before = w.call("STATS")["waiting_workers"]
            parked.append(Parked(server, *args))
            wait_for(lambda: w.call("STATS")["waiting_workers"] > before, what="the worker waits")
        return parked[-1]

    yield start
    for p in parked:
        p.close()


# ---- Whose things are seen and touched ----

@pytest.mark.parametrize("state", ["scheduled", "ready", "leased", "done", "dead", "cancelled"])
def test_another_tenants_job_answers_as_one_that_never_was(b, q, mine, theirs, state):
    id = b.call("SCHEDULE", q, "secret", "TENANT", theirs, *(("IN", "1h") if state == "scheduled" else ()))
    token = 1
    if state in ("leased", "done", "dead"):
        (job,) = b.lease(q, "TENANT", theirs)
        token = job["token"]
    if state == "done":
        b.call("COMPLETE", id, token)
    if state == "dead":
        b.call("FAIL", id, token, "FINAL", "yes")
    if state == "cancelled":
        b.call("CANCEL", id, "TENANT", theirs)
    before = b.call("GET", id, "TENANT", theirs)
    assert before["state"] == state
    for tenant in (("TENANT", mine), ("TENANT", "default"), ()):
        for verb in (("GET", "{}"), ("EXPLAIN", "{}"), ("CANCEL", "{}"), ("RESCHEDULE", "{}"),
                     ("RESCHEDULE", "{}", "IN", "1s"), ("REDRIVE", "{}")):
            foreign = raw(b, *(word.format(id) for word in verb), *tenant)
            assert foreign == raw(b, *(word.format(never_was(id)) for word in verb), *tenant), verb
            assert id.encode() not in foreign and theirs.encode() not in foreign
    for tenant in (("TENANT", mine), ("TENANT", "default")):
        for verb in ("COMPLETE", "FAIL", "EXTEND", "RELEASE"):
            foreign = raw(b, verb, id, token, *tenant)
            assert foreign == raw(b, verb, never_was(id), token, *tenant), verb
            assert foreign.startswith(b"-NOTFOUND "), foreign
    assert b.call("GET", id, "TENANT", theirs) == before


def test_a_key_is_found_by_its_own_tenant_only(b, q, mine, theirs):
    id = b.call("SCHEDULE", q, "theirs", "KEY", "k", "IN", "1h", "TENANT", theirs)
    assert b.call("GET", "KEY", "k", "QUEUE", q, "TENANT", mine) is None
    assert b.call("EXPLAIN", "KEY", "k", "QUEUE", q, "TENANT", mine) is None
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q, "TENANT", mine) == "notfound"
    assert b.call("GET", "KEY", "k", "QUEUE", q) is None
    own = b.call("SCHEDULE", q, "mine", "KEY", "k", "IN", "1h", "IFEXISTS", "reject", "TENANT", mine)
    assert own != id
    assert b.call("SCHEDULE", q, "new", "KEY", "k", "IN", "1h", "IFEXISTS", "replace", "TENANT", mine) == own
    text = refused("KEYEXISTS", b.call, "SCHEDULE", q, "x", "KEY", "k", "IFEXISTS", "reject", "TENANT", mine)
    assert own in text and id not in text
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q, "TENANT", mine) == "cancelled"
    job = b.call("GET", "KEY", "k", "QUEUE", q, "TENANT", theirs)
    assert (job["id"], job["payload"], job["state"], job["tenant"]) == (id, "theirs", "scheduled", theirs)


def test_list_shows_ones_own_jobs(b, q, mine, theirs):
    own = {b.call("SCHEDULE", q, "x", "IN", "1h", "TENANT", mine) for _ in range(30)}
    other = {b.call("SCHEDULE", q, "x", "IN", "1h", "TENANT", theirs) for _ in range(30)}
    unnamed = {b.call("SCHEDULE", q, "x", "IN", "1h") for _ in range(3)}

    def walk(*options):
        ids, cursor = [], None
        while True:
            page = b.call("LIST", "LIMIT", 7, *options, *(("CURSOR", cursor) if cursor else ()))
            ids += [job["id"] for job in page["jobs"]]
            cursor = page["cursor"]
            if cursor is None:
                return ids

    assert sorted(walk("TENANT", mine)) == sorted(own)
    assert sorted(walk("TENANT", mine, "QUEUE", q)) == sorted(own)
    assert sorted(walk("TENANT", theirs)) == sorted(other)
    assert sorted(walk("QUEUE", q)) == sorted(unnamed)
    assert sorted(walk("QUEUE", q, "TENANT", "default")) == sorted(unnamed)
    assert walk("TENANT", mine, "QUEUE", q + ".x") == []
    assert set(walk("TENANT", "*")) >= own | other | unnamed
    # A cursor is a place, not a right: whoever brings it sees no more than before.
    cursor = b.call("LIST", "LIMIT", 7, "TENANT", theirs)["cursor"]
    assert {j["id"] for j in b.call("LIST", "CURSOR", cursor, "TENANT", mine)["jobs"]} <= own


def test_queues_of_the_same_name_have_nothing_in_common(b, q, mine, theirs):
    for tenant in (mine, theirs):
        b.call("SCHEDULE", q, "x", "TENANT", tenant)
    b.call("QUEUE", q, "ATTEMPTS", 9, "LEASE", "7s", "TENANT", theirs)
    b.call("PAUSE", q, "TENANT", theirs)
    own = b.call("QUEUE", q, "TENANT", mine)
    assert (own["tenant"], own["queue"], own["ready"]) == (mine, q, 1)
    assert (own["attempts"], own["lease_ms"], own["paused"], own["held_by"]) == (5, 60000, False, None)
    their = b.call("QUEUE", q, "TENANT", theirs)
    assert (their["attempts"], their["lease_ms"], their["paused"]) == (9, 7000, True)
    assert their["held_by"] == "the queue is paused"
    assert b.call("QUEUE", q) is None
    assert [(x["tenant"], x["queue"]) for x in b.call("QUEUES", "TENANT", mine)] == [(mine, q)]
    assert q not in [x["queue"] for x in b.call("QUEUES")]
    pairs = [(x["tenant"], x["queue"]) for x in b.call("QUEUES", "TENANT", "*")]
    assert (mine, q) in pairs and (theirs, q) in pairs
    assert b.call("RESUME", q, "TENANT", mine) == "OK"  # of mine: theirs stays as it is
    assert b.call("QUEUE", q, "TENANT", theirs)["paused"] is True
    assert len(b.lease(q, "TENANT", mine)) == 1


def test_redrive_of_a_queue_is_ones_own(b, q, mine, theirs):
    ids = {}
    for tenant in (mine, theirs):
        ids[tenant] = b.call("SCHEDULE", q, "x", "TENANT", tenant)
        (job,) = b.lease(q, "TENANT", tenant)
        b.call("FAIL", job["id"], job["token"], "FINAL", "yes")
    assert b.call("REDRIVE", "QUEUE", q) == 0
    assert b.call("REDRIVE", "QUEUE", q, "TENANT", mine) == 1
    assert b.call("GET", ids[mine], "TENANT", mine)["state"] == "ready"
    assert b.call("GET", ids[theirs], "TENANT", theirs)["state"] == "dead"


def test_a_worker_gets_its_own_tenants_jobs(b, q, mine, theirs, park):
    worker, unnamed = park(q, "TENANT", mine), park(q)
    b.call("SCHEDULE", q, "theirs", "TENANT", theirs)
    assert b.lease(q, "TENANT", mine) == [] and b.lease(q) == []
    b.call("SCHEDULE", q, "mine", "TENANT", mine)
    (job,) = worker.answer()
    assert (job["tenant"], job["queue"], job["payload"]) == (mine, q, "mine")
    b.call("SCHEDULE", q, "default's")
    (job,) = unnamed.answer()
    assert (job["tenant"], job["payload"]) == ("default", "default's")
    (job,) = b.lease(q, "TENANT", theirs)
    assert job["payload"] == "theirs"


def test_a_token_says_enough(b, q, mine):
    for verb, tenant in [(v, t) for v in ("EXTEND", "RELEASE", "FAIL", "COMPLETE")
                         for t in ((), ("TENANT", mine), ("TENANT", "*"))]:
        b.call("SCHEDULE", q, "x", "TENANT", mine)
        (job,) = b.lease(q, "TENANT", mine)
        b.call(verb, job["id"], job["token"], *tenant)
        if verb != "COMPLETE":
            b.call("CANCEL", job["id"], "TENANT", mine)


def test_default_is_the_tenant_that_is_not_named(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k")
    assert b.call("GET", id, "TENANT", "default") == b.call("GET", id)
    assert b.call("SCHEDULE", q, "x", "KEY", "k", "TENANT", "default") == id
    assert b.call("QUEUE", q, "TENANT", "default") == b.call("QUEUE", q)
    (job,) = b.lease(q, "TENANT", "default")
    assert job["id"] == id and job["tenant"] == "default"


# ---- TENANT * ----

@pytest.mark.parametrize("args", [
    ("SCHEDULE", "q", "x"), ("SCHEDULE", "q", "x", "KEY", "k"),
    ("GET", "KEY", "k", "QUEUE", "q"), ("EXPLAIN", "KEY", "k", "QUEUE", "q"), ("CANCEL", "KEY", "k", "QUEUE", "q"),
    ("LIST", "QUEUE", "q"), ("QUEUE", "q"), ("QUEUE", "q", "ATTEMPTS", 3), ("PAUSE", "q"), ("RESUME", "q"),
    ("REDRIVE", "QUEUE", "q"),
], ids=lambda args: " ".join(map(str, args)))
def test_where_one_tenant_is_meant_all_is_refused(b, args):
    b.call("SCHEDULE", "q", "x", "KEY", "k", "IN", "1h", "TENANT", "somebody")
    before = b.call("GET", "KEY", "k", "QUEUE", "q", "TENANT", "somebody"), len(b.call("TENANTS"))
    assert raw(b, *args, "TENANT", "*") == b"-INVALID tenant: expected the name of one, not *\r\n"
    assert (b.call("GET", "KEY", "k", "QUEUE", "q", "TENANT", "somebody"), len(b.call("TENANTS"))) == before


def test_an_id_may_be_anybodys_if_all_tenants_are_asked(b, q, theirs):
    id = b.call("SCHEDULE", q, "x", "IN", "1h", "TENANT", theirs)
    assert b.call("GET", id, "TENANT", "*")["tenant"] == theirs
    assert b.call("RESCHEDULE", id, "TENANT", "*") == "OK"
    (job,) = b.lease(q, "TENANT", "*")
    b.call("FAIL", id, job["token"], "FINAL", "yes")
    assert b.call("REDRIVE", id, "TENANT", "*") == 1
    assert b.call("CANCEL", id, "TENANT", "*") == "cancelled"
    assert b.call("GET", never_was(id), "TENANT", "*") is None


# ---- Turns ----

@pytest.mark.parametrize("count", [1, 7])
def test_tenants_take_turns(b, q, mine, theirs, count):
    for i in range(60):
        b.call("SCHEDULE", q, i, "TENANT", mine)
    for i in range(10):
        b.call("SCHEDULE", q, i, "TENANT", theirs)
        b.call("SCHEDULE", q, i)
    jobs = []
    while len(jobs) < 28:
        jobs += b.lease(q, "TENANT", "*", "COUNT", count)
    assert tenants_of(jobs)[:27] == [mine, theirs, "default"] * 9
    for tenant in (mine, theirs, "default"):  # each tenant's in their order
        of = [int(job["payload"]) for job in jobs if job["tenant"] == tenant]
        assert of == list(range(len(of)))


def test_a_turn_is_as_long_as_the_weight(b, q, mine, theirs):
    assert b.call("TENANT", mine, "WEIGHT", 3)["weight"] == 3
    for tenant in (mine, theirs):
        for i in range(40):
            b.call("SCHEDULE", q, i, "TENANT", tenant)
    assert tenants_of(b.lease(q, "TENANT", "*", "COUNT", 40)) == [mine, mine, mine, theirs] * 10
    b.call("TENANT", mine, "WEIGHT", 1)
    later = tenants_of(b.lease(q, "TENANT", "*", "COUNT", 20))
    assert later.count(mine) in (10, 11, 12)  # the turn that had begun may be the old one


def test_waiting_workers_serve_all_tenants(b, q, mine, theirs, park):
    workers = [park(q, "TENANT", "*") for _ in range(4)]
    b.pipeline([("SCHEDULE", q, "x", "TENANT", t) for t in (mine, mine, mine, theirs)])
    got = [tenants_of(worker.answer()) for worker in workers]
    assert sorted(got) == sorted([[mine]] * 3 + [[theirs]])


def test_several_queues_of_all_tenants(b, q, mine, theirs):
    b.call("SCHEDULE", q + ".a", "1", "TENANT", mine)
    b.call("SCHEDULE", q + ".b", "2", "TENANT", theirs)
    jobs = b.lease(f"{q}.a,{q}.b", "TENANT", "*", "COUNT", 5)
    assert sorted((j["tenant"], j["queue"]) for j in jobs) == sorted([(mine, q + ".a"), (theirs, q + ".b")])


# ---- Limits ----

def test_max_running_of_a_queue(b, q, mine, park):
    settings = b.call("QUEUE", q, "MAX_RUNNING", 2, "TENANT", mine)
    assert settings["max_running"] == 2 and settings["held_by"] is None
    for i in range(5):
        b.call("SCHEDULE", q, i, "TENANT", mine)
    jobs = b.lease(q, "TENANT", mine, "COUNT", 10)
    assert len(jobs) == 2 and b.lease(q, "TENANT", "*") == []
    assert b.call("QUEUE", q, "TENANT", mine)["held_by"] == "the queue has as many running as it may"
    worker = park(q, "TENANT", "*", "COUNT", 10)
    assert not worker.has_answer()
    finish(b, jobs[:1])
    jobs[0:1] = worker.answer()
    assert len(jobs) == 2
    b.call("QUEUE", q, "MAX_RUNNING", 0, "TENANT", mine)
    assert len(b.lease(q, "TENANT", mine, "COUNT", 10)) == 2


def test_max_running_of_a_tenant(b, q, mine, theirs, park):
    b.call("TENANT", mine, "MAX_RUNNING", 2)
    queues = [f"{q}.{i}" for i in range(3)]
    for queue in queues:
        for _ in range(2):
            b.call("SCHEDULE", queue, "x", "TENANT", mine)
    b.call("SCHEDULE", queues[2], "x", "TENANT", theirs)
    jobs = b.lease(",".join(queues), "TENANT", mine, "COUNT", 10)
    assert len(jobs) == 2 and b.call("TENANT", mine)["running"] == 2
    for queue in queues[:2]:
        assert b.lease(queue, "TENANT", "*") == []
        assert b.call("QUEUE", queue, "TENANT", mine)["held_by"] == "the tenant has as many running as it may"
    assert tenants_of(b.lease(queues[2], "TENANT", "*", "COUNT", 9)) == [theirs]
    worker = park(queues[2], "TENANT", "*")  # wherever there is room, whoever waits gets it
    finish(b, jobs[:1])
    assert tenants_of(worker.answer()) == [mine]
    assert b.call("TENANT", mine)["running"] == 2


def test_max_running_of_the_server(make_server, park):
    server = make_server(max_running=2)
    with server.wire(3) as w:
        for tenant in ("a", "b", "c"):
            w.call("SCHEDULE", "q", "x", "TENANT", tenant)
            w.call("SCHEDULE", "other", "x", "TENANT", tenant)
        jobs = w.lease("q", "TENANT", "*", "COUNT", 10)
        assert len(jobs) == 2 and w.lease("other", "TENANT", "c") == []
        assert w.call("QUEUE", "other", "TENANT", "c")["held_by"] == "the server has as many running as it may"
        worker = park("other", "TENANT", "c", server=server)
        finish(w, jobs[:1])
        assert tenants_of(worker.answer()) == ["c"]
        assert w.call("STATS")["leased"] == 2


def test_a_rate_gives_what_a_period_allows_and_no_more(b, q, mine, park):
    assert b.call("QUEUE", q, "RATE", "5/1h", "TENANT", mine)["rate"] == "5/1h"
    for _ in range(20):
        b.call("SCHEDULE", q, "x", "TENANT", mine)
    assert len(b.lease(q, "TENANT", "*", "COUNT", 3)) == 3
    assert len(b.lease(q, "TENANT", mine, "COUNT", 10)) == 2
    assert b.lease(q, "TENANT", mine) == [] and b.lease(q, "TENANT", "*") == []
    assert b.call("QUEUE", q, "TENANT", mine)["held_by"] == "the queue has given as many as its rate allows"
    worker = park(q, "TENANT", "*", "COUNT", 3)
    assert not worker.has_answer()
    assert b.call("QUEUE", q, "RATE", 0, "TENANT", mine)["rate"] is None
    assert len(worker.answer()) == 3
    assert len(b.lease(q, "TENANT", mine, "COUNT", 50)) == 12


def test_a_rate_of_a_tenant_is_over_all_its_queues(b, q, mine, theirs):
    assert b.call("TENANT", mine, "RATE", "3/1d")["rate"] == "3/1d"
    for queue in (q + ".a", q + ".b"):
        for tenant in (mine, theirs):
            for _ in range(5):
                b.call("SCHEDULE", queue, "x", "TENANT", tenant)
    jobs = b.lease(f"{q}.a,{q}.b", "TENANT", mine, "COUNT", 10)
    assert len(jobs) == 3
    held = b.call("QUEUE", q + ".a", "TENANT", mine)["held_by"]
    assert held == "the tenant has given as many as its rate allows"
    assert set(tenants_of(b.lease(f"{q}.a,{q}.b", "TENANT", "*", "COUNT", 50))) == {theirs}


def test_what_a_rate_holds_back_comes_by_itself(b, q, mine, park):
    b.call("QUEUE", q, "RATE", "1/200ms", "TENANT", mine)
    for i in range(4):
        b.call("SCHEDULE", q, i, "TENANT", mine)
    starts = []
    for i in range(4):
        (job,) = b.call("LEASE", q, "TENANT", "*", "WAIT", "20s")
        assert job["payload"] == str(i)
        starts.append(job["until_ms"] - job["lease_ms"])
    # Each is given out at a whole millisecond, by two clocks.
    assert all(later - first >= 200 - 2 for first, later in zip(starts, starts[1:])), starts


def test_max_pending_refuses_more_jobs(b, q, mine, theirs):
    b.call("TENANT", mine, "MAX_PENDING", 2)
    first = b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h", "TENANT", mine)
    b.call("SCHEDULE", q + ".other", "x", "TENANT", mine)
    reply = raw(b, "SCHEDULE", q, "x", "TENANT", mine).decode()
    assert reply == f"-LIMIT the tenant has as much as it may: max_pending of {mine} is 2\r\n"
    assert b.call("TENANT", mine)["pending"] == 2
    assert b.call("QUEUE", q, "TENANT", mine)["scheduled"] == 1
    assert b.call("SCHEDULE", q, "y", "KEY", "k", "TENANT", mine) == first  # adds none
    b.call("SCHEDULE", q, "x", "TENANT", theirs)
    b.call("SCHEDULE", q, "x")
    (job,) = b.lease(q + ".other", "TENANT", mine)
    refused("LIMIT", b.call, "SCHEDULE", q, "x", "TENANT", mine)  # it has not ended
    finish(b, [job])
    b.call("SCHEDULE", q, "x", "TENANT", mine)
    refused("LIMIT", b.call, "SCHEDULE", q, "x", "TENANT", mine)
    b.call("TENANT", mine, "MAX_PENDING", 0)
    b.call("SCHEDULE", q, "x", "TENANT", mine)


def test_maintenance_holds_a_tenants_jobs_until_it_ends(b, q, mine, theirs, park):
    b.call("SCHEDULE", q, "x", "TENANT", mine)
    (running,) = b.lease(q, "TENANT", mine)
    assert b.call("TENANT", mine, "MAINTENANCE", "yes")["maintenance"] is True
    finish(b, [running])  # what runs may end
    id = b.call("SCHEDULE", q, "x", "TENANT", mine)
    assert b.lease(q, "TENANT", mine) == []
    assert b.call("QUEUE", q, "TENANT", mine)["held_by"] == "the tenant is in maintenance"
    own, anybodys = park(q, "TENANT", mine), park(q, "TENANT", "*")
    b.call("SCHEDULE", q, "x", "TENANT", theirs)
    assert tenants_of(anybodys.answer()) == [theirs]
    assert not own.has_answer()
    b.call("TENANT", mine, "MAINTENANCE", "no")
    (job,) = own.answer()
    assert job["id"] == id and job["attempt"] == 1


# ---- TENANT and TENANTS ----

def test_a_tenant_is_shown_with_counts_and_settings(b, q, mine):
    assert b.call("TENANT", mine) is None
    b.call("SCHEDULE", q, "x", "TENANT", mine)
    b.call("SCHEDULE", q + ".later", "x", "IN", "1h", "TENANT", mine)
    b.lease(q, "TENANT", mine)
    shown = b.call("TENANT", mine)
    leased = shown["leased_bytes"]
    assert 0 < leased < 2000
    assert shown == {
        "tenant": mine, "pending": 2, "running": 1, "leased_bytes": leased, "queue_bytes": shown["queue_bytes"],
        "kept_bytes": shown["kept_bytes"], "queues": 2, "used_queues": 2, "recurrences": 0,
        "weight": 1, "paused": False, "maintenance": False, "maintenance_until_ms": None, "burst": 0,
        "max_pending": 0, "max_running": 0, "rate": None, "quiet": None, "tz": None, "spread_ms": 0, "max_queues": 10000,
        "max_recurrences": 10000, "max_connections": 0, "requests": 0, "max_bytes": 0, "max_streams": 0, "max_leased": 0,
        "quiet_until_ms": None}
    b.call("TENANT", mine, "WEIGHT", 1000, "RATE", "1000000/1d")
    after = b.call("TENANT", mine, "MAX_RUNNING", 7, "MAX_PENDING", 8, "MAINTENANCE", "yes")
    assert after == {
        "tenant": mine, "pending": 2, "running": 1, "leased_bytes": leased, "queue_bytes": shown["queue_bytes"],
        "kept_bytes": shown["kept_bytes"], "queues": 2, "used_queues": 2, "recurrences": 0,
        "weight": 1000, "paused": False, "maintenance": True, "maintenance_until_ms": None, "burst": 0,
        "max_pending": 8, "max_running": 7, "rate": "1000000/1d", "quiet": None, "tz": None, "spread_ms": 0,
        "max_queues": 10000, "max_recurrences": 10000, "max_connections": 0, "requests": 0, "max_bytes": 0, "max_streams": 0, "max_leased": 0,
        "quiet_until_ms": None}
    assert after in b.call("TENANTS")


def test_a_tenant_has_as_many_recurrences_as_it_may(b, mine):
    b.call("TENANT", mine, "MAX_RECURRENCES", 2)
    for name in "one", "two":
        b.call("RECUR", name, "q", "x", "EVERY", "1h", "TENANT", mine)
    with pytest.raises(Refused, match=f"LIMIT.*max_recurrences of {mine} is 2"):
        b.call("RECUR", "three", "q", "x", "EVERY", "1h", "TENANT", mine)
    b.call("RECUR", "two", "q", "x", "EVERY", "2h", "TENANT", mine)
    assert b.call("TENANT", mine)["recurrences"] == 2
    b.call("RECURDELETE", "one", "TENANT", mine)
    b.call("RECUR", "three", "q", "x", "EVERY", "1h", "TENANT", mine)
    b.call("TENANT", mine, "MAX_RECURRENCES", 0)
    b.call("RECUR", "four", "q", "x", "EVERY", "1h", "TENANT", mine)
    assert b.call("TENANT", mine)["recurrences"] == 3


def test_tenants_come_by_name_and_in_pages(b, q):
    names = sorted(f"page.{i:02}" for i in range(25))
    for name in reversed(names):
        b.call("TENANT", name, "WEIGHT", 2)
    first = b.call("TENANTS", "AFTER", "page.", "LIMIT", 10)
    assert [t["tenant"] for t in first] == names[:10]
    rest = b.call("TENANTS", "AFTER", first[-1]["tenant"], "LIMIT", 15)
    assert [t["tenant"] for t in rest] == names[10:]
    everybody = [t["tenant"] for t in b.call("TENANTS")]
    assert everybody == sorted(everybody) and b.call("STATS")["tenants"] == len(everybody)


# ---- Bad input ----

@pytest.mark.parametrize("option, value, expected", [
    ("WEIGHT", "0", "weight: expected 1 to 1000"), ("WEIGHT", "1001", "weight: expected 1 to 1000"),
    ("WEIGHT", "-1", "weight: expected 1 to 1000"), ("WEIGHT", "", "weight: expected 1 to 1000"),
    ("WEIGHT", "1.5", "weight: expected 1 to 1000"), ("WEIGHT", "two", "weight: expected 1 to 1000"),
    ("MAINTENANCE", "maybe", "maintenance: expected one of no|yes"),
    ("MAINTENANCE", "", "maintenance: expected one of no|yes"),
    ("MAX_PENDING", "-1", "max_pending: expected 0 to 9223372036854775807"),
    ("MAX_PENDING", "9223372036854775808", "max_pending: expected 0 to 9223372036854775807"),
    ("MAX_RUNNING", "-1", "max_running: expected 0 to 1000000000"),
    ("MAX_RUNNING", "1000000001", "max_running: expected 0 to 1000000000"),
    ("RATE", "100", "rate: expected a number up to 1000000 and a period, such as 100/1m, or 0"),
    ("RATE", "", "rate: expected a number"), ("RATE", "/", "rate: expected a number"),
    ("RATE", "/1m", "rate: expected a number"), ("RATE", "x/1m", "rate: expected a number"),
    ("RATE", "-1/1m", "rate: expected a number"), ("RATE", "1.5/1m", "rate: expected a number"),
    ("RATE", "1000001/1m", "rate: expected a number up to 1000000"),
    ("RATE", "99999999999999999999/1m", "rate: expected a number"),
    ("RATE", "1/", "rate: expected a period of 1ms to 1d"), ("RATE", "1/m", "rate: expected a period"),
    ("RATE", "1/0s", "rate: expected a period"),
    ("RATE", "1/25h", "rate: expected a period of 1ms to 1d"), ("RATE", "1/2d", "rate: expected a period"),
    ("RATE", "1/1m/1m", "rate: expected a period"), ("RATE", "1/ 1m", "rate: expected a period"),
    ("RATE", "1 /1m", "rate: expected a number"),
])
def test_a_bad_setting_is_told_precisely_and_changes_nothing(b, q, mine, option, value, expected):
    before = b.call("TENANT", mine, "WEIGHT", 5, "RATE", "10/1m", "MAX_RUNNING", 3, "MAX_PENDING", 100)
    text = refused("INVALID", b.call, "TENANT", mine, "MAINTENANCE", "yes", option, value) \
        if option != "MAINTENANCE" else refused("INVALID", b.call, "TENANT", mine, option, value)
    assert text.startswith("INVALID " + expected)
    assert b.call("TENANT", mine) == before
    if option in ("RATE", "MAX_RUNNING"):
        queue = b.call("QUEUE", q, "RATE", "10/1m", "MAX_RUNNING", 3, "TENANT", mine)
        assert refused("INVALID", b.call, "QUEUE", q, "ATTEMPTS", 1, option, value,
                       "TENANT", mine).startswith("INVALID " + expected)
        assert b.call("QUEUE", q, "TENANT", mine) == queue


@pytest.mark.parametrize("rate, shown", [("0", None), ("0/1m", None), ("1/1ms", "1/1ms"), ("1/250", "1/250ms"),
                                         ("5/60s", "5/1m"),
                                         ("90/1h30m", "90/1h30m"), ("1000000/24h", "1000000/1d")])
def test_forms_of_a_rate(b, mine, rate, shown):
    assert b.call("TENANT", mine, "RATE", rate)["rate"] == shown


@pytest.mark.parametrize("name", ["", "two words", "a@b", "a,b", "x" * 129, "ü", "\xff\x00", "**"])
def test_a_bad_name_is_told_precisely(b, name):
    expected = "expected 1-128 characters of A-Z a-z 0-9 . _ - : /"
    assert refused("INVALID", b.call, "TENANT", name, "WEIGHT", 2) == f"INVALID name: {expected}"
    for args in (("SCHEDULE", "q", "x"), ("LEASE", "q"), ("LIST",), ("QUEUES",), ("COMPLETE", "0" * 26, 1)):
        assert refused("INVALID", b.call, *args, "TENANT", name) == f"INVALID tenant: {expected}, or *"
    assert refused("INVALID", b.call, "SCHEDULE", "a@b", "x", "TENANT", "c") == f"INVALID queue: {expected}"


def test_the_name_of_all_is_nobodys(b):
    assert refused("INVALID", b.call, "TENANT", "*").startswith("INVALID name: expected 1-128 characters")
    assert refused("INVALID", b.call, "TENANT", "*", "WEIGHT", 2).startswith("INVALID name: ")
    assert refused("INVALID", b.call, "TENANTS", "AFTER", "*").startswith("INVALID after: ")


# ---- Over a crash ----

def tenants(w):
    """Without the memory of their queues: figures of what happened since a start take some."""
    return [{name: value for name, value in t.items() if name != "queue_bytes"} for t in w.call("TENANTS")]


def test_everything_of_a_tenant_survives_kill_9(make_server):
    server = make_server()
    with server.wire(3) as w:
        settings = w.call("TENANT", "acme", "WEIGHT", 3, "MAX_PENDING", 50, "MAX_RUNNING", 20, "RATE", "90/1h")
        w.call("TENANT", "held", "MAINTENANCE", "yes")
        w.call("QUEUE", "q", "MAX_RUNNING", 12, "RATE", "70/1h", "TENANT", "acme")
        ids = {t: w.call("SCHEDULE", "q", t, "KEY", "k", "IN", "1h", "TENANT", t) for t in ("acme", "zeta", "held")}
        w.pipeline([("SCHEDULE", "q", i, "TENANT", t) for i in range(20) for t in ("acme", "zeta", "held")])
        (leased,) = w.lease("q", "TENANT", "zeta")
        w.call("EXTEND", leased["id"], leased["token"])  # then the lease is on disk, too
        before = tenants(w)
        queue = w.call("QUEUE", "q", "TENANT", "acme")
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert tenants(w) == before
        acme = w.call("TENANT", "acme")
        assert {k: acme[k] for k in ("weight", "max_pending", "max_running", "rate")} == {
            k: settings[k] for k in ("weight", "max_pending", "max_running", "rate")}
        after = w.call("QUEUE", "q", "TENANT", "acme")
        assert all(after[k] == queue[k] for k in ("max_running", "rate", "scheduled", "ready", "tenant", "queue"))
        for tenant, id in ids.items():
            assert w.call("GET", "KEY", "k", "QUEUE", "q", "TENANT", tenant)["id"] == id
            assert w.call("GET", id) is None
        assert w.lease("q", "TENANT", "held") == []
        assert w.call("COMPLETE", leased["id"], leased["token"]) == "OK"
        assert sorted(tenants_of(w.lease("q", "TENANT", "*", "COUNT", 8))) == ["acme"] * 6 + ["zeta"] * 2
        w.call("TENANT", "held", "MAINTENANCE", "no")
        assert len(w.lease("q", "TENANT", "held", "COUNT", 50)) == 20


@pytest.mark.limit(180)
def test_the_longest_names_go_to_disk_and_come_back(make_server):
    server = make_server(memory="16MiB")
    mine, theirs, queue = "m" * LONGEST, "t" * LONGEST, "q" * LONGEST
    jobs = 30_000
    tomorrow = now_ms() + 86_400_000
    due = {mine: lambda i: ("AT", tomorrow + i), theirs: lambda i: ()}  # mine are due later, theirs at once
    with server.wire(3) as w:
        ids = {mine: [], theirs: []}
        for tenant in ids:
            for first in range(0, jobs, 5000):
                ids[tenant] += w.pipeline([("SCHEDULE", queue, "x" * 500, *due[tenant](i), "TENANT", tenant)
                                           for i in range(first, first + 5000)], timeout=60)
        wait_for(lambda: w.call("STATS")["cold_jobs"] > jobs, timeout=60, what="most jobs are on disk")
    server.kill()
    server.start()
    with server.wire(3) as w:
        for tenant, state in ((mine, "scheduled"), (theirs, "ready")):
            assert w.call("TENANT", tenant)["pending"] == jobs
            assert w.call("QUEUE", queue, "TENANT", tenant)[state] == jobs
            for options in ((), ("QUEUE", queue)):
                seen, cursor = set(), None
                while True:
                    page = w.call("LIST", "LIMIT", 200, "TENANT", tenant, *options,
                                  *(("CURSOR", cursor) if cursor else ()))
                    assert all(job["tenant"] == tenant for job in page["jobs"])
                    seen |= {job["id"] for job in page["jobs"]}
                    cursor = page["cursor"]
                    if cursor is None:
                        break
                assert seen == set(ids[tenant]), options
        for tenant, other in ((mine, theirs), (theirs, mine)):  # on disk another's job is as well hidden
            for id in ids[tenant][::3000]:
                for verb in ("GET", "EXPLAIN", "CANCEL", "RESCHEDULE", "REDRIVE"):
                    assert raw(w, verb, id, "TENANT", other) == raw(w, verb, never_was(id), "TENANT", other)
                assert w.call("GET", id, "TENANT", tenant)["tenant"] == tenant
        assert w.call("CANCEL", ids[mine][7], "TENANT", mine) == "cancelled"
        assert w.call("CANCEL", ids[theirs][-1], "TENANT", theirs) == "cancelled"
        assert w.call("RESCHEDULE", ids[mine][8], "TENANT", mine) == "OK"
        job, = w.lease(queue, "TENANT", mine, "WAIT", "10s")
        assert job["id"] == ids[mine][8] and job["tenant"] == mine
        got = w.lease(queue, "TENANT", "*", "COUNT", 100)
        assert [job["id"] for job in got] == ids[theirs][:len(got)] and got
        assert w.call("TENANT", mine)["pending"] == jobs - 1
        assert w.call("TENANT", theirs)["running"] == len(got)
