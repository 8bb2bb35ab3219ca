# SPDX-License-Identifier: MIT
"""The promises of docs/semantics.md, one test or more for each point, by its number. They are short:
each shows that the promise holds over the wire; the other tests try to break it. Here are intake, control, insight and
security; test_semantics_run.py has dispatch and execution, test_semantics_recur.py recurrences."""
import pathlib
import re

import pytest

from conftest import ROOT, wait_for
from sse import Stream
from steps import kill_job, lease1, parked, refused, state
from wire import Refused, now_ms

HOUR = 3_600_000
YEAR_9999 = 253402300799999


@pytest.fixture(scope="module")
def deep(tmp_path_factory, request):
    """A server with more jobs than memory has room for, and their ids."""
    from conftest import Server
    server = Server(tmp_path_factory.mktemp("deep"), memory="16MiB").start()
    request.addfinalizer(server.kill)
    start = now_ms() + 24 * HOUR
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "q", "x" * 700, "AT", start + i, "KEY", i) for i in range(30_000)], timeout=60)
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 15_000, timeout=60, what="jobs have gone to disk")
    return server, ids


def test_the_document_names_these_tests_and_no_others():
    text = pathlib.Path(ROOT / "docs" / "semantics.md").read_text()
    named = set(re.findall(r"`(test_point_\w+)`", text))
    there = {name for path in pathlib.Path(__file__).parent.glob("test_semantics*.py")
             for name in re.findall(r"^def (test_point_\w+)", path.read_text(), re.M)}
    assert named == there
    points = re.split(r"^\*\*(\d+)\.\*\*", text, flags=re.M)[1:]
    assert points
    for number, words in zip(points[::2], points[1::2]):
        found = re.findall(r"`test_point_(\d+)_", words)
        assert found and {int(n) for n in found} == {int(number)}, words


# ---- Intake ----

def test_point_01_what_was_acknowledged_survives_a_kill(make_server):
    server = make_server()
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "q", i, "IN", "1h") for i in range(500)])
        server.kill()
    server.start()
    with server.wire(3) as w:
        shown = w.pipeline([("GET", id) for id in ids])
    assert [job["payload"] for job in shown] == [str(i) for i in range(500)]


def test_point_02_a_past_moment_runs_at_once_unless_the_queue_refuses_it(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", "2001-01-01T00:00:00Z")
    assert lease1(b, q)["id"] == id
    b.call("QUEUE", q, "PAST_GRACE", "1h")
    b.call("SCHEDULE", q, "x", "AT", now_ms() - HOUR // 2)
    refused("PAST", b.call, "SCHEDULE", q, "x", "AT", now_ms() - 2 * HOUR)


def test_point_03_moments_reach_to_the_year_9999_and_are_never_clamped(b, q):
    id = b.call("SCHEDULE", q, "x", "AT", "9999-12-31T23:59:59.999Z")
    assert b.call("GET", id)["due_ms"] == YEAR_9999
    for late in (("AT", YEAR_9999 + 1), ("AT", "10000-01-01T00:00:00Z"), ("IN", f"{YEAR_9999}ms")):
        refused("INVALID", b.call, "SCHEDULE", q, "x", *late)
    assert len(b.call("LIST", "QUEUE", q)["jobs"]) == 1


def test_point_04_a_key_is_kept_replaced_or_rejected(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k", "IN", "1h")
    before = b.call("GET", id)
    assert b.call("SCHEDULE", q, "second", "KEY", "k") == id
    assert id in refused("KEYEXISTS", b.call, "SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "reject")
    assert b.call("GET", id) == before
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == id
    job = lease1(b, q)
    assert (job["id"], job["payload"]) == (id, "second")


def test_point_04_a_key_is_free_when_its_job_has_ended_unless_it_is_held(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k")
    b.call("COMPLETE", id, lease1(b, q)["token"])
    second = b.call("SCHEDULE", q, "x", "KEY", "k")
    assert second != id
    b.call("QUEUE", q, "KEY_HOLD", "1h")
    b.call("COMPLETE", second, lease1(b, q)["token"])
    assert b.call("SCHEDULE", q, "x", "KEY", "k", "IFEXISTS", "replace") == second
    assert state(b, second) == "done" and b.lease(q) == []
    mine = b.call("SCHEDULE", q + "-own", "x", "KEY", "k", "KEY_HOLD", "1h", "ATTEMPTS", "1")
    b.call("FAIL", mine, lease1(b, q + "-own")["token"])
    assert b.call("SCHEDULE", q + "-own", "x", "KEY", "k") == mine  # dead, and its key is held by its own option
    assert b.call("REDRIVE", mine) == 1
    assert b.call("CANCEL", mine) == "cancelled" and b.call("SCHEDULE", q + "-own", "x", "KEY", "k") == mine


def test_point_04_replace_waits_for_the_attempt_that_runs(b, q):
    id = b.call("SCHEDULE", q, "first", "KEY", "k")
    job = lease1(b, q)
    assert b.call("SCHEDULE", q, "second", "KEY", "k", "IFEXISTS", "replace") == id
    assert b.call("GET", id)["payload"] == "first"
    b.call("COMPLETE", id, job["token"])
    again = lease1(b, q)
    assert (again["id"], again["payload"]) == (id, "second")


def test_point_04_redrive_does_not_take_a_key_from_another(b, q):
    dead = kill_job(b, q, "KEY", "k")
    b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h")
    refused("KEYEXISTS", b.call, "REDRIVE", dead)
    assert state(b, dead) == "dead"


def test_point_04_a_key_belongs_to_a_tenants_queue(b, q):
    ids = {b.call("SCHEDULE", queue, "x", "KEY", "k", "IN", "1h", "IFEXISTS", "reject", "TENANT", tenant)
           for queue in (q, q + ".other") for tenant in ("default", "acme")}
    assert len(ids) == 4


def test_point_04_a_key_belongs_to_its_ordering_key(b, q):
    plain, mine = b.call("SCHEDULE", q, "x", "KEY", "k"), b.call("SCHEDULE", q, "x", "KEY", "k", "ORDER", "o")
    assert plain != mine == b.call("SCHEDULE", q, "y", "KEY", "k", "ORDER", "o")
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q, "ORDER", "o") == "cancelled"
    assert (state(b, plain), state(b, mine)) == ("ready", "cancelled")


def test_point_05_a_batch_is_all_or_none_or_each_by_itself(b, q):
    good, bad = (2, q, "x"), (4, q, "x", "PRIORITY", 9)
    assert "item 2" in refused("INVALID", b.call, "BATCH", "all", *good, *bad)
    assert b.call("QUEUE", q) is None
    ids = b.call("BATCH", "all", *good, *good)
    assert [job["id"] for job in b.lease(q, "COUNT", 10)] == ids
    first, second, third = b.call("BATCH", "each", *good, *bad, *good)
    assert isinstance(second, Refused) and second.code == "INVALID"
    assert [job["id"] for job in b.lease(q, "COUNT", 10)] == [first, third]


@pytest.mark.parametrize("args, text", [
    (("SCHEDULE", "no such name", "x"), "INVALID queue: expected 1-128 characters of A-Z a-z 0-9 . _ - : /"),
    (("SCHEDULE", b"\xff\xfe", "x"), "INVALID queue: expected 1-128 characters of A-Z a-z 0-9 . _ - : /"),
    (("SCHEDULE", "q", "x", "PRIORITY", "high"), "INVALID priority: expected 1 to 5"),
    (("SCHEDULE", "q", "x", "COLOUR", "red"), "INVALID unknown option 'COLOUR'"),
    (("SCHEDULE", "q", "x" * (1 << 20 | 1)), "TOOLARGE "),
    (("SCHEDULE", "q", "x", "KEY", "k" * 513), "TOOLARGE key: 513 bytes, the limit is 512"),
    (("SCHEDULE", "q", "x", "BACKOFF", "exp:1h:1s"), "INVALID backoff: expected exp:FIRST:LONGEST"),
    (("SCHEDULE", "q", "x", "AT", "2026-02-30T00:00:00Z"), "INVALID at: "),
    (("FROBNICATE",), "UNKNOWN "),
], ids=lambda v: None)
def test_point_06_bad_input_is_told_precisely_and_changes_nothing(b, args, text):
    before = b.call("STATS")
    b.send(*args)
    reply = b.recv()
    assert isinstance(reply, Refused) and str(reply).startswith(text), reply
    after = b.call("STATS")
    for name in ("queues", "total_scheduled", "total_kept", "total_replaced", "total_cancelled"):
        assert after[name] == before[name]


# ---- Control ----

def test_point_07_cancel_says_cancelled_running_or_notfound(b, q):
    waiting = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "k")
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q) == "cancelled"
    refused("STATE", b.call, "CANCEL", waiting)
    assert b.call("CANCEL", "KEY", "k", "QUEUE", q) == "notfound"
    id = b.call("SCHEDULE", q, "x")
    token = lease1(b, q)["token"]
    assert b.call("CANCEL", id) == "running"
    assert b.call("EXTEND", id, token)["cancelled"] is True
    assert b.call("FAIL", id, token)["state"] == "cancelled"  # and not tried again


def test_point_07_reschedule_keeps_id_key_and_attempts(b, q):
    id = b.call("SCHEDULE", q, "x", "KEY", "k", "BACKOFF", "fixed:1h")
    b.call("FAIL", id, lease1(b, q)["token"])
    assert b.call("RESCHEDULE", id) == "OK"
    job = lease1(b, q)
    assert (job["id"], job["key"], job["attempt"]) == (id, "k", 2)


def test_point_07_a_job_on_disk_is_cancelled_and_moved_like_any_other(deep):
    server, ids = deep
    with server.wire(3) as b:
        assert b.call("CANCEL", ids[100]) == "cancelled"
        assert b.call("CANCEL", "KEY", 200, "QUEUE", "q") == "cancelled"
        assert [state(b, ids[i]) for i in (100, 200)] == ["cancelled"] * 2
        assert b.call("RESCHEDULE", ids[300]) == "OK"
        job = lease1(b, "q", "WAIT", "10s")
        assert (job["id"], job["key"]) == (ids[300], "300")
        assert b.call("RELEASE", job["id"], job["token"], "IN", "1d") == "OK"


def test_point_08_list_shows_each_job_once_and_counts_are_kept(deep):
    server, ids = deep
    with server.wire(3) as b:
        b.call("SCHEDULE", "few", "x", "IN", "1h")
        before = b.call("STATS")
        seen, cursor = [], None
        while True:
            page = b.call("LIST", "QUEUE", "q", "LIMIT", 1000, *(("CURSOR", cursor) if cursor else ()))
            assert len(page["jobs"]) <= 1000
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        after = b.call("STATS")
        assert set(seen) == set(ids)
        assert len(seen) == len(ids) or before["hot_jobs"] != after["hot_jobs"]  # one that moves may come twice
        counts = b.call("QUEUE", "q")
        assert sum(counts[s] for s in ("scheduled", "ready", "leased", "done", "dead", "cancelled")) == len(ids)
        assert b.call("QUEUE", "few")["scheduled"] == 1
        assert b.call("TENANT", "default")["pending"] == counts["scheduled"] + counts["ready"] + 1


def bulk(b, *args):
    """Asks for a bulk and waits for its end."""
    id = b.call("BULK", *args)["id"]
    return wait_for(lambda: (x := b.call("BULKS", "ID", id)[0])["state"] != "running" and x)


def test_point_09_a_dry_run_says_how_many_and_a_bulk_changes_them(b, q):
    due = now_ms() + HOUR
    mine = [b.call("SCHEDULE", q, "x", "AT", due, "TAG", "mine") for _ in range(20)]
    other = b.call("SCHEDULE", q, "x", "AT", due)
    dry = bulk(b, "cancel", "QUEUE", q, "TAG", "mine", "DRYRUN", "yes")
    assert (dry["state"], dry["matched"], dry["changed"]) == ("done", 20, 0) and state(b, mine[0]) == "scheduled"
    moved = bulk(b, "reschedule", "QUEUE", q, "TAG", "mine", "FROM", due, "TO", due + 1, "AT", due + HOUR)
    assert moved["changed"] == 20 and {b.call("GET", id)["due_ms"] for id in mine} == {due + HOUR}
    assert bulk(b, "cancel", "QUEUE", q, "TAG", "mine")["changed"] == 20
    assert {state(b, id) for id in mine} == {"cancelled"} and state(b, other) == "scheduled"
    refused("INVALID", b.call, "BULK", "cancel")


def test_point_09_deleting_and_putting_back_many_at_once(b, q):
    dead = [kill_job(b, q) for _ in range(5)]
    assert bulk(b, "redrive", "QUEUE", q)["changed"] == 5
    jobs = b.lease(q, "COUNT", 10)
    assert {job["id"] for job in jobs} == set(dead)
    for job in jobs:
        b.call("COMPLETE", job["id"], job["token"])
    assert bulk(b, "delete", "QUEUE", q, "STATE", "done")["changed"] == 5
    assert all(b.call("GET", id) is None for id in dead)


def test_point_09_a_bulk_goes_on_after_a_kill(make_server):
    server = make_server()
    with server.wire(3) as b:
        b.call("QUEUE", "q", "RETAIN", "0ms")
        b.pipeline([("SCHEDULE", "q", "x", "IN", "1h")] * 20_000)
        id = b.call("BULK", "cancel", "QUEUE", "q")["id"]
    server.kill()
    server.start()
    with server.wire(3) as b:
        done = wait_for(lambda: (x := b.call("BULKS", "ID", id)[0])["state"] == "done" and x, 30)
        assert (done["matched"], done["changed"]) == (20_000, 20_000)
        assert b.call("LIST", "QUEUE", "q")["jobs"] == []


def test_point_10_a_paused_queue_waits_until_it_is_resumed(b, q, shared_server):
    b.call("PAUSE", q)
    id = b.call("SCHEDULE", q, "x")
    assert b.lease(q) == []
    worker = parked(shared_server, q)
    b.call("RESUME", q)
    (job,) = worker.recv()
    assert job["id"] == id and job["attempt"] == 1
    worker.close()


def test_point_10_a_paused_tenant_waits_until_it_is_resumed(make_server):
    server = make_server()
    with server.wire(3) as w:
        w.call("PAUSE", "other", "TENANT", "acme")
        ids = [w.call("SCHEDULE", queue, "x", "TENANT", "acme", *options)
               for queue, *options in (("q",), ("q", "GATES", "pass"), ("other",))]
        free = w.call("SCHEDULE", "q", "x", "TENANT", "zeta")
        assert w.call("TENANT", "acme", "PAUSED", "yes")["paused"] is True
        assert w.lease("q", "TENANT", "acme") == []
        (job,) = w.lease("q", "TENANT", "*", "COUNT", 9)
        assert job["id"] == free
        assert w.call("COMPLETE", job["id"], job["token"]) == "OK"  # a kill may undo a lease that was just given
        assert w.call("QUEUE", "q", "TENANT", "acme")["held_by"] == "the tenant is paused"
        shown = w.call("EXPLAIN", ids[1], "TENANT", "acme")
        assert shown["reason"] == "tenant_paused" and shown["until_ms"] is None
        assert [c["reason"] for c in w.call("EXPLAIN", ids[2], "TENANT", "acme")["then"]][:1] == ["tenant_paused"]
    server.kill()
    server.start()
    with server.wire(3) as w:
        assert w.lease("q", "TENANT", "acme") == []
        worker = parked(server, "q", "TENANT", "*", "COUNT", 9)
        assert w.call("TENANT", "acme", "PAUSED", "no")["paused"] is False
        assert {job["id"] for job in worker.recv()} == set(ids[:2])
        worker.close()
        assert w.lease("other", "TENANT", "acme") == [], "that queue is paused itself"
        assert all(job["attempt"] == 0 for job in [w.call("GET", ids[2], "TENANT", "acme")])


def test_point_10_redrive_puts_dead_jobs_back(b, q):
    ids = [kill_job(b, q) for _ in range(3)]
    assert b.call("REDRIVE", ids[1]) == 1
    assert b.call("REDRIVE", "QUEUE", q, "LIMIT", 10) == 2
    jobs = b.lease(q, "COUNT", 10)
    assert {job["id"] for job in jobs} == set(ids) and all(job["attempt"] == 1 for job in jobs)


def test_point_30_an_ended_job_is_kept_as_long_as_retain_says(b, q):
    kept = b.call("SCHEDULE", q, "x", "RETAIN", "1h")
    gone = b.call("SCHEDULE", q, "x", "RETAIN", 0)
    for job in b.lease(q, "COUNT", 2):
        b.call("COMPLETE", job["id"], job["token"], "RESULT", "ok")
    assert b.call("GET", kept)["state"] == "done" and b.call("GET", kept)["result"] == "ok"
    assert b.call("GET", gone) is None
    assert b.call("QUEUE", q)["total_history_dropped"] == 0


# ---- Insight ----

def test_point_27_lateness_and_counts_are_kept_for_each_queue(b, q):
    b.call("SCHEDULE", q, "x", "KEY", "k", "IN", "1h")
    b.call("SCHEDULE", q, "x", "KEY", "k")
    b.call("CANCEL", "KEY", "k", "QUEUE", q)
    for outcome in ("COMPLETE", "FAIL", "RELEASE"):
        id = b.call("SCHEDULE", q, "x")
        b.call(outcome, id, lease1(b, q)["token"])
        if outcome != "COMPLETE":
            b.call("CANCEL", id)
    kill_job(b, q)
    figures = b.call("QUEUE", q)
    assert {name[6:]: n for name, n in figures.items() if name.startswith("total_") and n} == {
        "scheduled": 5, "kept": 1, "picked": 4, "succeeded": 1, "failed": 2, "released": 1, "retried": 1, "dead": 1,
        "cancelled": 3}
    for name in ("lateness", "runtime"):
        assert 0 <= figures[f"{name}_p50_ms"] <= figures[f"{name}_p99_ms"] <= figures[f"{name}_max_ms"]


def test_point_27_each_change_of_a_job_is_told_once_and_in_order(b, q, shared_server):
    with Stream(shared_server.port, f"?queue={q}") as s:
        s.ready()
        id = b.call("SCHEDULE", q, "x", "ATTEMPTS", "1")
        job = lease1(b, q)
        b.call("FAIL", id, job["token"])
        b.call("REDRIVE", id)
        b.call("CANCEL", id)
        told = s.take(5)
    assert [e.data["id"] for e in told] == [id] * 5
    assert [(e.data["from"], e.name) for e in told] == [
        (None, "scheduled"), ("ready", "leased"), ("leased", "dead"), ("dead", "scheduled"), ("ready", "cancelled")]


def test_point_27_how_long_workers_waited_is_measured(b, q, shared_server):
    b.call("SCHEDULE", q, "x")
    lease1(b, q)
    figures = b.call("QUEUE", q)
    assert [figures[f"wait_{name}_ms"] for name in ("p50", "p99", "max")] == [0, 0, 0]
    worker = parked(shared_server, q)
    b.call("SCHEDULE", q, "x", "IN", "300ms")
    assert len(worker.recv()) == 1
    worker.close()
    assert 250 <= b.call("QUEUE", q)["wait_max_ms"] <= 60000
    assert b.call("STATS")["wait_max_ms"] >= 300


def test_point_28_explain_says_why_a_job_has_not_run_and_until_when(b, q):
    due = now_ms() + HOUR
    id = b.call("SCHEDULE", q, "x", "AT", due)
    shown = b.call("EXPLAIN", id)
    assert (shown["reason"], shown["until_ms"]) == ("scheduled", due)
    assert (shown["then"], shown["at_ms"]) == ([], due)
    b.call("PAUSE", q)
    shown = b.call("EXPLAIN", id)
    assert (shown["reason"], [cause["reason"] for cause in shown["then"]], shown["at_ms"]) == ("scheduled", ["paused"], None)
    b.call("RESCHEDULE", id)
    assert b.call("EXPLAIN", id)["reason"] == "paused"


def test_point_28_explain_says_how_a_job_ended(b, q):
    parent = b.call("SCHEDULE", q, "x", "ATTEMPTS", 1)
    child = b.call("SCHEDULE", q, "y", "AFTER", parent)
    assert b.call("EXPLAIN", child)["parent"] == parent
    b.call("FAIL", parent, b.lease(q)[0]["token"], "ERROR", "out of paper")
    dead = b.call("EXPLAIN", parent)
    assert (dead["reason"], dead["error"], dead["attempt"], dead["attempts"]) == ("ended", "out of paper", 1, 1)
    assert "out of paper" in dead["why"] and abs(dead["ended_ms"] - now_ms()) < 60_000
    lost = wait_for(lambda: (x := b.call("EXPLAIN", child))["state"] == "cancelled" and x)
    assert lost["parent"] == parent and parent in lost["why"]


def test_point_28_forecast_says_how_many_are_due_when(b, q):
    start = YEAR_9999 - 10 * HOUR  # where no other test has jobs
    for i in (0, 0, 2):
        b.call("SCHEDULE", q, "x", "AT", start + i * HOUR)
    steps = b.call("FORECAST", "FROM", start, "TO", start + 3 * HOUR, "STEP", "1h")
    assert [step["jobs"] for step in steps] == [2, 0, 1]


def test_point_28_each_attempt_is_remembered(b, q):
    id = b.call("SCHEDULE", q, "x")
    job = lease1(b, q, "WORKER", "one")
    b.call("FAIL", id, job["token"], "ERROR", "no", "RETRY", 0)
    b.call("COMPLETE", id, lease1(b, q, "WORKER", "two")["token"], "RESULT", "fine")
    shown = b.call("GET", id)
    assert shown["result"] == "fine"
    assert [(h["attempt"], h["worker"], h["outcome"], h["error"]) for h in shown["history"]] == [
        (1, "one", "failed", "no"), (2, "two", "done", None)]
    assert all(h["late_ms"] >= 0 and h["end_ms"] >= h["start_ms"] for h in shown["history"])


# ---- Security ----

def test_point_29_only_loopback_is_served(make_server):
    code, log = make_server(start=False).refused(bind="0.0.0.0")
    assert code != 0 and "only loopback is served" in log


def test_point_29_connections_and_sizes_have_limits(make_server):
    server = make_server(max_connections=2, max_payload="100B")
    with server.wire(3) as w, server.wire(3):
        with server.wire(2) as third:
            assert third.recv().code == "BUSY"
        refused("TOOLARGE", w.call, "SCHEDULE", "q", "x" * 101)
        w.call("SCHEDULE", "q", "x" * 100)


def test_point_29_audit_tells_who_changed_what_also_after_a_kill(server):
    with server.wire(3) as b:
        b.call("CLIENT", "SETNAME", "ops")
        b.call("PAUSE", "q", "TENANT", "acme")
    server.kill()
    server.start()
    with server.wire(3) as b:
        (entry,) = b.call("AUDIT", "TENANT", "acme")["entries"]
        assert (entry["verb"], entry["request"], entry["client"]) == ("PAUSE", "PAUSE q TENANT acme", "ops")
        assert entry["address"].startswith("127.0.0.1:") and entry["at_ms"] <= now_ms()
        assert b.call("QUEUE", "q", "TENANT", "acme")["paused"] is True
        assert b.call("AUDIT", "TENANT", "default")["entries"] == []


def test_point_29_a_token_says_who_may_do_what(server):
    with server.wire(3) as b, server.wire(3) as shop, server.wire(3) as other:
        root = b.call("TOKENCREATE", "root", "admin")["token"]
        refused("NOAUTH", b.call, "STATS")
        b.call("AUTH", root)
        shop.call("AUTH", b.call("TOKENCREATE", "shop", "producer", "TENANT", "acme")["token"])
        other.call("AUTH", b.call("TOKENCREATE", "other", "admin", "TENANT", "zeta")["token"])
        id = shop.call("SCHEDULE", "q", "x")
        assert shop.call("GET", id)["tenant"] == "acme" and other.call("GET", id) is None
        refused("NOPERM", shop.call, "LEASE", "q")
        refused("NOPERM", shop.call, "SCHEDULE", "q", "x", "TENANT", "zeta")
        assert other.call("QUEUES") == [] and other.call("STATS")["ready"] == 0
        b.call("TOKENREVOKE", "shop")
        refused("NOAUTH", shop.call, "GET", id)
