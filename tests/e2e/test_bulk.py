# SPDX-License-Identifier: MIT
"""BULK, BULKS, BULKSTOP: one action on all jobs that match, done behind other work."""
import json
import random
import time

import pytest

from conftest import belfry, best, elapsed, wait_for
from wire import Refused, now_ms

SERVER = "server"  # each test has its own

HOUR = 3_600_000


def schedule(b, n, queue="q", *options):
    replies = b.pipeline([("SCHEDULE", queue, f"p{i}", *options) for i in range(n)])
    assert not [r for r in replies if isinstance(r, Refused)], replies[:3]
    return replies


def show(b, id, *options):
    (bulk,) = b.call("BULKS", "ID", id, *options)
    return bulk


def done(b, *args, timeout=30):
    """Asks for a bulk and waits for its end."""
    tenant = args[args.index("TENANT"):][:2] if "TENANT" in args else ()
    id = b.call("BULK", *args)["id"]
    bulk = wait_for(lambda: (x := show(b, id, *tenant))["state"] != "running" and x, timeout)
    assert bulk["state"] == "done", bulk
    return bulk


def counts(b, queue="q", *options):
    v = b.call("QUEUE", queue, *options)
    return {s: v[s] for s in ("scheduled", "ready", "leased", "done", "dead", "cancelled") if v[s]}


def refused(b, *args):
    with pytest.raises(Refused) as info:
        b.call(*args)
    return str(info.value)


def test_cancel_by_queue_and_tag(b):
    schedule(b, 700, "q", "IN", "1h", "TAG", "a")
    schedule(b, 300, "q", "IN", "1h", "TAG", "b")
    other = schedule(b, 5, "other", "IN", "1h", "TAG", "a")
    dry = done(b, "cancel", "QUEUE", "q", "TAG", "a", "DRYRUN", "yes")
    assert (dry["matched"], dry["changed"], dry["dry_run"]) == (700, 0, True)
    assert counts(b) == {"scheduled": 1000}
    bulk = done(b, "cancel", "QUEUE", "q", "TAG", "a")
    assert (bulk["matched"], bulk["changed"], bulk["skipped"]) == (700, 700, 0)
    assert counts(b) == {"scheduled": 300, "cancelled": 700}
    assert b.call("GET", other[0])["state"] == "scheduled"


def test_cancel_tells_running_jobs_once(b):
    schedule(b, 3)
    first, second, _ = b.lease("q", "COUNT", 3)
    b.call("CANCEL", first["id"])  # it is marked already, so it is not counted
    bulk = done(b, "cancel", "QUEUE", "q")
    assert (bulk["matched"], bulk["changed"]) == (2, 2)
    assert b.call("EXTEND", second["id"], second["token"])["cancelled"] is True
    assert done(b, "cancel", "QUEUE", "q")["matched"] == 0
    b.call("FAIL", second["id"], second["token"])
    assert b.call("GET", second["id"])["state"] == "cancelled"


def test_cancel_of_one_state(b):
    schedule(b, 4, "q", "IN", "1h")
    schedule(b, 3)
    assert done(b, "cancel", "QUEUE", "q", "STATE", "ready")["changed"] == 3
    assert counts(b) == {"scheduled": 4, "cancelled": 3}


def test_reschedule_by_due_time(b):
    at = now_ms() + 10 * HOUR
    early = schedule(b, 10, "q", "AT", at)
    late = schedule(b, 10, "q", "AT", at + HOUR)
    waiting = b.call("SCHEDULE", "q", "x", "AT", at, "AFTER", late[0])
    bulk = done(b, "reschedule", "FROM", at, "TO", at + HOUR, "AT", at + 5 * HOUR)
    assert (bulk["matched"], bulk["changed"], bulk["due_ms"]) == (11, 11, at + 5 * HOUR)
    assert {b.call("GET", id)["due_ms"] for id in early} == {at + 5 * HOUR}
    assert {b.call("GET", id)["due_ms"] for id in late} == {at + HOUR}
    assert b.call("GET", waiting)["state"] == "waiting"
    # They are where they should be: nothing to do.
    assert done(b, "reschedule", "FROM", at + 5 * HOUR, "AT", at + 5 * HOUR)["matched"] == 0
    assert done(b, "reschedule", "QUEUE", "q", "STATE", "scheduled")["changed"] == 20
    assert counts(b) == {"ready": 20}


def test_redrive_skips_those_whose_key_is_taken(b):
    b.call("QUEUE", "q", "ATTEMPTS", 1)
    schedule(b, 20)
    b.call("SCHEDULE", "q", "x", "KEY", "k")
    for job in b.lease("q", "COUNT", 100):
        b.call("FAIL", job["id"], job["token"])
    assert counts(b) == {"dead": 21}
    b.call("SCHEDULE", "q", "y", "KEY", "k", "IN", "1h")
    bulk = done(b, "redrive", "QUEUE", "q")
    assert (bulk["matched"], bulk["changed"], bulk["skipped"]) == (21, 20, 1)
    assert counts(b) == {"ready": 20, "scheduled": 1, "dead": 1}


def test_delete_forgets_ended_jobs_only(b):
    ids = schedule(b, 30)
    for job in b.lease("q", "COUNT", 10):
        b.call("COMPLETE", job["id"], job["token"])
    b.call("CANCEL", ids[-1])
    b.call("SCHEDULE", "q", "p", "IN", "1h")
    bulk = done(b, "delete", "QUEUE", "q", "STATE", "done")
    assert bulk["changed"] == 10
    assert counts(b) == {"ready": 19, "scheduled": 1, "cancelled": 1}
    assert done(b, "delete", "QUEUE", "q")["changed"] == 1
    assert b.call("GET", ids[-1]) is None
    assert counts(b) == {"ready": 19, "scheduled": 1}


def test_deleting_gives_a_held_key_free(b):
    b.call("QUEUE", "q", "KEY_HOLD", "1h")
    first = b.call("SCHEDULE", "q", "x", "KEY", "k")
    (job,) = b.lease("q")
    b.call("COMPLETE", job["id"], job["token"])
    assert b.call("SCHEDULE", "q", "x", "KEY", "k") == first
    assert done(b, "delete", "QUEUE", "q")["changed"] == 1
    assert b.call("SCHEDULE", "q", "x", "KEY", "k") != first


def test_tenants_are_kept_apart(b):
    for tenant in ("acme", "default", "zeta"):
        schedule(b, 10, "q", "IN", "1h", "TENANT", tenant)
    bulk = done(b, "cancel", "STATE", "scheduled", "TENANT", "acme")
    assert (bulk["changed"], bulk["tenant"]) == (10, "acme")
    assert counts(b, "q", "TENANT", "acme") == {"cancelled": 10}
    assert counts(b) == counts(b, "q", "TENANT", "zeta") == {"scheduled": 10}
    assert "NOTFOUND" in refused(b, "BULKS", "ID", bulk["id"])
    assert b.call("BULKS") == []
    assert "NOTFOUND" in refused(b, "BULKSTOP", bulk["id"])


def test_recurrences_are_not_jobs_to_be_cancelled(b):
    b.call("RECUR", "nightly", "q", "x", "EVERY", "1h")
    assert done(b, "cancel", "STATE", "scheduled")["matched"] == 0
    assert b.call("RECURRENCE", "nightly")["next_ms"] > now_ms()


FILTERED = [  # a filter of LIST, and how many of the jobs of mixed() it lets through
    (["STATE", "scheduled", "STATE", "dead"], 8), (["KEY_PREFIX", "user-1/"], 3), (["ORDER", "acc-1"], 4),
    (["WORKER", "bob"], 5), (["ERROR", "time"], 2), (["RECURRENCE", "none"], 0), (["ENDED_FROM", "2020-01-01T00:00:00Z"], 5),
    (["ENDED_TO", "2020-01-01T00:00:00Z"], 0), (["WORKER", "bob", "ERROR", "time", "STATE", "dead"], 2),
]


def mixed(b):
    for i in range(3):
        b.call("SCHEDULE", "q", "x", "KEY", f"user-1/{i}", "IN", "1h")
    for i in range(4):
        b.call("SCHEDULE", "other", "x", "ORDER", "acc-1", "AFTER", b.call("SCHEDULE", "hold", "x", "IN", "9h")) if i < 1 else \
            b.call("SCHEDULE", "other", "x", "ORDER", "acc-1")
    for i in range(5):
        b.call("SCHEDULE", "w", "x")
    for i, job in enumerate(b.call("LEASE", "w", "COUNT", 5, "WORKER", "bob")):
        if i < 4:
            b.call("FAIL", job["id"], job["token"], "ERROR", "timeout" if i < 2 else "bad", "FINAL", "yes")
        else:
            b.call("COMPLETE", job["id"], job["token"])


@pytest.mark.parametrize("filters, n", FILTERED, ids=[" ".join(f) for f, _ in FILTERED])
def test_a_dry_run_counts_what_list_and_count_find(b, filters, n):
    mixed(b)
    listed = b.call("LIST", "LIMIT", 1000, *filters)["jobs"]
    counted = b.call("COUNT", *filters)
    assert len(listed) == counted["jobs"] == n and counted["cursor"] is None
    dry = sum(done(b, action, *filters, "DRYRUN", "yes")["matched"] for action in ("cancel", "delete")
              if "STATE" not in filters)
    assert "STATE" in filters or dry == n


def test_a_count_of_many_is_made_in_small_pieces(b):
    for _ in range(15):
        b.pipeline([("SCHEDULE", "q", "x", "IN", "1h")] * 2000)
    found, cursor = 0, ()
    while cursor is not None:
        piece = b.call("COUNT", *cursor)
        assert 0 < piece["looked_at"] < 12_000, "a stripe of the table has about 8,000 jobs"
        found += piece["jobs"]
        cursor = ("CURSOR", piece["cursor"]) if piece["cursor"] else None
    assert found == 30_000


def test_a_count_tells_a_tenant_nothing_of_the_jobs_of_others(server, b):
    b.call("AUTH", b.call("TOKENCREATE", "root", "admin")["token"])
    for tenant in ("acme", "zeta", "zeta"):
        b.call("SCHEDULE", "q", "x", "TENANT", tenant)
    with server.wire(3) as w:
        w.call("AUTH", b.call("TOKENCREATE", "acme", "producer", "TENANT", "acme")["token"])
        assert w.call("COUNT") == {"jobs": 1, "looked_at": None, "cursor": None}
    assert b.call("COUNT", "TENANT", "acme")["looked_at"] >= 3


def test_a_bulk_with_such_filters_changes_just_those(b):
    mixed(b)
    bulk = done(b, "delete", "WORKER", "bob", "ERROR", "time", "STATE", "dead", "STATE", "done")
    assert (bulk["changed"], bulk["worker"], bulk["with_error"], bulk["states"]) == (2, "bob", "time", ["done", "dead"])
    assert counts(b, "w") == {"dead": 2, "done": 1}
    assert done(b, "cancel", "KEY_PREFIX", "user-1/")["changed"] == 3
    assert "cancel is about jobs that are" in refused(b, "BULK", "cancel", "STATE", "ready", "STATE", "dead")


@pytest.mark.parametrize("args, why", [
    (("cancel",), "at least one filter"),
    (("cancel", "TENANT", "acme"), "at least one filter"),
    (("cancel", "STATE", "dead"), "cancel is about jobs that are scheduled, ready, leased, waiting"),
    (("reschedule", "STATE", "leased"), "reschedule is about jobs that are scheduled, ready, waiting"),
    (("redrive", "STATE", "done"), "redrive is about jobs that are dead"),
    (("delete", "STATE", "ready"), "delete is about jobs that are done, dead, cancelled, expired"),
    (("cancel", "QUEUE", "q", "IN", "1s"), "only reschedule takes a time"),
    (("reschedule", "QUEUE", "q", "IN", "1s", "AT", "5"), "only one of them"),
    (("cancel", "FROM", "7", "TO", "7"), "before TO"),
    (("cancel", "QUEUE", "q", "TENANT", "*"), "name of one"),
    (("cancel", "QUEUE", "~bulk"), "queue: expected"),
    (("explode", "QUEUE", "q"), "one of cancel|reschedule|redrive|delete"),
    (("cancel", "QUEUE", "q", "DRYRUN", "perhaps"), "one of no|yes"),
])
def test_bad_input_changes_nothing(b, args, why):
    schedule(b, 3, "q", "IN", "1h")
    message = refused(b, "BULK", *args)
    assert message.startswith("INVALID") and why in message
    assert b.call("BULKS") == [] and counts(b) == {"scheduled": 3}
    assert b.call("AUDIT")["entries"] == []


def test_unknown_ids(b):
    id = b.call("SCHEDULE", "q", "x", "IN", "1h")
    assert "NOTFOUND there is no such bulk" in refused(b, "BULKSTOP", id)
    assert "NOTFOUND" in refused(b, "BULKS", "ID", id)
    assert b.call("GET", id)["state"] == "scheduled"


def test_those_that_ended_are_kept_up_to_a_hundred(b):
    for i in range(120):
        done(b, "cancel", "QUEUE", f"q{i}", "DRYRUN", "yes")
    bulks = b.call("BULKS")
    assert [x["queue"] for x in bulks] == [f"q{i}" for i in range(20, 120)]
    assert "STATE" in refused(b, "BULKSTOP", bulks[0]["id"])


def test_jobs_on_disk(make_server):
    """Most jobs do not fit into memory: the walk goes through the runs, too."""
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        n, payload = 40_000, "x" * 600
        for start in range(0, n, 4000):
            b.pipeline([("SCHEDULE", "q", payload, "IN", f"{1 + i % 5000}h", "TAG", f"t{i % 4}")
                        for i in range(start, start + 4000)], timeout=60)
        wait_for(lambda: b.call("STATS")["cold_jobs"] > n // 4, 30)
        assert done(b, "cancel", "TAG", "t1")["changed"] == n // 4
        assert done(b, "reschedule", "TAG", "t2", "IN", "1d")["changed"] == n // 4
        assert counts(b) == {"scheduled": 3 * n // 4, "cancelled": n // 4}
        dry = done(b, "delete", "STATE", "cancelled", "DRYRUN", "yes")
        assert dry["matched"] >= n // 4
        assert done(b, "delete", "STATE", "cancelled")["changed"] == n // 4
        assert counts(b) == {"scheduled": 3 * n // 4}
        assert [x["action"] for x in b.call("BULKS")] == ["cancel", "reschedule", "delete", "delete"]


def test_stop(b):
    for queue in ("q", "q2", "q3"):  # who asks may be so slow that one is done before
        schedule(b, 60_000, queue, "IN", "1h")
        id = b.call("BULK", "cancel", "QUEUE", queue)["id"]
        b.send("BULKSTOP", id)
        answer = b.recv()
        if answer == "OK":
            break
        assert answer.code == "STATE" and show(b, id)["changed"] == 60_000, answer
    assert answer == "OK"
    bulk = show(b, id)
    assert bulk["state"] == "stopped" and bulk["changed"] < 60_000
    time.sleep(0.1)
    assert counts(b, queue).get("cancelled", 0) == bulk["changed"]


@pytest.mark.quiet
def test_others_go_on_meanwhile(b, server):
    """A bulk over many jobs delays nobody by much: slices are short, and requests come between."""
    b.call("QUEUE", "q", "RETAIN", "0ms")
    asked = 0

    def slowest():
        """Of those who asked while one ran, if there were enough of them to tell."""
        nonlocal asked
        schedule(b, 150_000, "q", "IN", "1h")
        id = b.call("BULK", "cancel", "QUEUE", "q")["id"]
        took = []
        with server.wire(3) as other:
            while show(b, id)["state"] == "running":
                took.append(elapsed(lambda: other.call("SCHEDULE", "fresh", "x")))
        asked += len(took)
        assert counts(b) == {} and show(b, id)["changed"] == 150_000
        return max(took) if len(took) > 2 else float("inf")

    best(1.0, slowest)
    assert counts(b, "fresh") == {"ready": asked}


def test_jobs_that_come_later_are_left_alone(b, server):
    schedule(b, 50_000, "q", "IN", "1h")
    id = b.call("BULK", "cancel", "QUEUE", "q")["id"]
    later = schedule(b, 2_000, "q", "IN", "1h")
    wait_for(lambda: show(b, id)["state"] == "done", 30)
    assert show(b, id)["changed"] == 50_000
    assert counts(b) == {"cancelled": 50_000, "scheduled": len(later)}


@pytest.mark.limit(120)
@pytest.mark.parametrize("action", ["cancel", "reschedule"])
def test_kill_in_the_middle(make_server, action):
    """It goes on after kill -9, and every job is changed and counted once."""
    server = make_server()
    n, at = 60_000, now_ms() + 100 * HOUR
    with server.wire(3) as b:
        b.call("QUEUE", "q", "RETAIN", "0ms")
        for start in range(0, n, 10_000):
            schedule(b, 10_000, "q", "IN", "1h")
        schedule(b, 1000, "other", "IN", "1h")
        words = ("AT", at) if action == "reschedule" else ()
        id = b.call("BULK", action, "QUEUE", "q", *words)["id"]
    for _ in range(3):
        time.sleep(random.uniform(0.0, 0.15))
        server.kill()
        server.start()
    with server.wire(3) as b:
        bulk = wait_for(lambda: (x := show(b, id))["state"] == "done" and x, 60)
        assert (bulk["matched"], bulk["changed"], bulk["skipped"]) == (n, n, 0)
        assert counts(b) == ({} if action == "cancel" else {"scheduled": n})
        assert counts(b, "other") == {"scheduled": 1000}
        if action == "reschedule":
            assert len(b.call("LIST", "QUEUE", "q", "FROM", at, "TO", at + 1, "LIMIT", 10)["jobs"]) > 0
            assert done(b, "reschedule", "QUEUE", "q", "AT", at, "DRYRUN", "yes")["matched"] == 0


def test_recurrences_and_leases_go_on(b, server):
    """Long bulks do not hold up what the engine does besides."""
    schedule(b, 100_000, "q", "IN", "1h")
    b.call("RECUR", "often", "tick", "x", "EVERY", "20ms", "OVERLAP", "allow")
    with server.wire(3) as worker:
        wait_for(lambda: worker.lease("tick", "WAIT", "2s"))  # they begin at a whole second

        def lateness():
            """The median while they run, if there were enough jobs to tell."""
            *bulks, more = b.pipeline([("BULK", "cancel", "QUEUE", "q", "DRYRUN", "yes")] * 21)  # before one can end
            assert isinstance(more, Refused) and more.code == "LIMIT", more
            late = []
            while any(x["state"] == "running" for x in b.call("BULKS")):
                for job in worker.lease("tick", "WAIT", "1s"):
                    late.append(now_ms() - job["due_ms"])
                    worker.call("COMPLETE", job["id"], job["token"])
            assert {show(b, bulk["id"])["matched"] for bulk in bulks} == {100_000}
            return sorted(late)[len(late) // 2] if len(late) > 5 else float("inf")

        best(5000, lateness)


# ---- The command line ----

def test_cli_waits_for_the_end(b, server):
    schedule(b, 500, "q", "IN", "1h")
    port = ("--port", server.port)
    out = belfry("bulk", "cancel", "--queue", "q", "--dry-run", "yes", "--json", *port)
    assert out.returncode == 0, out.stderr
    assert (json.loads(out.stdout)["matched"], json.loads(out.stdout)["state"]) == (500, "done")
    out = belfry("bulk", "cancel", "--queue", "q", *port)
    assert out.returncode == 0 and "done" in out.stdout and "500" in out.stdout, out
    out = belfry("bulk", "delete", "--queue", "q", "--no-wait", "--json", *port)
    assert out.returncode == 0 and json.loads(out.stdout)["state"] == "running"
    wait_for(lambda: counts(b) == {})
    out = belfry("bulks", "--json", *port)
    assert [x["action"] for x in json.loads(out.stdout)] == ["cancel", "cancel", "delete"]
    out = belfry("bulk", "cancel", "--state", "dead", *port)
    assert out.returncode != 0 and "is about jobs that are" in out.stderr


def test_cli_of_another_tenant(b, server):
    schedule(b, 5, "q", "IN", "1h", "TENANT", "acme")
    out = belfry("bulk", "cancel", "--queue", "q", "--tenant", "acme", "--json", "--port", server.port)
    assert out.returncode == 0 and json.loads(out.stdout)["changed"] == 5, out
