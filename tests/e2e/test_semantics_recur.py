# SPDX-License-Identifier: MIT
"""The promises of docs/semantics.md about recurrences and about jobs that wait for others."""
import pytest

from conftest import wait_for
from steps import lease1, refused, state
from wire import now_ms

HOUR = 3_600_000


def test_point_24_preview_says_when_a_rule_runs(b):
    def local(*rule):
        return [step["local"] for step in b.call("PREVIEW", *rule, "START", "2027-01-01T09:00:00Z",
                                                 "FROM", "2027-01-01T09:00:00Z", "COUNT", 2)]

    assert local("RRULE", "FREQ=MONTHLY;BYDAY=-1FR") == ["2027-01-29T09:00:00+00:00", "2027-02-26T09:00:00+00:00"]
    assert local("CRON", "15 6 * * 1-5") == ["2027-01-04T06:15:00+00:00", "2027-01-05T06:15:00+00:00"]
    assert local("CRON", "@daily") == ["2027-01-02T00:00:00+00:00", "2027-01-03T00:00:00+00:00"]
    assert local("EVERY", "90m") == ["2027-01-01T09:00:00+00:00", "2027-01-01T10:30:00+00:00"]
    refused("INVALID", b.call, "PREVIEW", "CRON", "61 * * * *")


def test_point_24_preview_shows_the_h_that_recur_will_use(b, q):
    minutes = set()
    for n in range(6):
        name, rule = f"{q}.{n}", ("CRON", "H H * * *")
        shown = b.call("PREVIEW", *rule, "NAME", name, "QUEUE", q, "COUNT", 1)[0]["at_ms"]
        assert b.call("RECUR", name, q, "x", *rule)["next_ms"] == shown
        minutes.add(shown)
        b.call("RECURDELETE", name)
    assert len(minutes) > 1
    refused("INVALID", b.call, "PREVIEW", *rule, "NAME", name)


def test_point_24_a_local_time_that_does_not_exist_or_exists_twice_runs_once(b):
    def preview(start):
        return b.call("PREVIEW", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "FROM", start, "COUNT", 2)

    spring, after = preview("2027-03-27T12:00:00Z")
    assert spring["local"] == "2027-03-28T03:00:00+02:00" and "does not exist" in spring["note"]
    assert after["local"] == "2027-03-29T02:30:00+02:00" and after["note"] is None
    autumn, after = preview("2027-10-30T12:00:00Z")
    assert autumn["local"] == "2027-10-31T02:30:00+02:00" and "twice" in autumn["note"]
    assert after["local"] == "2027-11-01T02:30:00+01:00"


def finish(b, q, *more):
    """Takes the next job of a queue and completes it."""
    job = lease1(b, q, "WAIT", "20s", *more)
    assert b.call("COMPLETE", job["id"], job["token"]) == "OK"
    return job


def ledger(b, name):
    return [(entry["outcome"], entry["count"]) for entry in b.call("RECURRENCE", name)["ledger"]]


def test_point_21_however_an_occurrence_ends_its_recurrence_goes_on(b, q):
    b.call("RECUR", q, q, "x", "EVERY", "150ms", "ATTEMPTS", 1)
    dead = lease1(b, q, "WAIT", "20s")
    b.call("FAIL", dead["id"], dead["token"], "ERROR", "no")
    gone = lease1(b, q, "WAIT", "20s")
    b.call("CANCEL", gone["id"])
    b.call("FAIL", gone["id"], gone["token"])
    done = finish(b, q)
    b.call("RECURPAUSE", q)  # one more may have been made before it
    expected = {dead["id"]: "failed", gone["id"]: "cancelled", done["id"]: "ran"}.items()
    wait_for(lambda: {e["id"]: e["outcome"] for e in b.call("RECURRENCE", q)["ledger"]}.items() >= expected,
             what="all told")


def test_point_21_an_occurrence_and_what_is_known_of_it_survive_a_kill_together(make_server):
    server = make_server()
    with server.wire() as w:  # no more than the ledger has room for, however long this takes
        w.call("RECUR", "tick", "q", "x", "EVERY", "250ms", "OVERLAP", "allow", "CATCHUP", "all")
    for _ in range(4):
        before = len((server.client().execute_command("LIST", "QUEUE", "q", "LIMIT", 1000))[1])
        wait_for(lambda: len(server.client().execute_command("LIST", "QUEUE", "q", "LIMIT", 1000)[1]) > before)
        server.kill()
        server.start()
    with server.wire() as w:
        wait_for(lambda: w.call("QUEUE", "q")["ready"] >= 5, what="occurrences")
        w.call("RECURPAUSE", "tick")
        jobs = w.call("LIST", "QUEUE", "q", "LIMIT", 1000)["jobs"]
        seen = [w.call("GET", job["id"]) for job in jobs]
        shown = w.call("RECURRENCE", "tick")
    nominal = sorted(job["nominal_ms"] for job in seen)
    assert len(set(nominal)) == len(nominal), "an occurrence was made twice"
    assert {job["recurrence"] for job in seen} == {"tick"}
    assert {e["id"] for e in shown["ledger"] if e["id"]} == {job["id"] for job in seen}
    assert nominal == list(range(nominal[0], nominal[0] + 250 * len(nominal), 250)), "one is missing"


def test_point_23_a_job_waits_for_others_to_be_done(b, q):
    fetch, check = b.call("SCHEDULE", q, "fetch"), b.call("SCHEDULE", q, "check")
    report = b.call("SCHEDULE", q, "report", "AFTER", fetch, "AFTER", check)
    mail = b.call("SCHEDULE", q, "mail", "AFTER", report)
    assert state(b, report) == state(b, mail) == "waiting"
    told = b.call("EXPLAIN", report)
    assert told["reason"] == "parent" and fetch in told["why"]
    assert sorted(job["payload"] for job in b.lease(q, "COUNT", 10, "FOR", "1ms")) == ["check", "fetch"]
    wait_for(lambda: "leased" not in (state(b, fetch), state(b, check)), what="both leases have ended")
    b.call("RESCHEDULE", fetch), b.call("RESCHEDULE", check)
    first = finish(b, q)
    assert state(b, report) == "waiting", "one of the two is not done"
    assert {first["payload"], finish(b, q)["payload"]} == {"check", "fetch"}
    assert finish(b, q)["payload"] == "report"
    assert finish(b, q)["payload"] == "mail"
    assert b.call("GET", mail)["after"] == []


def test_point_23_what_happens_if_one_of_them_is_not_done(b, q):
    first = b.call("SCHEDULE", q, "first", "ATTEMPTS", 1)
    lost = b.call("SCHEDULE", q, "lost", "AFTER", first)
    further = b.call("SCHEDULE", q, "further", "AFTER", lost)
    runs = b.call("SCHEDULE", q, "runs", "AFTER", first, "AFTERFAIL", "run")
    b.call("FAIL", first, lease1(b, q)["token"])
    wait_for(lambda: state(b, further) == "cancelled", what="the whole chain")
    assert state(b, lost) == "cancelled" and first in b.call("GET", lost)["error"]
    assert finish(b, q)["id"] == runs
    assert state(b, b.call("SCHEDULE", q, "late", "AFTER", first)) == "cancelled"
    refused("NOTFOUND", b.call, "SCHEDULE", q, "x", "AFTER", "0" * 26)


def test_point_24_a_recurrence_makes_jobs_by_its_rule(b, q):
    shown = b.call("RECUR", q, q, "x", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "PRIORITY", 2, "TAG", "t")
    wanted, = b.call("PREVIEW", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "COUNT", 1)
    assert shown["next_ms"] == wanted["at_ms"] and shown["revision"] == 1
    id = b.call("RECURRUN", q)
    job = b.call("GET", id)
    assert job["recurrence"] == q and job["priority"] == 2 and job["tags"] == ["t"] and job["payload"] == "x"
    assert q in [r["name"] for r in b.call("RECURRENCES", "LIMIT", 1000)["recurrences"]]
    refused("INVALID", b.call, "RECUR", q, q, "x", "CRON", "61 * * * *")
    refused("INVALID", b.call, "RECUR", q, q, "x", "RRULE", "FREQ=DAILY;UNTIL=20200101T000000Z")
    refused("INVALID", b.call, "RECUR", q, q, "x", "EVERY", "1s", "TZ", "Mars/Olympus")
    assert b.call("RECURRENCE", q)["revision"] == 1


@pytest.mark.parametrize("overlap", ["skip", "allow", "queue"])
def test_point_25_overlap_with_one_that_has_not_ended(b, q, overlap):
    name = f"{q[:60]}.{overlap}"
    b.call("RECUR", name, name, "x", "EVERY", "100ms", "OVERLAP", overlap)
    first = lease1(b, name, "WAIT", "20s")
    shown = wait_for(lambda: (r := b.call("RECURRENCE", name))["last_ms"] and
                     r["last_ms"] >= first["due_ms"] + 300 and r, what="three more of its times")
    if overlap == "skip":
        assert ledger(b, name)[0] == ("open", 1) and ledger(b, name)[1][0] == "skipped" and shown["skipped"] >= 3
        assert b.lease(name) == []
    elif overlap == "allow":
        assert shown["open"] >= 4 and len(b.lease(name, "COUNT", 3)) == 3
    else:
        assert shown["open"] == 1 and shown["queued"] >= 3 and b.lease(name) == []
    b.call("COMPLETE", first["id"], first["token"])
    if overlap == "queue":
        assert finish(b, name)["due_ms"] == first["due_ms"] + 100, "they come one after another"
    b.call("RECURDELETE", name)


def test_point_25_count_counts_nominal_times_and_then_it_is_finished(b, q):
    b.call("RECUR", q, q, "x", "RRULE", "FREQ=SECONDLY;COUNT=2", "START", now_ms() + 2000, "OVERLAP", "skip")
    shown = wait_for(lambda: (r := b.call("RECURRENCE", q))["finished"] and r, what="its end")
    assert shown["next_ms"] is None and [n for _, n in ledger(b, q)] == [1, 1]
    assert ledger(b, q)[1] == ("skipped", 1), "the second met the first"


def test_point_26_an_edit_makes_no_past_occurrences(b, q):
    b.call("RECUR", q, q, "old", "EVERY", "100ms", "OVERLAP", "allow")
    wait_for(lambda: (b.call("QUEUE", q) or {"ready": 0})["ready"] >= 2)
    before = b.call("RECURRENCE", q)
    after = b.call("RECUR", q, q, "new", "EVERY", "1h", "START", now_ms() - 10 * HOUR)
    assert after["revision"] == 2 and after["next_ms"] > max(before["last_ms"], after["edited_ms"])
    made = b.call("QUEUE", q)["total_scheduled"]
    assert b.call("RECUR", q, q, "new", "EVERY", "1h", "START", after["start_ms"])["revision"] == 2, "no change"
    assert b.call("QUEUE", q)["total_scheduled"] == made
    assert {job["payload"] for job in b.lease(q, "COUNT", 100)} == {"old"}


def test_point_26_pausing_resuming_and_deleting_work_at_once(b, q):
    b.call("RECUR", q, q, "x", "EVERY", "200ms", "OVERLAP", "allow")
    wait_for(lambda: (b.call("QUEUE", q) or {"ready": 0})["ready"] >= 1)
    b.call("RECURPAUSE", q)
    made = b.call("QUEUE", q)["total_scheduled"]
    wait_for(lambda: now_ms() > b.call("RECURRENCE", q)["last_ms"] + 500)
    assert b.call("QUEUE", q)["total_scheduled"] == made
    b.call("RECURRESUME", q)
    wait_for(lambda: b.call("QUEUE", q)["total_scheduled"] > made)
    assert any(e["why"] == "the recurrence was paused" for e in b.call("RECURRENCE", q)["ledger"])
    b.call("RECURDELETE", q)
    made = b.call("QUEUE", q)["total_scheduled"]
    assert b.call("RECURRENCE", q) is None
    refused("NOTFOUND", b.call, "RECURPAUSE", q)
    assert len(b.lease(q, "COUNT", 1000)) == made, "those that it made go on"
