# SPDX-License-Identifier: MIT
"""OVERVIEW: what is worth a look, among any number of queues and tenants."""
import time

from web import Web

QUEUES = 9000  # more than the server looks at in two pieces
SERVER = "server"
KINDS = ("busy", "held", "unserved", "dead", "gated")


def whole(call, *args, since=0):
    """The answer once the server had looked at all things that were there at the call."""
    begin = time.time() * 1000
    end = time.monotonic() + 30
    while time.monotonic() < end:
        o = call("OVERVIEW", *args)
        if o["at_ms"] is not None and o["at_ms"] > begin + since:
            return o
        time.sleep(0.05)
    raise AssertionError(f"no pass ended: {o}")


def names(rows):
    return [(row["tenant"], row["queue"]) for row in rows]


def test_nothing_is_worth_a_look(b):
    o = whole(b.call)
    assert [o[kind] for kind in KINDS] == [[], [], [], [], []] and o["queues"] == 0 and o["held_queues"] == 0


def test_each_kind_with_its_figures(server, b):
    b.call("TENANT", "acme", "MAINTENANCE", "yes")
    b.call("TENANT", "hooli", "MAX_PENDING", "4")
    b.call("QUEUE", "dying", "ATTEMPTS", "1")
    for queue, tenant, n in (("calm", "default", 3), ("shut", "acme", 2), ("stopped", "default", 5), ("dying", "default", 4), ("near", "hooli", 4)):
        for _ in range(n):
            b.call("SCHEDULE", queue, "x", "TENANT", tenant)
    b.call("PAUSE", "stopped")
    begin = time.time() * 1000
    for job in b.call("LEASE", "dying", "COUNT", "4"):
        b.call("FAIL", job["id"], job["token"])
    o = whole(b.call, since=1100)
    assert names(o["busy"]) == [("default", "stopped"), ("hooli", "near"), ("default", "calm"), ("acme", "shut")]
    assert names(o["held"]) == [("default", "stopped"), ("acme", "shut")]
    assert [row["held_by"] for row in o["held"]] == ["the queue is paused", "the tenant is in maintenance"]
    assert names(o["unserved"]) == [("hooli", "near"), ("default", "calm")]
    assert names(o["dead"]) == [("default", "dying")]
    assert [row["tenant"] for row in o["gated"]] == ["hooli", "acme"]
    assert (o["held_queues"], o["unserved_queues"], o["dead_queues"], o["gated_tenants"], o["queues"], o["tenants"]) == (2, 2, 1, 2, 5, 3)
    dying, calm = o["dead"][0], o["unserved"][1]
    assert dying["dead"] == dying["total_failed"] == 4 and begin - 1000 < dying["asked_ms"] <= time.time() * 1000
    assert calm["ready"] == 3 and calm["asked_ms"] is None and calm["oldest_ms"] is not None
    # A row is left out as soon as it is no more of its kind, although no other pass has ended.
    b.call("RESUME", "stopped")
    assert names(b.call("OVERVIEW")["held"]) == [("acme", "shut")]
    assert len(b.call("OVERVIEW", "LIMIT", 1)["busy"]) == 1
    own = whole(b.call, "TENANT", "acme", since=1100)
    assert names(own["busy"]) == [("acme", "shut")] and [t["tenant"] for t in own["gated"]] == ["acme"] and own["queues"] == 1


def test_a_tenant_sees_its_own_alone(server, b):
    with Web(server.port) as web:
        for tenant in ("acme", "globex"):
            web.post("/v1/jobs", {"queue": "q", "payload": 1, "tenant": tenant})
        root = web.post("/v1/tokens", {"name": "root", "role": "admin"})["token"]
    with Web(server.port, token=root) as web:
        token = web.post("/v1/tokens", {"name": "look", "role": "read-only", "tenant": "acme"})["token"]
    with Web(server.port, token=token) as web:
        o = web.get("/v1/overview")
        assert names(o["busy"]) == [("acme", "q")] and o["queues"] <= 1
        assert web.ask("GET", "/v1/overview?tenant=*").status == 403
        assert web.ask("GET", "/v1/overview?tenant=globex").status == 403


def test_many_queues_are_ranked_in_pieces(server, b):
    with Web(server.port) as web:
        for first in range(0, QUEUES, 500):
            items = [{"queue": f"q{n:05}", "payload": 1, "tenant": "many"} for n in range(first, first + 500)]
            web.post("/v1/jobs/batch", {"mode": "all", "items": items})
    for queue, n in (("q08765", 7), ("q00003", 6), ("q04321", 5)):
        for _ in range(n - 1):
            b.call("SCHEDULE", queue, "x", "TENANT", "many")
    first = b.call("OVERVIEW")
    assert first["at_ms"] is None and first["queues"] < QUEUES, "one piece is not all"
    o = whole(b.call, since=1100)
    assert names(o["busy"])[:3] == [("many", "q08765"), ("many", "q00003"), ("many", "q04321")]
    assert len(o["busy"]) == 10 and o["queues"] == QUEUES and o["unserved_queues"] == QUEUES
    assert names(o["unserved"]) == names(o["busy"])


def test_scopes_are_bounded(server, b):
    for n in range(40):
        b.call("SCHEDULE", "q", "x", "TENANT", f"t{n}")
    for n in list(range(40)) * 2:
        assert names(b.call("OVERVIEW", "TENANT", f"t{n}")["busy"]) == [(f"t{n}", "q")]


def test_overviews_are_in_the_account(b):
    b.call("OVERVIEW")
    before = b.call("STATS")["memory_bytes"]
    for n in range(40):
        b.call("OVERVIEW", "TENANT", f"t{n}")
    assert 15 * 16_000 < b.call("STATS")["memory_bytes"] - before < 16 * 64_000, "16 scopes are kept"
