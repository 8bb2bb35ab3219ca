# SPDX-License-Identifier: MIT
"""EDIT changes a job that waits, CLONE copies one, and RECURRENCE shows all that RECUR sets."""
import pytest

from conftest import wait_for
from web import Web
from wire import Refused

ALL = ["PRIORITY", "2", "ATTEMPTS", "7", "BACKOFF", "1m,5m", "LEASE", "90s", "RETAIN", "2h", "EXPIRE", "3h",
       "TAG", "a", "TAG", "b", "META", "x", "1", "META", "y", "two words", "NOTIFY", "yes", "GATES", "pass"]


@pytest.fixture
def w(server):
    with server.wire(3) as w:
        yield w


def refused(w, *words):
    with pytest.raises(Refused) as e:
        w.call(*words)
    return e.value.code, str(e.value)


def same(one, other, but=()):
    return {k: v for k, v in one.items() if k not in but} == {k: v for k, v in other.items() if k not in but}


# ---- RECURRENCE ----


def recur_words(r):
    """RECUR as RECURRENCE shows it."""
    words = ["RECUR", r["name"], r["queue"], r["payload"], r["kind"], r["rule"], "TZ", r["tz"], "START", r["start_ms"],
             "CATCHUP", r["catchup"], "OVERLAP", r["overlap"], "PRIORITY", r["priority"],
             "NOTIFY", "yes" if r["notify"] else "no", "GATES", r["gates"]]
    for name in ("exdate", "rdate", "attempts", "backoff", "order", "push"):
        words += [name, r[name]] if r[name] is not None else []
    for name in ("lease", "retain", "expire"):
        words += [name, f"{r[name + '_ms']}ms"] if r[name + "_ms"] is not None else []
    for tag in r["tags"]:
        words += ["TAG", tag]
    for name, value in r["meta"].items():
        words += ["META", name, value]
    return [str(x) if isinstance(x, int) else x for x in words]


def test_a_recurrence_shows_all_that_recur_sets(w):
    w.call("QUEUE", "pushed", "PUSH_URL", "job")
    made = w.call("RECUR", "r", "pushed", "{}", "CRON", "30 2 * * *", "TZ", "Europe/Berlin", "START", "2030-01-01T00:00:00Z",
                  "EXDATE", "20300103T023000", "RDATE", "20300105T120000", "CATCHUP", "all", "OVERLAP", "queue",
                  "ORDER", "acc-1", "PUSH", "http://127.0.0.1:1/x", *ALL)
    assert made == w.call("RECURRENCE", "r")
    assert (made["attempts"], made["backoff"], made["lease_ms"], made["retain_ms"], made["expire_ms"]) == (
        7, "1m,5m", 90000, 7200000, 10800000)
    assert made["tags"] == ["a", "b"] and made["meta"] == {"x": "1", "y": "two words"}
    assert (made["notify"], made["gates"], made["order"], made["push"]) == (True, "pass", "acc-1", "http://127.0.0.1:1/x")
    assert w.call(*recur_words(made)) == made  # nothing changed: no new revision
    w.call("RECURDELETE", "r")
    again = w.call(*recur_words(made))
    assert same(again, made, ("created_ms", "edited_ms"))


def test_a_recurrence_shows_null_for_what_was_not_given(w):
    made = w.call("RECUR", "plain", "q", "x", "EVERY", "1h")
    assert [made[k] for k in ("attempts", "backoff", "lease_ms", "retain_ms", "expire_ms", "order", "push")] == [None] * 7
    assert made["tags"] == [] and made["meta"] == {} and made["notify"] is False and made["gates"] == "hold"
    # Its first time may come meanwhile.
    assert same(w.call(*recur_words(made)), made, ("open", "ledger", "last_ms", "next_ms"))


def test_an_edit_of_a_recurrence_over_http_loses_nothing(server, w):
    made = w.call("RECUR", "r", "q", "x", "EVERY", "1h", *ALL)
    with Web(server.port) as web:
        shown = web.call("GET", "/v1/recurrences/r")
        body = {k: shown[k] for k in ("queue", "payload", "tz", "catchup", "overlap", "priority", "attempts", "backoff",
                                      "meta", "gates")}
        body |= {"every": "2h", "tag": shown["tags"], "lease": f"{shown['lease_ms']}ms", "retain": f"{shown['retain_ms']}ms",
                 "expire": f"{shown['expire_ms']}ms", "notify": "yes" if shown["notify"] else "no"}
        web.call("PUT", "/v1/recurrences/r", body)
    changed = w.call("RECURRENCE", "r")
    assert changed["rule"] == "2h"
    assert same(changed, made, ("rule", "revision", "edited_ms", "next_ms", "ledger"))


# ---- EDIT ----


def test_edit_changes_what_is_named_and_nothing_else(w):
    id = w.call("SCHEDULE", "q", "old", "IN", "1h", "KEY", "k", "ORDER", "o", "KEY_HOLD", "1h", *ALL)
    before = w.call("GET", id)
    assert w.call("EDIT", id, "PAYLOAD", "new") == "OK"
    after = w.call("GET", id)
    assert after["payload"] == "new" and same(before, after, ("payload", "payload_bytes"))
    w.call("EDIT", id, "PRIORITY", "5", "ATTEMPTS", "2", "TAG", "c", "META", "z", "3", "NOTIFY", "no", "GATES", "hold")
    after = w.call("GET", id)
    assert (after["priority"], after["attempts"], after["tags"], after["meta"]) == (5, 2, ["c"], {"z": "3"})
    assert (after["notify"], after["gates"], after["expires_ms"]) == (False, "hold", before["expires_ms"])
    assert same(before, after, ("payload", "priority", "attempts", "tags", "meta", "notify", "gates"))
    w.call("EDIT", id, "CLEAR", "tag", "CLEAR", "meta", "CLEAR", "attempts", "CLEAR", "expire")
    after = w.call("GET", id)
    assert (after["tags"], after["meta"], after["attempts"], after["expires_ms"]) == ([], {}, 5, None)
    w.call("EDIT", id, "AT", "2031-01-01T00:00:00Z")
    assert w.call("GET", id)["due_ms"] == 1924992000000
    assert w.call("SCHEDULE", "q", "x", "KEY", "k", "ORDER", "o") == id  # it kept its key


def test_an_edited_job_survives_a_kill_and_runs_with_its_new_values(server):
    with server.wire(3) as w:
        id = w.call("SCHEDULE", "q", "old", "IN", "1h", "LEASE", "1m")
        w.call("EDIT", id, "PAYLOAD", "new", "LEASE", "5m", "IN", "0s")
    server.kill()
    server.start()
    with server.wire(3) as w:
        (job,) = w.call("LEASE", "q", "WAIT", "5s")
        assert (job["id"], job["payload"], job["lease_ms"]) == (id, "new", 300000)


def test_a_job_that_waits_for_another_is_edited_and_still_waits(w):
    first = w.call("SCHEDULE", "q", "1")
    second = w.call("SCHEDULE", "q", "2", "AFTER", first)
    third = w.call("SCHEDULE", "q", "3", "AFTER", second)
    w.call("EDIT", second, "PAYLOAD", "two", "TAG", "t")
    assert w.call("GET", second)["state"] == "waiting" and w.call("GET", second)["after"] == [first]
    w.call("COMPLETE", first, w.call("LEASE", "q")[0]["token"])
    (job,) = w.call("LEASE", "q", "WAIT", "5s")
    assert (job["id"], job["payload"]) == (second, "two")
    w.call("COMPLETE", second, job["token"])
    assert w.call("LEASE", "q", "WAIT", "5s")[0]["id"] == third  # its listener was told


def test_what_edit_refuses(w):
    id = w.call("SCHEDULE", "q", "x")
    (job,) = w.call("LEASE", "q")
    code, why = refused(w, "EDIT", id, "PAYLOAD", "y")
    assert code == "STATE" and "leased: a worker has it" in why
    w.call("COMPLETE", id, job["token"])
    code, why = refused(w, "EDIT", id, "PAYLOAD", "y")
    assert code == "STATE" and "done: CLONE" in why
    other = w.call("SCHEDULE", "q", "x", "IN", "1h")
    for words in (("BACKOFF", "rubbish"), ("PRIORITY", "9"), ("PUSH", "http://x/"), ("TAG", "a", "CLEAR", "tag"),
                  ("IN", "1s", "AT", "2030-01-01T00:00:00Z"), ("CLEAR", "key"), ("QUEUE", "z")):
        before = w.call("GET", other)
        assert refused(w, "EDIT", other, *words)[0] in ("INVALID", "SYNTAX", "ERR"), words
        assert w.call("GET", other) == before
    assert refused(w, "EDIT", other, "REDRIVE", "yes")[0] == "STATE"
    assert refused(w, "EDIT", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "PAYLOAD", "y")[0] == "NOTFOUND"
    w.call("TENANT", "acme", "MAX_BYTES", "2000")
    mine = w.call("SCHEDULE", "q", "x", "IN", "1h", "TENANT", "acme")
    assert refused(w, "EDIT", mine, "PAYLOAD", "y" * 3000, "TENANT", "acme")[0] == "LIMIT"
    assert refused(w, "EDIT", mine, "PAYLOAD", "y")[0] == "NOTFOUND"  # another tenant's


def test_a_dead_job_is_edited_and_put_back(w):
    id = w.call("SCHEDULE", "q", "bad", "KEY", "k")
    (job,) = w.call("LEASE", "q")
    w.call("FAIL", id, job["token"], "ERROR", "bad payload", "FINAL", "yes")
    code, why = refused(w, "EDIT", id, "PAYLOAD", "good")
    assert code == "STATE" and "REDRIVE yes" in why
    rival = w.call("SCHEDULE", "q", "rival", "IN", "1h", "KEY", "k")
    assert refused(w, "EDIT", id, "PAYLOAD", "good", "REDRIVE", "yes")[0] == "KEYEXISTS"
    w.call("CANCEL", rival)
    w.call("EDIT", id, "PAYLOAD", "good", "REDRIVE", "yes", "IN", "0s")
    (job,) = w.call("LEASE", "q", "WAIT", "5s")
    assert (job["id"], job["payload"], job["attempt"]) == (id, "good", 1)


def test_an_edit_is_in_the_audit_log(w):
    id = w.call("SCHEDULE", "q", "x", "IN", "1h")
    w.call("EDIT", id, "PRIORITY", "1")
    w.call("SCHEDULE", "q", "y")
    w.call("PAUSE", "q")
    w.call("EDIT", id, "PRIORITY", "1")  # it is so already
    assert [a["verb"] for a in w.call("AUDIT")["entries"]] == ["EDIT", "PAUSE"]
    w.call("EDIT", id, "PRIORITY", "2")
    assert [a["verb"] for a in w.call("AUDIT")["entries"]][-1] == "EDIT"


def test_the_audit_log_has_the_size_of_a_new_payload_alone(w):
    id = w.call("SCHEDULE", "q", "x", "IN", "1h")
    w.call("EDIT", id, "PRIORITY", "1", "payload", "the customer's card number", "TAG", "a")
    assert w.call("AUDIT")["entries"][-1]["request"] == f"EDIT {id} PRIORITY 1 payload (26 bytes) TAG a"


# ---- CLONE ----


def test_a_clone_has_the_values_of_its_job(w):
    id = w.call("SCHEDULE", "q", "x", "KEY", "k", "ORDER", "o", "KEY_HOLD", "1m", "IN", "1h", *ALL)
    copy = w.call("CLONE", id, "IN", "1h")
    one, other = w.call("GET", id), w.call("GET", copy)
    assert copy != id and other["key"] is None
    assert same(one, other, ("id", "key", "due_ms", "at_ms", "expires_ms", "created_ms"))
    third = w.call("CLONE", id, "QUEUE", "z", "PAYLOAD", "y", "KEY", "k2", "PRIORITY", "4", "CLEAR", "tag", "CLEAR", "order",
                   "AT", "2031-01-01T00:00:00Z", "ANSWER", "map")
    assert third["created"] is True
    v = w.call("GET", third["id"])
    assert (v["queue"], v["payload"], v["key"], v["priority"], v["tags"], v["order"]) == ("z", "y", "k2", 4, [], None)
    assert v["meta"] == one["meta"]
    assert refused(w, "CLONE", id, "QUEUE", "z", "KEY", "k2", "CLEAR", "order", "IFEXISTS", "reject")[0] == "KEYEXISTS"


def test_an_ended_job_is_cloned(w):
    id = w.call("SCHEDULE", "q", "x", "TAG", "t")
    w.call("COMPLETE", id, w.call("LEASE", "q")[0]["token"])
    copy = w.call("CLONE", id)
    (job,) = w.call("LEASE", "q")
    assert (job["id"], job["payload"], job["tags"], job["attempt"]) == (copy, "x", ["t"], 1)


def test_edit_and_clone_over_http(server, w):
    id = w.call("SCHEDULE", "q", "x", "IN", "1h", "TAG", "t")
    with Web(server.port) as web:
        assert web.ask("POST", f"/v1/jobs/{id}/edit", {"payload": "y", "meta": {"a": "b"}, "clear": ["tag"]}).status == 204
        v = web.call("GET", f"/v1/jobs/{id}")
        assert (v["payload"], v["meta"], v["tags"]) == ("y", {"a": "b"}, [])
        answer = web.ask("POST", f"/v1/jobs/{id}/clone", {"queue": "z", "in": "1h"})
        assert answer.status == 201 and answer.json["created"] is True
        assert web.call("GET", f"/v1/jobs/{answer.json['id']}")["queue"] == "z"
        assert web.ask("POST", f"/v1/jobs/{id}/edit", {"queue": "z"}).status == 400


def test_jobs_on_disk_are_edited_and_cloned(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as w:
        ids = [w.call("SCHEDULE", "q", str(i) + "x" * 1000, "IN", "3h", "KEY", f"k{i}") for i in range(300)]
        for i in range(40000):
            w.send("SCHEDULE", "fill", "y" * 2000, "IN", "2h")
            if i % 1000 == 999:
                for _ in range(1000):
                    w.recv()
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 20000, what="jobs on disk")
        for i in range(0, 300, 50):
            w.call("EDIT", ids[i], "PAYLOAD", f"new {i}", "PRIORITY", "1")
            copy = w.call("CLONE", ids[i + 1], "IN", "1h", "KEY", f"copy{i}")
            assert w.call("GET", ids[i])["payload"] == f"new {i}"
            assert w.call("GET", copy)["payload"].startswith(str(i + 1) + "x")
