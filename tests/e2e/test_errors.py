# SPDX-License-Identifier: MIT
"""ERRORS: failures in groups, compared with what was thrown, and with LIST."""
import json
from collections import Counter

import pytest

from shell import run
from steps import refused
from web import Web

SERVER = "server"

THROWN = {
    "connect to db-<n>: timeout after <n>.<n>s (request <id>)":
        [f"connect to db-{i}: timeout after {i}.5s (request 9f86d08{i}8{i})" for i in range(1, 5)],
    'no such user "..."': ['no such user "ann"', "no such user 'bob'", "no such user `carol`", "no such user \"d. o'neil\""],
    "job <id> can't be found": ["job 01M7HYNQRQ0000000000000001 can't be found",
                                "job 550e8400-e29b-41d4-a716-446655440000 can't be found"],
    "Traceback:": ["Traceback:\n  line 17\n  ValueError", "\n  Traceback: \r\n  line 99\n  KeyError"],
    "<none>": ["", ""],
    "plain": ["plain"],
}


def kill(w, queue, error, *options, final=True):
    id = w.call("SCHEDULE", queue, "x", *options)
    tenant = [options[i + 1] for i, o in enumerate(options) if o == "TENANT"]
    (job,) = w.call("LEASE", f"{queue}", *(["TENANT", *tenant] if tenant else []))
    assert job["id"] == id
    w.call("FAIL", id, job["token"], *(["ERROR", error] if error else []), *(["FINAL", "yes"] if final else ["RETRY", "1h"]))
    return id


def groups(w, *options):
    """All pages, with the counts of each group added."""
    found, cursor = {}, None
    while True:
        page = w.call("ERRORS", *options, *(["CURSOR", cursor] if cursor else []))
        for g in page["groups"]:
            at = found.setdefault((g["tenant"], g["queue"], g["error_group"]), dict(g, count=0, dead=0))
            at["count"] += g["count"]
            at["dead"] += g["dead"]
            at["first_ms"] = min(at["first_ms"], g["first_ms"])
            at["last_ms"] = max(at["last_ms"], g["last_ms"])
        cursor = page["cursor"]
        if cursor is None:
            return found


def listed(w, *options):
    ids, cursor = [], None
    while True:
        page = w.call("LIST", "LIMIT", "1000", *options, *(["CURSOR", cursor] if cursor else []))
        ids += [j["id"] for j in page["jobs"]]
        cursor = page["cursor"]
        if cursor is None:
            return ids


def test_what_was_thrown_is_what_is_shown(server, b):
    thrown = {}
    for queue, times in (("mail", 1), ("sms", 2)):
        for pattern, errors in THROWN.items():
            for error in errors * times:
                thrown.setdefault((queue, pattern), []).append(kill(b, queue, error))
    kill(b, "mail", "plain 7", final=False)
    for end in (None, server.stop, server.kill):
        if end:
            b.close()
            end()
            server.start()
            b = server.wire(3)
        found = groups(b, "TENANT", "default")
        assert {(q, p): g["count"] for (_, q, p), g in found.items()} == {k: len(ids) for k, ids in thrown.items()}
        for (_, queue, pattern), g in found.items():
            ids = thrown[queue, pattern]
            assert g["dead"] == g["count"] and g["first_ms"] <= g["last_ms"] and g["id"] in ids
            assert g["error"] in THROWN[pattern] or (pattern == "<none>" and g["error"] is None)
            assert sorted(listed(b, "QUEUE", queue, "STATE", "dead", "ERROR_GROUP", pattern)) == sorted(ids)
        assert sum(g["count"] for g in found.values()) == len(listed(b, "STATE", "dead"))
    (retried,) = groups(b, "STATE", "scheduled").values()
    assert (retried["count"], retried["dead"], retried["error_group"], retried["queue"]) == (1, 0, "plain <n>", "mail")
    assert set(q for _, q, _ in groups(b, "QUEUE", "sms")) == {"sms"}
    assert [g["error_group"] for g in groups(b, "QUEUE", "sms", "ERROR", "no such").values()] == ['no such user "..."']
    assert groups(b, "TO", 1) == {} and groups(b, "QUEUE", "none") == {}
    assert groups(b, "FROM", 1) == groups(b)
    with Web(server.port) as web:
        rows = web.get("/v1/errors?queue=mail")["groups"]
        assert rows == b.call("ERRORS", "QUEUE", "mail")["groups"]
        assert [r["last_ms"] for r in rows] == sorted((r["last_ms"] for r in rows), reverse=True)
    assert json.loads(run(server, "errors", "--queue", "mail", "--json").stdout)["groups"] == rows
    refused("INVALID", b.call, "ERRORS", "CURSOR", "nonsense")


def test_many_dead_jobs_on_disk(make_server):
    """Pages have all of them once; 300 patterns are more than a page has."""
    server = make_server(memory="16MiB")
    w = server.wire(3)
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(300)]
    expected = Counter()
    for i in range(0, 4800, 300):
        batch = []
        for j in range(300):
            batch += ["4", "mail", "x" * 4000, "ATTEMPTS", "1"]
        w.call("BATCH", "all", *batch)
        for n, job in enumerate(w.call("LEASE", "mail", "COUNT", "300")):
            word = words[n] if i % 600 else "often"
            w.call("FAIL", job["id"], job["token"], "ERROR", f"{word} {n}")
            expected[f"{word} <n>"] += 1
    assert w.call("STATS")["cold_jobs"] > 0, "nothing went to disk"
    assert {p: g["count"] for (_, _, p), g in groups(w).items()} == expected
    assert len(listed(w, "ERROR_GROUP", "often <n>", "STATE", "dead")) == expected["often <n>"]


def test_a_tenant_sees_its_own_errors(server, b):
    kill(b, "mail", "of acme", "TENANT", "acme")
    kill(b, "mail", "of default")
    root = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", root)
    acme = b.call("TOKENCREATE", "acme", "read-only", "TENANT", "acme")["token"]
    assert {k[2] for k in groups(b)} == {"of default"}
    assert {k[::2] for k in groups(b, "TENANT", "*")} == {("acme", "of acme"), ("default", "of default")}
    with server.wire(3) as own:
        own.call("AUTH", acme)
        assert {k[2] for k in groups(own)} == {"of acme"}
        refused("NOPERM", own.call, "ERRORS", "TENANT", "*")


@pytest.mark.parametrize("error", [b"\xff\xfe\x00 binary", "é" * 300, "'", '"', "0x", "<n> <id>", "a" * 5000, " \n "])
def test_odd_texts(b, error):
    id = kill(b, "odd", error)
    (group,) = [g for g in b.call("ERRORS", "QUEUE", "odd")["groups"] if g["id"] == id]
    assert id in listed(b, "QUEUE", "odd", "ERROR_GROUP", group["error_group"])
