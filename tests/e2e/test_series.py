# SPDX-License-Identifier: MIT
"""SERIES: a known history, compared with the figures that the server shows."""
import json
import time

import conftest
import golden
import pytest

from conftest import wait_for
from shell import run
from steps import refused
from web import Web

SERVER = "server"
MINUTE, HOUR = 60_000, 3_600_000
# A moment within an hour, a second before the end of a minute.
BEGIN = 1_790_000_000_000 - 1_790_000_000_000 % HOUR + 10 * MINUTE
COUNTS = ("scheduled", "picked", "succeeded", "failed", "stalled", "released", "retried", "dead", "cancelled", "expired",
          "deferred")


@pytest.fixture
def clocked(make_server, tmp_path, monkeypatch):
    """Starts servers whose clock says a given moment. The data stay."""
    monkeypatch.setattr(conftest, "ENV", dict(conftest.ENV))
    golden.preload_clock(conftest.ENV, tmp_path)
    server = make_server(start=False)

    def at(moment_ms, **options):
        golden.set_clock(conftest.ENV, moment_ms)
        server.start(**options)
        return server.wire(3)

    at.server = server
    yield at
    server.kill()


def steps(w, *options):
    page = w.call("SERIES", *options)
    assert page["cursor"] is None
    return page["steps"]


def counts(step):
    return {name: step[name] for name in COUNTS if step[name]}


def shown(w, n, *options):
    """Waits until so many steps are shown, because the running minute is not."""
    wait_for(lambda: len(steps(w, *options)) >= n, timeout=20, what=f"{n} steps")
    found = steps(w, *options)
    assert len(found) == n, found
    return found


def history(w):
    """Jobs of two tenants with all kinds of ends."""
    for i in range(6):
        w.call("SCHEDULE", "mail", f"{i}", "ATTEMPTS", "1" if i == 1 else "3")
    w.call("SCHEDULE", "mail", "late", "IN", "1h")
    gone = w.call("SCHEDULE", "mail", "gone", "IN", "1h")
    w.call("CANCEL", gone)
    jobs = w.call("LEASE", "mail", "COUNT", "5", "FOR", "10m")
    by = {job["payload"]: job for job in jobs}
    w.call("COMPLETE", by["0"]["id"], by["0"]["token"])
    w.call("FAIL", by["1"]["id"], by["1"]["token"], "ERROR", "no")
    w.call("FAIL", by["2"]["id"], by["2"]["token"], "ERROR", "no", "RETRY", "1h")
    w.call("RELEASE", by["3"]["id"], by["3"]["token"])
    for _ in range(4):
        w.call("SCHEDULE", "sms", "x", "TENANT", "acme")
    w.call("SCHEDULE", "fax", "x", "TENANT", "acme")


MAIL = {"scheduled": 8, "picked": 5, "succeeded": 1, "failed": 2, "released": 1, "retried": 1, "dead": 1, "cancelled": 1}


def test_a_known_history(clocked):
    w = clocked(BEGIN + MINUTE - 3000)
    history(w)
    (mail,) = shown(w, 1, "QUEUE", "mail")
    assert counts(mail) == MAIL
    assert (mail["ready"], mail["running"], mail["left_out"]) == (2, 1, False)
    assert (mail["from_ms"], mail["to_ms"]) == (BEGIN, BEGIN + MINUTE)
    assert 0 <= mail["lateness_p50_ms"] <= mail["lateness_p99_ms"] <= mail["lateness_max_ms"] < 3000
    assert 0 < mail["oldest_age_ms"] < 4000
    (sms,) = steps(w, "QUEUE", "sms", "TENANT", "acme")
    assert counts(sms) == {"scheduled": 4} and (sms["ready"], sms["running"]) == (4, 0)
    assert steps(w, "QUEUE", "sms") == [], "a queue of another tenant"
    (acme,) = steps(w, "TENANT", "acme")
    assert counts(acme) == {"scheduled": 5} and acme["ready"] == 5 and acme["oldest_age_ms"] is None
    (server,) = steps(w)
    assert counts(server) == dict(MAIL, scheduled=13) and (server["ready"], server["running"]) == (7, 1)
    for who in (["QUEUE", "mail"], ["TENANT", "acme"], []):
        (minute,), (hour,) = steps(w, *who), steps(w, *who, "STEP", "1h")
        assert counts(hour) == counts(minute)
        assert hour["to_ms"] - hour["from_ms"] == HOUR and hour["from_ms"] == BEGIN - BEGIN % HOUR
    assert steps(w, "FROM", BEGIN + 1) == [] and steps(w, "TO", BEGIN) == []
    assert len(steps(w, "FROM", BEGIN, "TO", BEGIN + 1)) == 1
    with Web(clocked.server.port) as web:
        assert web.get("/v1/series?queue=mail")["steps"] == [mail]
        assert web.get("/v1/series?tenant=acme&step=1h")["steps"][0]["scheduled"] == 5
    out = run(clocked.server, "series", "--queue", "mail", "--json")
    assert json.loads(out.stdout)["steps"] == [mail]
    assert "scheduled" in run(clocked.server, "series").stdout


def test_figures_outlive_the_server(clocked):
    w = clocked(BEGIN + MINUTE - 1500)
    history(w)
    before = shown(w, 1, "QUEUE", "mail"), steps(w, "TENANT", "acme"), steps(w)
    for end in (clocked.server.stop, clocked.server.kill):
        w.close()
        end()
        w = clocked(BEGIN + 2 * MINUTE)
        assert (steps(w, "QUEUE", "mail"), steps(w, "TENANT", "acme"), steps(w)) == before
    w.call("SCHEDULE", "mail", "x")
    w.close()
    clocked.server.kill()
    w = clocked(BEGIN + 3 * MINUTE - 500)
    assert steps(w, "QUEUE", "mail") == before[0], "the running minute is lost"
    w.call("SCHEDULE", "mail", "x")
    assert [counts(s) for s in shown(w, 2, "QUEUE", "mail")] == [MAIL, {"scheduled": 1}]
    (hour,) = steps(w, "QUEUE", "mail", "STEP", "1h")
    assert counts(hour) == dict(MAIL, scheduled=9)


def test_a_clock_that_jumps(clocked):
    """Never two rows of one minute, and no row of a minute in which nothing happened."""
    moments = [BEGIN, BEGIN + 300 * HOUR, BEGIN + MINUTE, BEGIN, BEGIN + 299 * HOUR]
    made = 0
    for moment in moments:
        w = clocked(moment + MINUTE - 700)
        w.call("SCHEDULE", "mail", "x")
        made += 1
        wait_for(lambda: sum(s["scheduled"] for s in steps(w)) == made, timeout=20)
        w.close()
        clocked.server.kill()
    w = clocked(BEGIN + 10 * HOUR)
    found = [(s["from_ms"], s["scheduled"]) for s in steps(w)]
    assert found == sorted((m, moments.count(m)) for m in set(moments))
    hours = [(s["from_ms"], s["scheduled"]) for s in steps(w, "STEP", "1h")]
    assert [n for _, n in hours] == [3, 1, 1] and all(m % HOUR == 0 for m, _ in hours)


def test_an_idle_server_sleeps(clocked):
    w = clocked(BEGIN + MINUTE - 700)
    w.call("SCHEDULE", "mail", "x")
    shown(w, 1)
    w.close()
    clocked.server.stop()
    w = clocked(BEGIN + 5 * MINUTE - 500)
    time.sleep(1.5)
    assert len(steps(w)) == 1


def test_pages(clocked):
    for i in range(4):
        w = clocked(BEGIN + (i + 1) * MINUTE - 400)
        w.call("SCHEDULE", "mail", "x")
        shown(w, i + 1)
        w.close()
        clocked.server.stop()
    w = clocked(BEGIN + HOUR)
    found, cursor = [], None
    for _ in range(2):
        page = w.call("SERIES", "LIMIT", "2", *(["CURSOR", cursor] if cursor else []))
        found += page["steps"]
        cursor = page["cursor"]
    assert cursor is None and found == steps(w) and len(found) == 4
    refused("INVALID", w.call, "SERIES", "CURSOR", "nonsense")
    refused("INVALID", w.call, "SERIES", "STEP", "2m")
    refused("INVALID", w.call, "SERIES", "QUEUE", "mail", "TENANT", "*")
    refused("INVALID", w.call, "SERIES", "LIMIT", "0")


def test_a_tenant_sees_its_own_figures(clocked):
    w = clocked(BEGIN + MINUTE - 2500)
    history(w)
    w.call("SCHEDULE", "mail", "x", "TENANT", "acme")
    root = w.call("TOKENCREATE", "root", "admin")["token"]
    w.call("AUTH", root)
    acme = w.call("TOKENCREATE", "acme", "read-only", "TENANT", "acme")["token"]
    shown(w, 1)
    with clocked.server.wire(3) as own:
        own.call("AUTH", acme)
        (sum_,) = steps(own)
        assert counts(sum_) == {"scheduled": 6}, "the sum of its tenant, not of the server"
        assert [counts(s) for s in steps(own, "QUEUE", "mail")] == [{"scheduled": 1}]
        for tenant in ("*", "default", "zeta"):
            refused("NOPERM", own.call, "SERIES", "TENANT", tenant)


def test_ten_thousand_queues(clocked):
    """The server's sum is whole. Some rows have no place, and each tenant has some that have one."""
    w = clocked(BEGIN + MINUTE - 15_000, memory="64mb")
    w.call("SCHEDULE", "only", "x", "TENANT", "small")
    for i in range(0, 10_000, 500):
        words = []
        for j in range(i, i + 500):
            words += ["4", f"queue-number-{j}", "x", "IN", "1h"]
        w.call("BATCH", "all", *words)
    for _ in range(3):
        w.call("SCHEDULE", "queue-number-77", "x")
    (server,) = shown(w, 1)
    assert server["scheduled"] == 10_004 and not server["left_out"]
    (small,) = steps(w, "QUEUE", "only", "TENANT", "small")
    assert counts(small) == {"scheduled": 1} and not small["left_out"]
    (busy,) = steps(w, "QUEUE", "queue-number-77")
    assert counts(busy) == {"scheduled": 4} and not busy["left_out"]
    rows = [steps(w, "QUEUE", f"queue-number-{j}")[0] for j in range(0, 10_000, 97)]
    assert any(r["left_out"] for r in rows) and all(counts(r) == ({} if r["left_out"] else {"scheduled": 1}) for r in rows)
    assert steps(w, "QUEUE", "never") and steps(w, "QUEUE", "never")[0]["left_out"], "it cannot be told from those"
