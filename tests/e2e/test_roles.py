# SPDX-License-Identifier: MIT
"""Who may do what: every verb of the table, by every role, for its own tenant and for another's, over RESP and HTTP.
A verb that is not in EXPECT fails the first test."""
import base64
import json
import re
import urllib.parse

import pytest

from conftest import wait_for
from steps import never_was
from web import Web
from wire import Refused, encode

ROLES = ("admin", "producer", "worker", "read-only")
P, W, R = "producer", "worker", "read-only"

# Who may call it besides an admin. "*": only for a token of all tenants.
EXPECT = {
    "SCHEDULE": {P}, "BATCH": {P}, "LEASE": {W}, "COMPLETE": {W}, "FAIL": {W}, "EXTEND": {W}, "LOG": {W}, "RELEASE": {W},
    "CANCEL": {P}, "DELETE": {P}, "RESCHEDULE": {P}, "EDIT": {P}, "CLONE": {P}, "GET": {P, W, R}, "LIST": {P, R}, "COUNT": {P, R}, "EXPLAIN": {P, R}, "FORECAST": {R},
    "PREVIEW": {P, R}, "OCCURRENCES": {P, R}, "RECUR": {P}, "RECURRENCE": {P, R}, "RECURRENCES": {P, R}, "RECURPAUSE": {P},
    "RECURRESUME": {P}, "RECURRUN": {P}, "RECURDELETE": {P}, "STATS": {R}, "METRICS": {R}, "QUEUES": {R}, "WORKERS": {R}, "SERIES": {R},
    "OVERVIEW": {R}, "ERRORS": {P, R},
    "QUEUE": {R}, "PAUSE": set(), "RESUME": set(), "TENANT": {R}, "TENANTS": {R}, "REDRIVE": set(),
    "QUEUEDELETE": set(), "TENANTDELETE": {"*"}, "BULK": set(), "BULKS": {R}, "BULKSTOP": set(), "AUDIT": {R},
    "TOKENCREATE": {"*"}, "TOKENS": {"*"}, "TOKENREVOKE": {"*"},
}
ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # of no job

# A call of each that could go well or not, but gets past every check of the words.
CALLS = {
    "SCHEDULE": ["q", "x", "IN", "1h"], "BATCH": ["all", "4", "q", "x", "IN", "1h"], "LEASE": ["q"],
    "COMPLETE": [ID, "1"], "FAIL": [ID, "1"], "EXTEND": [ID, "1"], "LOG": [ID, "1", "x"], "RELEASE": [ID, "1"], "CANCEL": [ID], "DELETE": [ID],
    "RESCHEDULE": [ID], "EDIT": [ID, "PRIORITY", "1"], "CLONE": [ID], "GET": [ID], "LIST": [], "COUNT": [], "EXPLAIN": [ID], "FORECAST": [], "PREVIEW": ["EVERY", "1h"], "OCCURRENCES": [],
    "RECUR": ["r", "q", "x", "EVERY", "1h"], "RECURRENCE": ["r"], "RECURRENCES": [], "RECURPAUSE": ["r"],
    "RECURRESUME": ["r"], "RECURRUN": ["r"], "RECURDELETE": ["r"], "STATS": [], "METRICS": [], "QUEUES": [], "WORKERS": [], "SERIES": [],
    "OVERVIEW": [], "ERRORS": [],
    "QUEUE": ["q"], "PAUSE": ["q"], "RESUME": ["q"], "TENANT": ["acme"], "TENANTS": [], "REDRIVE": [ID],
    "QUEUEDELETE": ["q"], "TENANTDELETE": ["nobody"], "BULK": ["cancel", "QUEUE", "q"], "BULKS": [], "BULKSTOP": [ID], "AUDIT": [],
    "TOKENCREATE": ["made", "worker"], "TOKENS": [], "TOKENREVOKE": ["nobody"],
}
OPEN_TO_ALL = {"/", "/favicon.ico", "/healthz", "/readyz", "/docs", "/openapi.json"}


class Realm:
    """A server with tokens: root, and of each role one of tenant acme (`acme/worker`), of zeta, and of all (`*`)."""

    def __init__(self, server):
        self.server = server
        with server.wire(3) as w:
            root = w.call("TOKENCREATE", "root", "admin")["token"]
            w.call("AUTH", root)
            self.tokens = {"root": root}
            for tenant in ("acme", "zeta", "*"):
                for role in ROLES:
                    name = f"{tenant.replace('*', 'all')}/{role}"
                    made = w.call("TOKENCREATE", name, role, "TENANT", tenant)
                    assert (made["role"], made["tenant"]) == (role, tenant)
                    self.tokens[name] = made["token"]

    def wire(self, name, proto=3):
        w = self.server.wire(proto)
        if name:
            assert w.call("AUTH", self.tokens[name]) == "OK"
        return w

    def ask(self, name, method, path, body=None):
        headers = {"Authorization": "Bearer " + self.tokens[name]} if name else {}
        with Web(self.server.port) as w:
            return w.ask(method, path, body, headers)


@pytest.fixture(scope="module")
def realm(shared_server):
    return Realm(shared_server)


@pytest.fixture
def own_realm(make_server):
    """For tests that change tokens."""
    return Realm(make_server())


def code_of(w, *words):
    """The code of its error, or None."""
    try:
        w.call(*words)
        return None
    except Refused as e:
        return e.code


def raw(w, *words):
    """A whole reply as its bytes."""
    w.send(*words)
    start = len(w.buf) - w.pos
    assert start == 0
    w.recv()
    return w.buf[:w.pos] if w.pos else b""


def verbs(realm):
    with realm.wire("root") as w:
        return w.call("COMMAND", "DOCS")


def has_tenant(doc):
    return any(a["name"] == "tenant" for a in doc.get("arguments", []))


def allowed(verb, role, tenant="acme"):
    who = EXPECT[verb]
    return role == "admin" and ("*" not in who or tenant == "*") or role in who


# ---- The matrix ----


def test_every_verb_says_here_who_may_call_it(realm):
    assert {name.upper() for name in verbs(realm)} == set(EXPECT) == set(CALLS)


@pytest.mark.parametrize("tenant", ["acme", "*"])
@pytest.mark.parametrize("role", ROLES)
def test_every_verb_by_every_role(realm, role, tenant):
    with realm.wire(f"{tenant.replace('*', 'all')}/{role}") as w:
        for verb in EXPECT:
            code = code_of(w, verb, *CALLS[verb])
            assert (code == "NOPERM") != allowed(verb, role, tenant), (verb, role, code)
            assert code != "NOAUTH"
            assert code_of(w, verb.lower(), *CALLS[verb]) != "NOAUTH"  # likewise in other letters


@pytest.mark.parametrize("role", ROLES)
def test_no_verb_takes_another_tenant(realm, role):
    docs = verbs(realm)
    with realm.wire(f"acme/{role}") as w, realm.wire(f"all/{role}") as everybody:
        for verb, doc in docs.items():
            verb = verb.upper()
            if has_tenant(doc) and verb != "TOKENCREATE":
                for other in ("zeta", "default", "nobody", "*"):
                    answers = raw(w, verb, *CALLS[verb], "TENANT", other)
                    assert answers.startswith(b"-NOPERM "), (verb, other)
                own = code_of(w, verb, *CALLS[verb], "TENANT", "acme")
                assert (own == "NOPERM") != allowed(verb, role), (verb, own)
                theirs = code_of(everybody, verb, *CALLS[verb], "TENANT", "zeta")
                assert (theirs == "NOPERM") != allowed(verb, role, "*"), (verb, theirs)
        if role == "admin":
            assert raw(w, "TENANT", "zeta") == raw(w, "TENANT", "nobody")
            assert code_of(w, "TENANT", "acme", "WEIGHT", "5") == "NOPERM"
            assert code_of(w, "TENANT", "acme", "MAINTENANCE", "no") is None
        if role == "producer":
            replies = w.call("BATCH", "each", "4", "q", "x", "TENANT", "zeta", "4", "q", "x", "IN", "1h")
            assert isinstance(replies[0], Refused) and replies[0].code == "NOPERM" and isinstance(replies[1], str)
            assert code_of(w, "BATCH", "all", "4", "q", "x", "TENANT", "zeta") == "NOPERM"


def operations(realm):
    api = realm.ask("root", "GET", "/openapi.json").json
    for path, methods in api["paths"].items():
        for method, op in methods.items():
            yield path, method.upper(), op


def fill(path, op):
    values = {"id": ID, "queue": "q", "key": "k", "name": "acme" if "/tenants/" in path else "r", "tenant": "acme"}
    return re.sub(r"{(\w+)}", lambda m: urllib.parse.quote(values[m[1]]), path)


def body_of(api, op):
    if "requestBody" not in op:
        return None
    values = {"queue": "q", "queues": "q", "payload": "x", "token": "1", "name": "made2", "role": "worker", "mode": "all",
              "items": [{"queue": "q", "payload": "x"}], "action": "cancel"}
    name = op["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
    schema = api["components"]["schemas"][name]
    body = {field: values[field] for field in schema.get("required", [])}
    if "payload_base64" in schema["properties"]:
        body["payload"] = "x"
    if op.get("x-verb") == "LOG":
        body["text"] = "x"
    if op.get("x-verb") in ("RECUR", "PREVIEW"):
        body["every"] = "1h"
    if op.get("x-verb") == "BULK":
        body["queue"] = "q"
    return body


def test_a_read_only_token_sees_settings_and_does_not_change_them(realm):
    with realm.wire("acme/admin") as w:
        w.call("QUEUE", "seen", "ATTEMPTS", "7")
    with realm.wire("acme/read-only") as w:
        assert w.call("QUEUE", "seen")["attempts"] == 7 and w.call("TENANT", "acme")["weight"] == 1
        for words in (["QUEUE", "seen", "ATTEMPTS", "8"], ["TENANT", "acme", "QUIET", ""]):
            assert code_of(w, *words) == "NOPERM"
        assert w.call("QUEUE", "seen")["attempts"] == 7
        assert code_of(w, "TENANT", "zeta") == "NOPERM"
    assert realm.ask("acme/read-only", "GET", "/v1/queues/seen").json["attempts"] == 7
    assert realm.ask("acme/read-only", "GET", "/v1/tenants/acme").status == 200
    assert realm.ask("acme/read-only", "PATCH", "/v1/queues/seen", {"attempts": 8}).status == 403


def watch_events(realm, role):
    """An answer that does not end: of HEAD there is only the beginning."""
    assert realm.ask(None, "HEAD", "/v1/events").status == 401
    assert realm.ask(f"acme/{role}", "HEAD", "/v1/events").status == (403 if role == "worker" else 200)
    if role != "worker":
        for other in ("zeta", "nobody", "*"):
            assert realm.ask(f"acme/{role}", "HEAD", f"/v1/events?tenant={other}").status == 403
        assert realm.ask(f"all/{role}", "HEAD", "/v1/events?tenant=zeta").status == 200


@pytest.mark.parametrize("role", ROLES)
def test_every_operation_of_http_by_every_role(realm, role):
    seen = set()
    api = realm.ask(None, "GET", "/openapi.json").json
    for path, method, op in operations(realm):
        where, body, verb = fill(path, op), body_of(api, op), op.get("x-verb")
        seen.add(verb)
        if path == "/v1/events":
            watch_events(realm, role)
            continue
        if op["operationId"] == "createSession":
            continue  # only pages may, whose token is in the body: test_session.py
        nobody = realm.ask(None, method, where, body)
        assert (nobody.status == 401) == (path not in OPEN_TO_ALL), (where, nobody)
        if nobody.status == 401:
            assert nobody.headers["WWW-Authenticate"] == 'Bearer realm="belfry"'
            assert nobody.json["code"] == "NOAUTH"
        answer = realm.ask(f"acme/{role}", method, where, body)
        if verb:
            looks = R if verb in ("QUEUE", "TENANT") and method == "PATCH" else "*"  # a change, even of nothing
            assert set(op["x-roles"]) - {"admin"} == EXPECT[verb] - {"*", looks}, where
            assert (answer.status == 403) != (allowed(verb, role) and role != looks), (where, answer)
        elif path == "/metrics":
            assert (answer.status == 403) != allowed("METRICS", role), (where, answer)
        else:
            assert answer.status in (200, 204), (where, answer)
        if verb and any(p["name"] == "tenant" and p["in"] == "query" for p in op.get("parameters", [])):
            other = realm.ask(f"acme/{role}", method, where + "?tenant=zeta", body)
            assert other.status == 403 and other.json["code"] == "NOPERM", (where, other)
            assert other.body == realm.ask(f"acme/{role}", method, where + "?tenant=nobody", body).body
    assert seen - {None} == set(EXPECT) - {"METRICS"}


def test_without_a_token_nothing_is_served_but_what_says_who_one_is(realm):
    with realm.wire(None) as w:
        for words in ([v, *c] for v, c in CALLS.items()):
            assert code_of(w, *words) == "NOAUTH", words
        for words in (["COMMAND"], ["INFO"], ["HELP"], ["ECHO", "x"], ["CLIENT", "ID"], ["SELECT", "0"], ["NIX"]):
            assert code_of(w, *words) == "NOAUTH", words
        assert w.call("PING") == "PONG" and w.call("RESET") == "RESET"
        assert w.call("HELLO", "3")["server"] == "belfry"
        assert w.call("QUIT") == "OK"


# ---- Nothing shows of other tenants ----


@pytest.mark.limit(120)
def test_what_is_anothers_is_as_if_it_were_not_there_byte_for_byte(own_realm):
    """What acme is answered before zeta has something of a name, and afterwards, is the same."""
    r = own_realm
    named = [["GET", "KEY", "k", "QUEUE", "q"], ["EXPLAIN", "KEY", "k", "QUEUE", "q"], ["CANCEL", "KEY", "k", "QUEUE", "q"],
             ["RECURRENCE", "r"], ["RECURPAUSE", "r"], ["RECURRESUME", "r"], ["RECURRUN", "r"], ["RECURDELETE", "r"],
             ["QUEUES"], ["TENANTS"], ["BULKS"], ["RECURRENCES"], ["LIST"], ["LIST", "QUEUE", "q"],
             ["STATS"], ["METRICS"], ["FORECAST", "FROM", "2030-01-01T00:00:00Z", "TO", "2030-01-02T00:00:00Z"],
             ["REDRIVE", "QUEUE", "q"], ["QUEUE", "q"], ["TENANT", "acme"], ["LEASE", "q"], ["AUDIT", "TO", "1"]]
    with r.wire("acme/admin") as acme, r.wire("zeta/admin") as zeta:
        before = {tuple(words): raw(acme, *words) for words in named}
        id = zeta.call("SCHEDULE", "q", "secret", "KEY", "k", "AT", "2030-01-01T12:00:00Z")
        held = zeta.call("SCHEDULE", "run", "secret")
        token = zeta.call("LEASE", "run")[0]["token"]
        dead = zeta.call("SCHEDULE", "q", "x", "ATTEMPTS", "1")
        zeta.call("FAIL", dead, zeta.call("LEASE", "q")[0]["token"])
        zeta.call("RECUR", "r", "q", "secret", "EVERY", "1h")
        zeta.call("QUEUE", "q", "ATTEMPTS", "7")
        zeta.call("PAUSE", "q")
        bulk = zeta.call("BULK", "cancel", "TAG", "none")["id"]
        for words, was in before.items():
            assert raw(acme, *words) == was, words
        ids = [["GET", id], ["EXPLAIN", id], ["CANCEL", id], ["RESCHEDULE", id], ["REDRIVE", dead], ["COMPLETE", held, token],
               ["FAIL", held, token], ["EXTEND", held, token], ["RELEASE", held, token], ["BULKS", "ID", bulk],
               ["BULKSTOP", bulk], ["SCHEDULE", "q", "x", "AFTER", id]]
        for words in ids:
            missing = [never_was(w) if w in (id, held, dead, bulk) else w for w in words]
            theirs, nobodys = raw(acme, *words), raw(acme, *missing)
            for a, b in ((id, never_was(id)),):
                theirs = theirs.replace(a.encode(), b.encode())
            assert theirs == nobodys, words
        assert zeta.call("GET", id)["state"] == "scheduled"
        assert zeta.call("COMPLETE", held, token) == "OK"
        for method, path in (("GET", "/v1/jobs/{}"), ("DELETE", "/v1/jobs/{}"), ("GET", "/v1/jobs/{}/explain")):
            a, b = (r.ask("acme/admin", method, path.format(i)) for i in (id, never_was(id)))
            assert (a.status, a.body) == (b.status, b.body), path


def without_ages(metrics):
    """Ages grow between two requests."""
    return [line for line in metrics.splitlines() if not line.startswith("belfry_queue_oldest_ready_seconds{")]


def test_figures_are_a_tenants_own(realm):
    with realm.wire("acme/read-only") as acme, realm.wire("zeta/admin") as zeta, realm.wire("all/read-only") as everybody:
        zeta.call("SCHEDULE", "only-zeta-has-this", "x", "IN", "1h")
        assert "zeta" in json.dumps(everybody.call("QUEUES", "TENANT", "*")) and "zeta" in everybody.call("METRICS")
        for words in (["STATS"], ["METRICS"], ["QUEUES"], ["TENANTS"], ["LIST"], ["AUDIT"], ["BULKS"], ["RECURRENCES"],
                      ["INFO"], ["FORECAST"]):
            assert "zeta" not in json.dumps(acme.call(*words)), words
        assert "tenant" in acme.call("STATS") and "rss_bytes" not in acme.call("STATS")
        assert "rss_bytes" in everybody.call("STATS")
        assert everybody.call("STATS", "TENANT", "zeta")["scheduled"] >= 1
        assert "process_resident_memory_bytes" not in acme.call("METRICS")
        assert "used_memory" not in acme.call("INFO") and "used_memory" in everybody.call("INFO")
        with realm.wire("all/producer") as producer, realm.wire("all/worker") as worker:
            for w in (producer, worker):
                assert "used_memory" not in w.call("INFO") and "loading:0" in w.call("INFO")
        metrics = realm.ask("acme/read-only", "GET", "/metrics").body
        assert b"zeta" not in metrics and without_ages(metrics.decode()) == without_ages(acme.call("METRICS"))
        assert b"zeta" in realm.ask("all/read-only", "GET", "/metrics").body


def pages(w, *words):
    cursors, jobs, cursor = [], [], None
    while True:
        page = w.call("LIST", *words, *(["CURSOR", cursor] if cursor else []))
        jobs += page["jobs"]
        cursor = page["cursor"]
        if not cursor:
            return cursors, jobs
        cursors.append(cursor)


@pytest.mark.limit(180)
def test_a_cursor_shows_no_queue_of_others(make_server):
    """Jobs on disk are walked by due time and by the names of queues, others' included."""
    realm = Realm(make_server(memory="16MiB"))
    name = "a-name-to-keep"
    with realm.wire("zeta/admin") as zeta, realm.wire("root") as root, realm.wire("acme/producer") as acme:
        mine = {acme.call("SCHEDULE", "q", "x", "IN", "1h") for _ in range(3)}
        payload = "x" * 4000
        sent = encode("SCHEDULE", name, payload) * 100
        for _ in range(80):  # due, and nobody takes them: they wait in the backlog of their queue
            zeta.exchange(sent, 100)
        wait_for(lambda: root.call("STATS")["cold_jobs"] > 1000, 60, "jobs on disk")
        cursors, jobs = pages(root, "TENANT", "*", "LIMIT", "1000")
        assert any(name.encode().hex() in c for c in cursors), "the test does not show what it is about"
        cursors, jobs = pages(acme, "LIMIT", "1")
        assert {j["id"] for j in jobs} == mine and cursors
        for c in cursors:
            assert re.fullmatch("[A-Za-z0-9_-]+", c)
            decoded = base64.urlsafe_b64decode(c + "=" * (-len(c) % 4))
            assert name.encode() not in decoded and name.encode().hex() not in c
        # It is good for this tenant and this verb.
        assert code_of(acme, "RECURRENCES", "CURSOR", cursors[0]) == "INVALID"
        assert code_of(zeta, "LIST", "CURSOR", cursors[0]) == "INVALID"
        assert code_of(acme, "LIST", "CURSOR", cursors[0][:-1] + ("A" if cursors[0][-1] != "A" else "B")) == "INVALID"
        assert code_of(acme, "LIST", "CURSOR", "0-0-0-0") == "INVALID"
        realm.server.kill()
        realm.server.start()
        with realm.wire("acme/producer") as again:
            assert code_of(again, "LIST", "CURSOR", cursors[0]) is None


def test_a_worker_of_all_tenants_leases_from_all_and_of_one_from_that_one(realm):
    with realm.wire("root") as root, realm.wire("all/worker") as every, realm.wire("acme/worker") as acme:
        for tenant in ("acme", "zeta", "default"):
            root.call("SCHEDULE", "shared-q", tenant, "TENANT", tenant)
        assert [j["tenant"] for j in acme.call("LEASE", "shared-q", "COUNT", "10")] == ["acme"]
        assert [j["tenant"] for j in every.call("LEASE", "shared-q", "COUNT", "10")] == ["default"]
        jobs = every.call("LEASE", "shared-q", "COUNT", "10", "TENANT", "*")
        assert [j["tenant"] for j in jobs] == ["zeta"]
        assert every.call("COMPLETE", jobs[0]["id"], jobs[0]["token"]) == "OK"
