# SPDX-License-Identifier: MIT
"""The audit log: what admins change is in it, durable before they are answered."""
import json
import random
import time

import pytest

from conftest import belfry, wait_for
from web import Web
from wire import Closed, Refused, encode, now_ms

SERVER = "server"  # each test has its own


def entries(b, *options):
    """All pages."""
    found, cursor = [], ()
    while True:
        page = b.call("AUDIT", "TENANT", "*", *options, *cursor)
        found += page["entries"]
        if not page["cursor"]:
            return found
        cursor = ("CURSOR", page["cursor"])


def verbs(b):
    return [e["verb"] for e in entries(b)]


def test_every_change_by_an_admin_is_an_entry(b):
    b.call("CLIENT", "SETNAME", "ops-laptop")
    start = now_ms()
    b.call("QUEUE", "q", "ATTEMPTS", 1)
    b.call("PAUSE", "other")
    b.call("RESUME", "q", "TENANT", "acme")
    b.call("TENANT", "zeta", "WEIGHT", 3)
    id = b.call("SCHEDULE", "q", "x")
    (job,) = b.lease("q")
    b.call("FAIL", id, job["token"])
    b.call("REDRIVE", id)
    bulk = b.call("BULK", "cancel", "QUEUE", "q")["id"]
    b.call("RECUR", "r", "q", "a secret", "EVERY", "1h")
    b.call("RECURPAUSE", "r")
    b.call("RECURRESUME", "r")
    made = b.call("RECURRUN", "r")
    b.call("RECURDELETE", "r")
    log = entries(b)
    assert [(e["verb"], e["tenant"]) for e in log] == [
        ("QUEUE", "default"), ("PAUSE", "default"), ("RESUME", "acme"), ("TENANT", "zeta"), ("REDRIVE", "default"),
        ("BULK", "default"), ("RECUR", "default"), ("RECURPAUSE", "default"), ("RECURRESUME", "default"),
        ("RECURRUN", "default"), ("RECURDELETE", "default")]
    assert {e["client"] for e in log} == {"ops-laptop"} and {e["user"] for e in log} == {None}
    assert all(e["address"].startswith("127.0.0.1:") for e in log)
    assert all(start <= e["at_ms"] <= now_ms() for e in log)
    by = {e["verb"]: e for e in log}
    assert by["QUEUE"]["request"] == "QUEUE q ATTEMPTS 1"
    assert by["REDRIVE"]["outcome"] == "1 put back"
    assert by["BULK"]["outcome"].startswith(bulk)
    assert by["RECUR"]["request"] == "RECUR r q (8 bytes) EVERY 1h"
    assert by["RECURRUN"]["outcome"].startswith(made)


def test_what_changes_nothing_is_not(b):
    b.call("SCHEDULE", "q", "x")
    b.call("QUEUE", "q")
    b.call("TENANT", "default")
    b.call("QUEUES"), b.call("STATS"), b.call("LIST"), b.call("BULKS"), b.call("AUDIT")
    assert b.call("REDRIVE", "QUEUE", "q") == 0
    for bad in (("QUEUE", "q", "ATTEMPTS", "-1"), ("PAUSE",), ("BULK", "cancel"), ("RECURPAUSE", "none"),
                ("REDRIVE", "0" * 26), ("TENANT", "*", "WEIGHT", 1)):
        with pytest.raises(Refused):
            b.call(*bad)
    assert entries(b) == []


def test_a_request_that_changes_nothing_is_not(b):
    """Each of these twice: the second one finds everything as it is to be."""
    b.call("RECUR", "r", "q", "p", "EVERY", "1h", "START", "2030-01-01T00:00:00Z")
    twice = [("PAUSE", "q"), ("RESUME", "q"), ("QUEUE", "q", "ATTEMPTS", 3, "BACKOFF", "fixed:20s", "RATE", "5/1m"),
             ("QUEUE", "q", "PUSH_URL", "http://a.example/"), ("QUEUE", "q", "PUSH_HEADERS", "A: b"),
             ("TENANT", "acme", "WEIGHT", 3, "QUIET", "22:00-07:00", "TZ", "Europe/London", "MAX_QUEUES", 7),
             ("RECURPAUSE", "r"), ("RECURRESUME", "r"),
             ("RECUR", "r", "q", "other", "EVERY", "1h", "START", "2030-01-01T00:00:00Z")]
    before = len(entries(b))
    for words in twice:
        b.call(*words)
        assert b.call(*words) == b.call(*words)
    assert [e["verb"] for e in entries(b)[before:]] == [words[0] for words in twice]
    for words in (("QUEUE", "q", "ATTEMPTS", 3, "LEASE", "2m"), ("TENANT", "acme", "WEIGHT", 3, "SPREAD", "1m")):
        b.call(*words)  # one of the two is another
    assert len(entries(b)) == before + len(twice) + 2


def test_a_recurrence_that_only_came_from_disk_is_not(make_server):
    """To look at it is to bring it to memory, which has a record, too."""
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        far = ("EVERY", "52w", "START", "2040-01-01T00:00:00Z")
        b.call("RECUR", "r", "q", "p", *far)
        b.call("RECURPAUSE", "r")
        fed = b.call("STATS")["fed_batches"]
        for round in range(6):
            b.pipeline([("SCHEDULE", "jobs", "x" * 700, "IN", "9h") for _ in range(8000)], timeout=60)
        wait_for(lambda: b.call("STATS")["fed_batches"] > fed)
        before = verbs(b)
        assert b.call("RECURPAUSE", "r") == "OK"
        assert b.call("RECURRENCE", "r")["paused"] is True
        assert verbs(b) == before


def test_a_tenant_sees_its_own(b):
    for verb, tenant in (("PAUSE", "acme"), ("PAUSE", "default"), ("RESUME", "acme"), ("PAUSE", "zeta")):
        b.call(verb, "q", "TENANT", tenant)
    assert len(b.call("AUDIT", "TENANT", "acme")["entries"]) == 2
    assert len(b.call("AUDIT", "TENANT", "default")["entries"]) == 1
    assert b.call("AUDIT")["entries"] == entries(b) and len(entries(b)) == 4


def test_words_are_cut_and_quoted(b):
    b.call("QUEUE", "q", "BACKOFF", "fixed:20s")
    b.call("RECUR", "r", "q", "p", "EVERY", "1h", "META", "note", 'say "hi"\n', "META", "long", "x" * 1000)
    assert entries(b)[-1]["request"] == (
        'RECUR r q (1 bytes) EVERY 1h META note "say \\"hi\\"\\x0a" META long ' + "x" * 100 + "...")
    b.call("RECUR", "r", "q", "p", "EVERY", "1h", *(w for i in range(30) for w in ("META", f"n{i}", "y" * 500)))
    assert len(entries(b)[-1]["request"]) <= 1024


def test_pages_and_times(b):
    for i in range(50):
        b.call("QUEUE", f"q{i}", "ATTEMPTS", i)
    for limit in (1, 7, 50, 1000):
        assert [e["request"] for e in entries(b, "LIMIT", limit)] == [f"QUEUE q{i} ATTEMPTS {i}" for i in range(50)]
    middle = entries(b)[20]["at_ms"]
    late = entries(b, "FROM", middle, "LIMIT", 3)
    assert all(e["at_ms"] >= middle for e in late)
    early = entries(b, "TO", middle, "LIMIT", 3)
    assert len(early) + len(late) == 50
    for bad in ("x", "1-0-0-0", "0-0-0-0-1-2-ff"):
        with pytest.raises(Refused) as info:
            b.call("AUDIT", "CURSOR", bad)
        assert str(info.value).startswith("INVALID cursor")


def test_they_are_not_jobs(b):
    b.call("PAUSE", "q")
    (entry,) = entries(b)
    assert b.call("GET", entry["id"]) is None
    assert b.call("LIST", "TENANT", "*")["jobs"] == []
    assert [q["queue"] for q in b.call("QUEUES")] == ["q"]
    assert b.call("STATS")["done"] == 0
    assert b.call("BULK", "delete", "STATE", "done")["id"]
    wait_for(lambda: b.call("BULKS")[0]["state"] == "done")
    assert b.call("BULKS")[0]["matched"] == 0 and "PAUSE" in verbs(b)


def test_they_are_in_the_servers_log(b, server):
    b.call("PAUSE", "q")
    server.says('"message":"audit"')
    line = next(x for x in map(json.loads, server.log().splitlines()) if x["message"] == "audit")
    assert (line["level"], line["verb"], line["request"], line["tenant"]) == ("info", "PAUSE", "PAUSE q", "default")


def test_retention(make_server):
    refused = make_server(start=False, audit_retention="1s").refused()
    assert refused[0] != 0 and "--audit-retention: expected a duration from 1h" in refused[1]
    with make_server(audit_retention="1h").wire(3) as b:
        b.call("PAUSE", "q")
        assert len(entries(b)) == 1


def test_on_disk_and_in_memory_they_are_in_order(make_server):
    """Memory is small and full of other things: older entries go to disk."""
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        n = 0
        for round in range(6):
            b.pipeline([("QUEUE", "q", "ATTEMPTS", i % 7) for i in range(3000)], timeout=60)
            n += 3000
            b.pipeline([("SCHEDULE", "jobs", "x" * 700, "IN", "9h") for _ in range(4000)], timeout=60)
        log = entries(b, "LIMIT", 1000)
        assert len(log) == n and [e["request"] for e in log[:3000]] == [f"QUEUE q ATTEMPTS {i % 7}" for i in range(3000)]
        ids = [e["id"] for e in log]
        assert len(set(ids)) == n
        at = [e["at_ms"] for e in log]
        assert at == sorted(at)
        server.kill()
        server.start()
        with server.wire(3) as again:
            assert [e["id"] for e in entries(again, "LIMIT", 777)] == ids


@pytest.mark.limit(120)
def test_what_was_answered_is_in_it_after_kill(make_server):
    server = make_server()
    random.seed(now_ms())
    acknowledged = 0
    for round in range(5):
        replies = []
        w = server.wire(3)
        try:
            commands = b"".join(encode("QUEUE", f"q{round}", "ATTEMPTS", i) for i in range(5000))
            w.sock.sendall(commands[:200_000])
            sent = commands[:200_000].count(b"ATTEMPTS") - 1
            replies.append(w.recv())
            stop = time.monotonic() + random.uniform(0.01, 0.3)
            while time.monotonic() < stop and len(replies) < sent:
                replies.append(w.recv())
        finally:
            server.kill()
            try:
                while True:
                    replies.append(w.recv())
            except (Closed, OSError):
                pass
        acknowledged = len([r for r in replies if not isinstance(r, Refused)])
        server.start()
        with server.wire(3) as b:
            logged = [e["request"] for e in entries(b, "LIMIT", 1000) if f" q{round} " in e["request"]]
            # Those that were answered, in order; of the others the first ones may be there, too.
            assert logged == [f"QUEUE q{round} ATTEMPTS {i}" for i in range(len(logged))]
            assert len(logged) >= acknowledged > 0
            attempts = b.call("QUEUE", f"q{round}")["attempts"]
            assert attempts in (len(logged) - 1, len(logged)), "what was done and what was logged differ"


def test_command_line(b, server):
    b.call("PAUSE", "q")
    out = belfry("audit", "--tenant", "*", "--port", server.port)
    assert out.returncode == 0 and "PAUSE q" in out.stdout, out
    out = belfry("audit", "--json", "--port", server.port)
    assert json.loads(out.stdout)["entries"][0]["verb"] == "PAUSE"


# ---- Floods ----

def token(root, name, role, tenant):
    return root.call("TOKENCREATE", name, role, "TENANT", tenant)["token"]


def with_token(server, text):
    w = server.wire(3)
    assert w.call("AUTH", text) == "OK"
    return w


def flood(w, n=200):
    """Changes and changes back; how many were made. The others must be refused with a hint."""
    made = 0
    for i in range(n):
        try:
            w.call("RECURPAUSE" if made % 2 == 0 else "RECURRESUME", "r")
            made += 1
        except Refused as e:
            assert str(e).startswith("RATE ") and "audit_rate" in str(e) and "try again in" in str(e), e
    return made


def figure(w, name):
    (line,) = [x for x in w.call("METRICS").splitlines() if x.startswith(name + " ")]
    return int(line.split()[-1])


def test_a_flood_is_refused_counted_and_told(make_server):
    server = make_server(audit_rate=1, audit_burst=20)
    with server.wire(3) as first:
        root = with_token(server, first.call("TOKENCREATE", "root", "admin")["token"])
    shop = with_token(server, token(root, "shop", "producer", "acme"))
    boss = with_token(server, token(root, "boss", "admin", "acme"))
    other = with_token(server, token(root, "other", "producer", "zeta"))
    with root, shop, boss, other:
        for w in (shop, other):
            w.call("RECUR", "r", "q", "p", "EVERY", "1h")
        made = flood(shop)
        assert 19 <= made < 100
        # Nothing has changed without its entry, and nothing was refused that has one.
        mine = [e for e in entries(root) if e["user"] == "shop"]
        assert len(mine) == made + 1
        assert shop.call("RECURRENCE", "r")["paused"] is (made % 2 == 1)
        # Others go on: jobs of the same tenant, its admin, other tenants, and above all the admin of all.
        shop.call("SCHEDULE", "q", "x")
        boss.call("PAUSE", "q")
        other.call("RECURPAUSE", "r")
        for i in range(60):
            root.call("RECURPAUSE" if i % 2 else "RECURRESUME", "r", "TENANT", "acme")
            root.call("QUEUE", "q", "ATTEMPTS", i, "TENANT", "acme")
        refused = figure(root, "belfry_audit_refused_total")
        assert refused >= 100 and root.call("STATS")["audit_refused"] == refused
        # One entry tells of all of them, when it is over.
        wait_for(lambda: [e for e in entries(root) if e["verb"] == "AUDIT"], 30, "the entry about refused changes")
        (told,) = [e for e in entries(root) if e["verb"] == "AUDIT"]
        assert (told["tenant"], told["user"], told["request"]) == ("acme", None, "audit_rate")
        assert told["outcome"] == f"{refused} changes were refused"
        assert boss.call("AUDIT", "LIMIT", 1000)["entries"][-1]["outcome"] == told["outcome"]


def test_a_tenant_without_room_in_the_log_can_still_look(make_server):
    server = make_server(audit_rate=1, audit_burst=2)
    with server.wire(3) as first:
        root = with_token(server, first.call("TOKENCREATE", "root", "admin")["token"])
    boss = with_token(server, token(root, "boss", "admin", "acme"))
    with root, boss:
        tries, refused = 0, None
        while not refused:
            tries += 1
            try:
                boss.call("QUEUE", "q", "ATTEMPTS", tries)
            except Refused as e:
                refused = str(e)
        assert tries >= 3 and refused.startswith("RATE ")
        assert boss.call("QUEUE", "q")["attempts"] == tries - 1
        assert boss.call("TENANT", "acme")["tenant"] == "acme"
        boss.call("AUDIT"), boss.call("QUEUES"), boss.call("RECURRENCES")
        headers = {"Authorization": "Bearer " + token(root, "boss2", "admin", "acme")}
        with Web(server.port) as web:
            for attempts in range(1000, 2000):  # each second has room for one
                answer = web.ask("PATCH", "/v1/queues/q", {"attempts": attempts}, headers)
                if answer.status != 200:
                    break
            assert answer.status == 429 and answer.json["code"] == "RATE"
    server.stop()  # what the log was not told of yet is entered now
    server.start()
    with with_token(server, headers["Authorization"].split()[1]) as boss:
        assert "changes were refused" in boss.call("AUDIT")["entries"][-1]["outcome"]


def test_the_rate_can_be_switched_off(make_server):
    server = make_server(audit_rate=0, audit_burst=1)
    with server.wire(3) as first:
        root = with_token(server, first.call("TOKENCREATE", "root", "admin")["token"])
    shop = with_token(server, token(root, "shop", "producer", "acme"))
    with root, shop:
        shop.call("RECUR", "r", "q", "p", "EVERY", "1h")
        assert flood(shop) == 200
        assert len([e for e in entries(root) if e["user"] == "shop"]) == 201


def test_the_oldest_go_beyond_audit_max(make_server):
    """In memory at once, and on disk by a merge; a restart brings none back."""
    server = make_server(memory="16MiB", audit_max=2000)

    def numbers(w):
        return [int(e["request"].split()[-1]) for e in entries(w, "LIMIT", 1000)]

    with server.wire(3) as b:
        b.pipeline([("QUEUE", "q", "ATTEMPTS", i) for i in range(2500)], timeout=60)
        assert numbers(b) == list(range(500, 2500))
        assert figure(b, "belfry_audit_entries") == 2000 and figure(b, "belfry_audit_dropped_total") == 500
        n = 2500
        for round in range(4):
            b.pipeline([("QUEUE", "q", "ATTEMPTS", i) for i in range(n, n + 1500)], timeout=60)
            n += 1500
            b.pipeline([("SCHEDULE", "jobs", "x" * 700, "IN", "9h") for _ in range(6000)], timeout=60)
        wait_for(lambda: b.call("STATS")["audit_entries"] <= 2000, 60, "a merge")
        log = numbers(b)
        assert log == list(range(n - len(log), n)) and len(log) >= 2000 - 2000 // 16
        assert figure(b, "belfry_audit_dropped_total") == n - len(log)
        server.kill()
        server.start()
        with server.wire(3) as again:
            assert numbers(again) == log
