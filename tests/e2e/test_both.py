# SPDX-License-Identifier: MIT
"""The same request in RESP and in HTTP has the same result, and the same error with the same words."""
import re

import pytest

from web import Web
from wire import Refused

NO_ID = "0" * 26


@pytest.fixture
def both(shared_server):
    with shared_server.wire() as resp, Web(shared_server.port) as web:
        yield resp, web


def normal(value):
    """Leaves out what differs from one request to the next."""
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()
                if not re.fullmatch(r"(id|token|uptime_ms|commands|connections|commits|epoch|cursor|.*_bytes|"
                                    r"(due|at|until|created|edited|start|nominal|next|from|to|end|ended|keep|asked|oldest)_ms|"
                                    r"total_.*|lateness_.*|runtime_.*|fetch.*|commit_.*|late_ms|revision)", k)}
    if isinstance(value, list):
        return [normal(v) for v in value]
    if isinstance(value, str) and re.fullmatch(r"[0-9A-Z]{26}", value):
        return "<id>"
    return value


# What each says: a name, the words of RESP, the request of HTTP, and where its result stands in the answer. {q} is a
# queue of the side's own, {id} and {token} of a job there: each side makes its own.
CASES = [
    ("schedule", ["SCHEDULE", "{q}", "x", "IN", "1h", "TAG", "a", "TAG", "b", "META", "m", "1"],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "in": "1h", "tag": ["a", "b"], "meta": {"m": "1"}}), "id"),
    ("schedule number", ["SCHEDULE", "{q}", "1", "IN", 3600000, "PRIORITY", 5],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": 1, "in": 3600000, "priority": 5}), "id"),
    ("lease", ["LEASE", "{q},other", "COUNT", 2, "FOR", "30s", "WORKER", "w"],
     ("POST", "/v1/leases", {"queues": ["{q}", "other"], "count": 2, "for": "30s", "worker": "w"}), "jobs"),
    ("get", ["GET", "{id}"], ("GET", "/v1/jobs/{id}", None), None),
    ("get by key", ["GET", "KEY", "{q}-key", "QUEUE", "{q}"], ("GET", "/v1/queues/{q}/keys/{q}-key", None), None),
    ("get and wait", ["GET", "{id}", "WAIT", "10ms"], ("GET", "/v1/jobs/{id}?wait=10ms", None), None),
    ("schedule and wait", ["SCHEDULE", "{q}", "x", "IN", "1h", "WAIT", 10],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "in": "1h", "wait": 10}), None),
    ("list", ["LIST", "QUEUE", "{q}", "LIMIT", 10], ("GET", "/v1/jobs?queue={q}&limit=10", None), None),
    ("list by tag", ["LIST", "QUEUE", "{q}", "TAG", "t"], ("GET", "/v1/jobs?queue={q}&tag=t", None), None),
    ("explain", ["EXPLAIN", "{id}"], ("GET", "/v1/jobs/{id}/explain", None), None),
    ("extend", ["EXTEND", "{id}", "{token}", "FOR", "1m", "PROGRESS", 5, "NOTE", "n"],
     ("POST", "/v1/jobs/{id}/extend", {"token": "{token}", "for": "1m", "progress": 5, "note": "n"}), None),
    ("log", ["LOG", "{id}", "{token}", "a line"], ("POST", "/v1/jobs/{id}/log", {"token": "{token}", "text": "a line"}), "OK"),
    ("get with its log", ["GET", "{id}", "LOG", "yes"], ("GET", "/v1/jobs/{id}?log=yes", None), None),
    ("fail", ["FAIL", "{id}", "{token}", "ERROR", "e", "RETRY", "1h"],
     ("POST", "/v1/jobs/{id}/fail", {"token": "{token}", "error": "e", "retry": "1h"}), None),
    ("fail final", ["FAIL", "{id}", "{token}", "FINAL", "yes"],
     ("POST", "/v1/jobs/{id}/fail", {"token": "{token}", "final": True}), None),
    ("complete", ["COMPLETE", "{id}", "{token}", "RESULT", "r"],
     ("POST", "/v1/jobs/{id}/complete", {"token": "{token}", "result": "r"}), "OK"),
    ("complete again", ["COMPLETE", "{id}", "{token}", "AGAIN", "1h"],
     ("POST", "/v1/jobs/{id}/complete", {"token": "{token}", "again": "1h"}), "OK"),
    ("release", ["RELEASE", "{id}", "{token}", "IN", "1h"],
     ("POST", "/v1/jobs/{id}/release", {"token": "{token}", "in": "1h"}), "OK"),
    ("cancel a running one", ["CANCEL", "{id}"], ("DELETE", "/v1/jobs/{id}", None), "outcome"),
    ("reschedule", ["RESCHEDULE", "{waiting}", "AT", "2099-01-01T00:00:00Z"],
     ("PATCH", "/v1/jobs/{waiting}", {"at": "2099-01-01T00:00:00Z"}), "OK"),
    ("edit", ["EDIT", "{waiting}", "PAYLOAD", "new", "TAG", "a", "TAG", "b", "META", "m", "v", "CLEAR", "key_hold", "CLEAR", "push"],
     ("POST", "/v1/jobs/{waiting}/edit", {"payload": "new", "tag": ["a", "b"], "meta": {"m": "v"}, "clear": ["key_hold", "push"]}), "OK"),
    ("edit of a leased one", ["EDIT", "{id}", "PRIORITY", 1], ("POST", "/v1/jobs/{id}/edit", {"priority": 1}), None),
    ("clone", ["CLONE", "{id}", "QUEUE", "{q}", "IN", "1h", "KEY", "k2", "CLEAR", "tag", "ANSWER", "map"],
     ("POST", "/v1/jobs/{id}/clone", {"queue": "{q}", "in": "1h", "key": "k2", "clear": ["tag"]}), None),
    ("redrive", ["REDRIVE", "QUEUE", "{q}", "LIMIT", 3], ("POST", "/v1/queues/{q}/redrive", {"limit": 3}), "redriven"),
    ("queue", ["QUEUE", "{q}"], ("GET", "/v1/queues/{q}", None), None),
    ("queue settings", ["QUEUE", "{q}", "ATTEMPTS", 9, "BACKOFF", "fixed:2s", "RATE", "5/1m", "MAX_RUNNING", 3],
     ("PATCH", "/v1/queues/{q}", {"attempts": 9, "backoff": "fixed:2s", "rate": "5/1m", "max_running": 3}), None),
    ("pause", ["PAUSE", "{q}"], ("POST", "/v1/queues/{q}/pause", None), "OK"),
    ("resume", ["RESUME", "{q}"], ("POST", "/v1/queues/{q}/resume", None), "OK"),
    ("workers of a tenant", ["WORKERS", "TENANT", "t-{q}", "LIMIT", 5], ("GET", "/v1/workers?tenant=t-{q}&limit=5", None), "workers"),
    ("errors of a queue", ["ERRORS", "QUEUE", "{q}", "STATE", "dead", "STATE", "scheduled"],
     ("GET", "/v1/errors?queue={q}&state=dead&state=scheduled", None), None),
    ("figures of a tenant", ["SERIES", "TENANT", "t-{q}", "STEP", "1h"], ("GET", "/v1/series?tenant=t-{q}&step=1h", None), None),
    ("overview", ["OVERVIEW", "TENANT", "t-{q}", "LIMIT", 5], ("GET", "/v1/overview?tenant=t-{q}&limit=5", None), None),
    ("list by states", ["LIST", "QUEUE", "{q}", "STATE", "ready", "STATE", "leased", "WORKER", "w", "PREVIEW", 3],
     ("GET", "/v1/jobs?queue={q}&state=ready&state=leased&worker=w&preview=3", None), None),
    ("count", ["COUNT", "QUEUE", "{q}", "STATE", "ready", "STATE", "leased", "WORKER", "me"],
     ("GET", "/v1/jobs/count?queue={q}&state=ready&state=leased&worker=me", None), None),
    ("queues of a tenant", ["QUEUES", "TENANT", "t-{q}"], ("GET", "/v1/queues?tenant=t-{q}", None), "queues"),
    ("tenant settings", ["TENANT", "t-{q}", "WEIGHT", 2, "MAINTENANCE", "no"],
     ("PATCH", "/v1/tenants/t-{q}", {"weight": 2, "maintenance": False}), None),
    ("preview", ["PREVIEW", "CRON", "0 9 * * 1", "TZ", "Europe/Paris", "FROM", "2030-03-01T00:00:00Z", "COUNT", 5],
     ("POST", "/v1/preview", {"cron": "0 9 * * 1", "tz": "Europe/Paris", "from": "2030-03-01T00:00:00Z", "count": 5}),
     "times"),
    ("forecast", ["FORECAST", "FROM", "2090-01-01T00:00:00Z", "TO", "2090-01-01T05:00:00Z", "STEP", "2h"],
     ("GET", "/v1/forecast?from=2090-01-01T00:00:00Z&to=2090-01-01T05:00:00Z&step=2h", None), "steps"),
    ("recur", ["RECUR", "{q}", "{q}", "p", "EVERY", "1h", "OVERLAP", "allow", "TAG", "x"],
     ("PUT", "/v1/recurrences/{q}", {"queue": "{q}", "payload": "p", "every": "1h", "overlap": "allow", "tag": ["x"]}),
     None),
    ("list sorted", ["LIST", "SORT", "due", "QUEUE", "{q}", "STATE", "scheduled"],
     ("GET", "/v1/jobs?sort=due&queue={q}&state=scheduled", None), None),
    ("occurrences", ["OCCURRENCES", "QUEUE", "{q}", "FROM", "2030-03-01T00:00:00Z", "LIMIT", 5],
     ("GET", "/v1/occurrences?queue={q}&from=2030-03-01T00:00:00Z&limit=5", None), None),
    ("batch", ["BATCH", "all", 2, "{q}", "1", 6, "{q}", "2", "IN", "1h", "TAG", "z"],
     ("POST", "/v1/jobs/batch", {"mode": "all", "items": [{"queue": "{q}", "payload": "1"},
                                                          {"queue": "{q}", "payload": "2", "in": "1h", "tag": "z"}]}),
     "results"),
    # Errors.
    ("no job", ["COMPLETE", NO_ID, 1], ("POST", f"/v1/jobs/{NO_ID}/complete", {"token": 1}), None),
    ("stale", ["COMPLETE", "{id}", 1], ("POST", "/v1/jobs/{id}/complete", {"token": 1}), None),
    ("bad queue", ["SCHEDULE", "a b", "x"], ("POST", "/v1/jobs", {"queue": "a b", "payload": "x"}), None),
    ("bad priority", ["SCHEDULE", "{q}", "x", "PRIORITY", 6],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "priority": 6}), None),
    ("in and at", ["SCHEDULE", "{q}", "x", "IN", 1, "AT", 1],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "in": 1, "at": 1}), None),
    ("bad duration", ["SCHEDULE", "{q}", "x", "IN", "1x"],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "in": "1x"}), None),
    ("bad moment", ["SCHEDULE", "{q}", "x", "AT", "2030-13-01"],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "at": "2030-13-01"}), None),
    ("bad back-off", ["SCHEDULE", "{q}", "x", "BACKOFF", "never"],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "backoff": "never"}), None),
    ("key exists", ["SCHEDULE", "{q}", "x", "KEY", "{q}-key", "IFEXISTS", "reject"],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "key": "{q}-key", "ifexists": "reject"}), None),
    ("all tenants", ["PAUSE", "{q}", "TENANT", "*"], ("POST", "/v1/queues/{q}/pause", {"tenant": "*"}), None),
    ("bad rule", ["PREVIEW", "CRON", "61 * * * *"], ("POST", "/v1/preview", {"cron": "61 * * * *"}), None),
    ("two rules", ["PREVIEW", "CRON", "* * * * *", "EVERY", 1000],
     ("POST", "/v1/preview", {"cron": "* * * * *", "every": 1000}), None),
    ("bad cursor", ["LIST", "CURSOR", "x"], ("GET", "/v1/jobs?cursor=x", None), None),
    ("bad state", ["LIST", "STATE", "x"], ("GET", "/v1/jobs?state=x", None), None),
    ("bad zone", ["PREVIEW", "EVERY", 1000, "TZ", "Mars"], ("POST", "/v1/preview", {"every": 1000, "tz": "Mars"}), None),
    ("redrive of a waiting one", ["REDRIVE", "{waiting}"], ("POST", "/v1/jobs/{waiting}/redrive", None), None),
    ("too large", ["SCHEDULE", "{q}", "x", "KEY", "k" * 600],
     ("POST", "/v1/jobs", {"queue": "{q}", "payload": "x", "key": "k" * 600}), None),
    ("a bad item", ["BATCH", "all", 2, "{q}", "1", 4, "{q}", "2", "PRIORITY", "0"],
     ("POST", "/v1/jobs/batch", {"mode": "all", "items": [{"queue": "{q}", "payload": "1"},
                                                          {"queue": "{q}", "payload": "2", "priority": 0}]}), None),
]


def fill(value, names):
    if isinstance(value, str):
        return value.format(**names) if "{" in value else value
    if isinstance(value, list):
        return [fill(v, names) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, names) for k, v in value.items()}
    return value


def prepare(resp, queue):
    """A queue with a leased job and one that waits."""
    id = resp.call("SCHEDULE", queue, "first", "TAG", "t", "META", "m", "v", "ATTEMPTS", 3)
    waiting = resp.call("SCHEDULE", queue, "second", "IN", "2h", "KEY", f"{queue}-key", "PRIORITY", 2)
    resp.call("SCHEDULE", queue, "x", "TENANT", f"t-{queue}")
    job, = resp.lease(queue, "FOR", "1h", "WORKER", "me")
    return {"q": queue, "id": id, "token": str(job["token"]), "waiting": waiting}


def same_words(value, queue):
    """A side's own names as if both had the same."""
    if isinstance(value, str):
        return value.replace(queue, "<queue>")
    if isinstance(value, list):
        return [same_words(v, queue) for v in value]
    if isinstance(value, dict):
        return {k: same_words(v, queue) for k, v in value.items()}
    return value


def ask_resp(resp, words):
    try:
        return resp.call(*words)
    except Refused as e:
        code, text = str(e).split(" ", 1)
        return {"error": code, "text": text}


def ask_web(web, method, path, body, where):
    answer = web.ask(method, path, body)
    if answer.status >= 400:
        return {"error": answer.json["code"], "text": answer.json["detail"]}
    if where == "OK":
        assert answer.status == 204 and answer.body == b""
        return "OK"
    value = answer.json[where] if where else answer.json
    return [item["id"] for item in value] if where == "results" else value


@pytest.mark.parametrize("name, words, http, where", CASES, ids=[c[0].replace(" ", "-") for c in CASES])
def test_both_protocols_answer_the_same(both, name, words, http, where):
    resp, web = both
    stem = re.sub(r"\W", "", name)
    one, two = prepare(resp, f"r-{stem}"), prepare(resp, f"h-{stem}")
    over_resp = ask_resp(resp, fill(words, one))
    method, path, body = http
    over_http = ask_web(web, method, fill(path, two), fill(body, two), where)
    over_resp, over_http = same_words(over_resp, one["q"]), same_words(over_http, two["q"])
    if isinstance(over_resp, dict) and "error" in over_resp and "text" in over_resp:
        text = re.sub(r"[0-9A-Z]{26}", "<id>", over_resp["text"])
        over_resp = {**over_resp, "text": text}
        over_http = {**over_http, "text": re.sub(r"[0-9A-Z]{26}", "<id>", over_http.get("text", ""))}
    assert normal(over_http) == normal(over_resp)
    # And both sides are left alike.
    left = [normal(same_words(resp.call("LIST", "QUEUE", s["q"]), s["q"])) for s in (one, two)]
    for page in left:
        page["jobs"].sort(key=str)
    assert left[0] == left[1]
    shown = [normal(same_words(resp.call("GET", s["id"]), s["q"])) for s in (one, two)]
    assert shown[0] == shown[1]
