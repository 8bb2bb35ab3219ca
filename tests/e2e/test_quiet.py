# SPDX-License-Identifier: MIT
"""Quiet hours against zoneinfo, minute by minute around changes of the clock; and over the wire.

BELFRY_LONG=1: more of them. BELFRY_SEED=n: others than usual."""
import datetime as dt
import os
import random
import subprocess
import zoneinfo

import pytest

from conftest import BUILD, LONG
from wire import Refused

SEED = int(os.environ.get("BELFRY_SEED", "1"))
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1)
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAY = 1440
WEEK = 7 * DAY

# Days on which clocks are set forward and back.
CHANGES = {
    "Europe/London": ["2026-03-29", "2026-10-25"],
    "America/New_York": ["2026-03-08", "2026-11-01"],
    "Australia/Lord_Howe": ["2026-04-05", "2026-10-04"],
    "America/Santiago": ["2026-04-05", "2026-09-06"],  # at midnight
    "Africa/Casablanca": ["2026-02-15", "2026-03-22"],
    "Antarctica/Troll": ["2026-03-29", "2026-10-25"],  # by two hours
    "Asia/Kathmandu": ["2026-06-01"],  # never
}


# ---- The oracle ----

def minutes_shown(zone, day):
    """What the clock shows, as minutes since 1970 by itself, at each minute of the nine days on either side."""
    middle = dt.datetime.fromisoformat(day).replace(tzinfo=UTC)
    first = int(middle.timestamp()) // 60 - 9 * DAY
    tz = zoneinfo.ZoneInfo(zone)
    shown = []
    for minute in range(first, first + 18 * DAY):
        local = dt.datetime.fromtimestamp(minute * 60, tz).replace(tzinfo=None)
        shown.append(int((local - EPOCH).total_seconds()) // 60)
    return first, shown


def week_of(windows):
    """The minutes of the week, from Monday on, that are in a window."""
    quiet = [False] * WEEK
    for days, start, end in windows:
        for day in days if days else range(7):
            for m in range(start, end if end > start else end + DAY):
                quiet[(day * DAY + m) % WEEK] = True
    return quiet


def until(quiet, shown, at):
    """The index of the minute at which it is over, None if it is not quiet: what quiet.h says, by counting."""
    def is_quiet(i):
        return quiet[(shown[i] + 3 * DAY) % WEEK]
    end = at
    while is_quiet(end):
        first = last = shown[end]
        while quiet[(first - 1 + 3 * DAY) % WEEK]:
            first -= 1
        while quiet[(last + 1 + 3 * DAY) % WEEK]:
            last += 1
        end = 1 + max(i for i in range(end, min(len(shown), end + 9 * DAY)) if first <= shown[i] <= last)
    return end if end > at else None


# ---- Windows ----

def text_of(windows):
    def time(m):
        return f"{m // 60:02}:{m % 60:02}"
    return ";".join((",".join(DAYS[d] for d in days) + " " if days else "") + f"{time(start)}-{time(end)}"
                    for days, start, end in windows)


def random_windows(r):
    windows = []
    for _ in range(r.choice([1, 1, 2, 3])):
        days = sorted(r.sample(range(7), r.randint(1, 4))) if r.random() < 0.5 else []
        start = r.choice([r.randrange(DAY), r.randrange(12) * 15])  # often at night
        end = r.choice([r.randrange(DAY + 1), r.randrange(1, 20) * 15])
        if start != end:
            windows.append((days, start, end))
    # The oracle looks nine days ahead.
    quiet = week_of(windows)
    return windows if windows and quiet.count(False) > DAY else random_windows(r)


def test_quiet_hours_are_what_the_clock_on_the_wall_shows():
    r = random.Random(SEED)
    lines, expected = [], []
    for zone, days in CHANGES.items():
        for day in days:
            first, shown = minutes_shown(zone, day)
            for _ in range(400 if LONG else 40):
                windows = random_windows(r)
                quiet = week_of(windows)
                # Mostly around the change, in the middle.
                at = [9 * DAY + r.randint(-600, 900) for _ in range(6)] + [r.randrange(3 * DAY, 9 * DAY)]
                lines.append([text_of(windows), zone] + [(first + i) * 60000 + r.randrange(60000) for i in at])
                ends = [until(quiet, shown, i) for i in at]
                expected.append([-1 if end is None else (first + end) * 60000 for end in ends])
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    done = subprocess.run([str(BUILD / "recur_quiet")], input=text, capture_output=True, text=True, timeout=600)
    answers = done.stdout.splitlines()
    assert done.returncode == 0 and len(answers) == len(lines), done.stderr
    for line, answer, ends in zip(lines, answers, expected):
        assert not answer.startswith("!"), (line, answer)
        assert [int(word) for word in answer.split()] == ends, line
    assert sum(end >= 0 for ends in expected for end in ends) > len(lines)


# ---- Over the wire ----

@pytest.fixture
def tenant(q):
    return "acme." + q


def window_around_now(hours=2):
    """One in UTC that began an hour ago, and when it ends."""
    now = dt.datetime.now(UTC)
    start = now - dt.timedelta(hours=1)
    end = (now + dt.timedelta(hours=hours)).replace(second=0, microsecond=0)
    return f"{start:%H:%M}-{end:%H:%M}", int(end.timestamp() * 1000)


@pytest.mark.parametrize("given, words", [
    ((("QUIET", "22:00"),), "quiet: no end of the window at offset 5: expected a window such as 22:00-07:00"),
    ((("QUIET", "fry 22:00-07:00"),), "quiet: no day of the week: fry"),
    ((("QUIET", "00:00-24:00"),), "the whole week"),
    ((("QUIET", "1:00-2:00;" * 25),), "quiet: 250 bytes, the limit is 200"),
    ((("QUIET", "22:00-07:00"), ("TZ", "Europe/Londinium")), "tz: no such time zone"),
    ((("TZ", "../../etc/passwd"),), "tz: not the name of a time zone"),
    ((("TZ", ""),), "tz: not the name of a time zone"),
    ((("QUIET", "22:00-07:00"), ("SPREAD", "2d")), "spread: expected 0ms to 1d"),
    ((("WEIGHT", 9), ("QUIET", "x")), "quiet: no "),
])
def test_what_cannot_be_read_changes_nothing(b, tenant, given, words):
    with pytest.raises(Refused) as info:
        b.call("TENANT", tenant, *[word for pair in given for word in pair])
    assert words in str(info.value)
    assert b.call("TENANT", tenant) is None


def test_a_tenant_shows_its_quiet_hours(b, tenant):
    windows, end = window_around_now()
    shown = b.call("TENANT", tenant, "QUIET", windows, "TZ", "Etc/UTC", "SPREAD", "10m")
    assert (shown["quiet"], shown["tz"], shown["spread_ms"], shown["quiet_until_ms"]) == (windows, "Etc/UTC", 600000, end)
    shown = b.call("TENANT", tenant, "WEIGHT", 2)
    assert (shown["quiet"], shown["tz"], shown["spread_ms"]) == (windows, "Etc/UTC", 600000)
    shown = b.call("TENANT", tenant, "QUIET", "")
    assert (shown["quiet"], shown["quiet_until_ms"], shown["tz"]) == (None, None, "Etc/UTC")


def test_the_zone_says_when(b, tenant):
    """By the clock in Kathmandu, which no other zone's is."""
    now = dt.datetime.now(zoneinfo.ZoneInfo("Asia/Kathmandu"))
    end = (now + dt.timedelta(hours=3)).replace(second=0, microsecond=0)
    windows = f"{now - dt.timedelta(minutes=5):%H:%M}-{end:%H:%M}"
    assert b.call("TENANT", tenant, "QUIET", windows, "TZ", "Asia/Kathmandu")["quiet_until_ms"] == int(end.timestamp() * 1000)


def test_a_deferral_survives_a_kill(make_server):
    server = make_server()
    windows, end = window_around_now()
    with server.wire(3) as w:
        w.call("TENANT", "acme", "QUIET", windows, "SPREAD", "5m")
        id = w.call("SCHEDULE", "q", "x", "NOTIFY", "yes", "TENANT", "acme")
        assert w.lease("q", "TENANT", "acme") == []
        job = w.call("GET", id, "TENANT", "acme")
    assert end <= job["deferred_until_ms"] <= end + 300000
    server.kill()
    server.start()
    with server.wire(3) as w:
        after = w.call("GET", id, "TENANT", "acme")
        assert after == job and job["deferrals"] == 1 and job["attempt"] == 0
        assert w.lease("q", "TENANT", "acme") == []
        assert w.call("GET", id, "TENANT", "acme") == job


def test_a_parked_worker_gets_what_is_behind_a_night_of_others(b, q, tenant, shared_server):
    """More than one request puts off: the worker that waits has the rest done in the turns after it."""
    b.call("TENANT", tenant, "QUIET", window_around_now()[0])
    b.call("PAUSE", q, "TENANT", tenant)
    for _ in range(16):
        b.pipeline([("SCHEDULE", q, "x", "NOTIFY", "yes", "TENANT", tenant)] * 1000)
    last = b.call("SCHEDULE", q, "y", "TENANT", tenant)
    with shared_server.wire(3) as worker:
        worker.send("LEASE", q, "TENANT", "*", "WAIT", "20s")
        b.call("RESUME", q, "TENANT", tenant)
        (job,) = worker.recv()
    assert job["id"] == last
    assert b.call("QUEUE", q, "TENANT", tenant)["total_deferred"] == 16000
