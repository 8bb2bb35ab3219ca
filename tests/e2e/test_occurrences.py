# SPDX-License-Identifier: MIT
"""OCCURRENCES: the times of all recurrences in a window, past by the ledgers and to come by the rules."""
import pytest

from conftest import wait_for
from web import Web
from wire import Refused

RULES = [("a-daily", "mail", ["CRON", "30 2 * * *", "TZ", "Europe/Berlin"]),
         ("b-hourly", "mail", ["CRON", "15 * * * *", "TZ", "Europe/Berlin"]),
         ("c-weekly", "sms", ["RRULE", "FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=45", "TZ", "America/New_York"]),
         ("d-every", "sms", ["EVERY", "7h"])]
FROM, TO = "2030-03-29T00:00:00Z", "2030-04-02T00:00:00Z"  # Berlin's clocks go forward on the 31st at 01:00 UTC


def pages(w, *words, limit=1000):
    """All pages together."""
    found, cursor, n = [], None, 0
    while True:
        page = w.call("OCCURRENCES", *words, "LIMIT", limit, *(["CURSOR", cursor] if cursor else []))
        assert page["partial"] is False and len(page["occurrences"]) <= limit
        found += page["occurrences"]
        cursor, n = page["cursor"], n + 1
        if not cursor:
            return found, n


def expected(w, to_ms, rules=RULES):
    times = []
    for name, queue, rule in rules:
        start = ["START", "2030-01-01T00:00:00Z"]
        times += [(t["at_ms"], name, queue, t["local"], t["note"])
                  for t in w.call("PREVIEW", *rule, *start, "FROM", FROM, "COUNT", 200) if t["at_ms"] < to_ms]
    return sorted(times)


def key(t):
    return t["at_ms"], t["recurrence"], t["queue"], t["local"], t["note"]


@pytest.fixture
def w(server):
    with server.wire(3) as w:
        yield w


def make(w, rules=RULES, tenant="default"):
    for name, queue, rule in rules:
        w.call("RECUR", name, queue, "x", *rule, "START", "2030-01-01T00:00:00Z", "TENANT", tenant)


def test_coming_times_are_those_of_preview_in_order(w):
    make(w)
    make(w, [("other", "mail", ["EVERY", "1h"])], "acme")
    to_ms = 1901318400000
    whole, n = pages(w, "FROM", FROM, "TO", TO)
    assert n == 1 and sorted(map(key, whole)) == expected(w, to_ms)
    assert [t["at_ms"] for t in whole] == sorted(t["at_ms"] for t in whole)
    assert any(t["note"] for t in whole) and {t["outcome"] for t in whole} == {"planned"}
    small, n = pages(w, "FROM", FROM, "TO", TO, limit=7)
    assert small == whole and n > len(whole) // 7 - 1
    one, _ = pages(w, "FROM", FROM, "TO", TO, "QUEUE", "sms")
    assert one == [t for t in whole if t["queue"] == "sms"]
    all_tenants, _ = pages(w, "FROM", FROM, "TO", TO, "TENANT", "*")
    assert len(all_tenants) == len(whole) + 96 and {t["tenant"] for t in all_tenants} == {"default", "acme"}
    w.call("RECURPAUSE", "b-hourly")
    rest, _ = pages(w, "FROM", FROM, "TO", TO)
    assert rest == [t for t in whole if t["recurrence"] != "b-hourly"]


def test_past_times_are_those_of_the_ledger(w):
    w.call("RECUR", "fast", "q", "x", "EVERY", "50ms", "OVERLAP", "allow")
    wait_for(lambda: len(w.call("RECURRENCE", "fast")["ledger"]) >= 8)
    w.call("RECURPAUSE", "fast")
    job, = w.call("LEASE", "q")
    w.call("COMPLETE", job["id"], job["token"])
    job, = w.call("LEASE", "q")
    w.call("FAIL", job["id"], job["token"], "FINAL", "yes")
    by_hand = w.call("RECURRUN", "fast")

    def settled():
        return {e["outcome"] for e in w.call("RECURRENCE", "fast")["ledger"]} == {"ran", "failed", "open"}

    wait_for(settled)
    ledger = w.call("RECURRENCE", "fast")["ledger"]
    found, _ = pages(w, "FROM", "2020-01-01T00:00:00Z", "TO", "2090-01-01T00:00:00Z", limit=3)
    assert [(t["at_ms"], t["upto_ms"], t["count"], t["outcome"], t["why"], t["by_hand"], t["id"], t["ended_ms"]) for t in found] == [
        (e["nominal_ms"], e["upto_ms"], e["count"], e["outcome"], e["why"], e["by_hand"], e["id"], e["ended_ms"]) for e in ledger]
    assert found[-1]["id"] == by_hand and found[-1]["by_hand"] is True
    w.call("RECURRESUME", "fast")
    mixed, _ = pages(w, "FROM", "2020-01-01T00:00:00Z", "TO", str(found[-1]["at_ms"] + 10000))
    assert {"ran", "failed", "planned"} <= {t["outcome"] for t in mixed}
    assert [t["at_ms"] for t in mixed] == sorted(t["at_ms"] for t in mixed)


def test_bad_windows_and_cursors_are_refused(w):
    for words in (["FROM", TO, "TO", FROM], ["CURSOR", "x"], ["LIMIT", "0"], ["QUEUE", "a b"]):
        with pytest.raises(Refused):
            w.call("OCCURRENCES", *words)


def test_over_http(server, w):
    make(w)
    with Web(server.port) as web:
        page = web.get(f"/v1/occurrences?from={FROM}&to={TO}&limit=5")
    assert len(page["occurrences"]) == 5 and page["cursor"] and page["partial"] is False


def test_ten_thousand_recurrences_hold_nobody_up(server, w):
    for i in range(10000):
        w.send("RECUR", f"r{i:05}", f"q{i % 10}", "x", "CRON", f"{i % 60} {i // 60 % 24} * * *", "TZ", "Europe/Berlin")
        if i % 500 == 499:
            for _ in range(500):
                w.recv()

    def stalls():
        before = w.call("STATS")["stalls"]
        found, n = pages(w, "FROM", FROM, "TO", "2030-03-30T00:00:00Z")
        assert len(found) == 10000 and n == 10
        assert len({t["recurrence"] for t in found}) == 10000
        return w.call("STATS")["stalls"] - before

    assert 0 in (stalls() for _ in range(8))  # another process may hold the loop up


def test_recurrences_on_disk_are_shown_too(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as w:
        for i in range(300):
            w.call("RECUR", f"r{i}", "q", "p" * 3000, "CRON", f"{i % 60} 5 * * *", "START", "2029-12-31T00:00:00Z")
        for i in range(30000):
            w.send("SCHEDULE", "fill", "y" * 2000, "AT", "2031-01-01T00:00:00Z")
            if i % 1000 == 999:
                for _ in range(1000):
                    w.recv()
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 20000, what="jobs on disk")
        found, n = pages(w, "FROM", "2030-01-01T00:00:00Z", "TO", "2030-01-03T00:00:00Z", limit=100)
        assert len(found) == 600 and n >= 6 and [t["at_ms"] for t in found] == sorted(t["at_ms"] for t in found)
        past, _ = pages(w, "FROM", "2020-01-01T00:00:00Z", "TO", "2030-01-03T00:00:00Z")
        assert past[-600:] == found
