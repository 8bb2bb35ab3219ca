# SPDX-License-Identifier: MIT
"""Recurrence against python3-dateutil + zoneinfo, cron against a matcher of minutes, and PREVIEW.

BELFRY_LONG=1: 20,000 rules. BELFRY_SEED=n: others than usual. Everything is compared: moments, nominal
times, offsets and notes. These are the only differences, and each is asked of dateutil in another way,
so that its answer is compared all the same:

1. BYWEEKNO without a day: dateutil gives all seven days of the week; by the RFC the missing day is
   that of DTSTART, so BYDAY is added.
2. BYDAY=MO,2TU: dateutil wants a day to be both a Monday and a second Tuesday; the RFC has a list.
   MO is written as 1MO,2MO,...
3. WEEKLY with BYSETPOS: dateutil's first week begins with DTSTART, so positions count from there; by
   the RFC they count in the whole week. It is started at the week's first day.
4. BYWEEKNO at the ends of a year: dateutil misses days of the next year's week 1 that is asked for by
   a negative number ("TODO" in its source), and takes this year's length for the last one's. Its
   table of weeks is replaced by the definition: a week is in the year that has four of its days.
5. BYSECOND=60: dateutil fails; the RFC says that it is 59 where there are no leap seconds.
6. BYDAY=9MO within months: dateutil fails; there is none, so such rules are not made.
7. UNTIL with a date: dateutil ends at its midnight; the RFC means the day, so 23:59:59 is written.

What is not compared:

8. Rules for which dateutil goes through more than 2,000 periods without finding anything; how many is
   printed. tests/unit/recur/test_recur_bound.c has such rules.
9. EXDATE where a time was moved to the end of a gap: to leave out one nominal time reveals another that
   met it there. tests/unit/recur/test_recur.c has that.

dateutil knows no changes of the clock: what is done at these is stated in recur_oracle.py a second time,
by zoneinfo alone (by_local, by_shown, by_elapsed), from what src/recur/recur.h promises.
"""
import datetime as dt
import os
import random
import subprocess
import zoneinfo

import pytest

from conftest import BUILD, LONG, belfry, best, elapsed
import recur_oracle as oracle
import recur_rules as rules
from wire import Refused, now_ms

SEED = int(os.environ.get("BELFRY_SEED", "1"))
COUNT = 12


def expand_all(lines):
    """The answers of our own: lists of (moment, nominal, offset, note), with None where it ended."""
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    done = subprocess.run([str(BUILD / "recur_expand")], input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    answers = []
    for answer in done.stdout.splitlines():
        assert not answer.startswith("!"), answer
        assert "unknown" not in answer, lines[len(answers)]
        answers.append([None if w == "end" else tuple(map(int, w.split(":"))) for w in answer.split()])
    assert len(answers) == len(lines)
    return answers


def wanted(found, ended, z, from_s, extra=()):
    out = [(t * 1000, oracle.seconds(nominal) * 1000, z.offset(t), note)
           for t, nominal, note in sorted({o[0]: o for o in (*extra, *found)}.values()) if t >= from_s][:COUNT]
    return out if len(out) == COUNT or not ended else out + [None]


def compare(cases):
    """Each case: a line for the program, and what is wanted (None at the end: and then no more)."""
    differences = []
    for (line, want), got in zip(cases, expand_all([line for line, _ in cases])):
        if got[:len(want)] != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            differences.append(f"{line}\n    got  {got[at:at + 2]}\n    want {want[at:at + 2]}")
    assert not differences, f"{len(differences)} of {len(cases)} differ:\n" + "\n".join(differences[:20])


def with_dates(rng, found):
    """EXDATE and RDATE texts, what is left of the occurrences, and what is added to them."""
    exdates, left = [], list(found)
    for t, nominal, _ in rng.sample(found, min(len(found), rng.randint(0, 3))):
        form = rng.random()
        if form < 0.4:
            exdates.append(rules.ical(nominal))
            left = [o for o in left if o[1] != nominal]
        elif form < 0.8:
            exdates.append(rules.ical(dt.datetime(1970, 1, 1) + dt.timedelta(0, t)) + "Z")
            left = [o for o in left if o[0] != t]
        else:
            exdates.append(nominal.strftime("%Y%m%d"))
            left = [o for o in left if o[1].date() != nominal.date()]
    return exdates, left


def random_from(rng, z, start_s, found):
    """START, or near an occurrence: if there is a change of the clock among them, shortly before that."""
    if not found or rng.random() < 0.3:
        return start_s
    at = [i for i, (t, _, note) in enumerate(found) if note != oracle.PLAIN or (i and z.offset(t) != z.offset(found[i - 1][0]))]
    i = max(rng.choice(at) - rng.randint(0, 6), 0) if at and rng.random() < 0.8 else rng.randrange(len(found))
    return found[i][0] + rng.choice((-1, 0, 1))


def rrule_case(rng):
    """One rule, its ends chosen among what it gives; None if dateutil finds nothing in time."""
    text, z, start_s = rules.random_case(rng)
    found, ended = oracle.expand(text, z, start_s, 40)
    if ended is None and not found:
        return None
    full = rules.random_end(rng, text, found)
    if full != text:
        found, ended = oracle.expand(full, z, start_s, 40)
    from_s = random_from(rng, z, start_s, found)
    exdates = []
    # Whoever leaves out a nominal time reveals one that met it at the end of a gap.
    if rng.random() < 0.25 and not any(note == oracle.MOVED for _, _, note in found):
        exdates, found = with_dates(rng, found)
    want = wanted(found, ended, z, from_s)
    return (("rrule", full, z.name, start_s * 1000, from_s * 1000, COUNT, ",".join(exdates), "", 0), want)


def run_rules(seed, n):
    rng = random.Random(seed)
    cases, skipped = [], 0
    while len(cases) < n:
        case = rrule_case(rng)
        if case:
            cases.append(case)
        else:
            skipped += 1
    zones = {line[2] for line, _ in cases}
    over = sum(len({o[2] for o in want if o}) > 1 for _, want in cases)
    changed = sum(any(o and o[3] != oracle.PLAIN for o in want) for _, want in cases)
    print(f"{n} rules in {len(zones)} zones, {sum(len(want) for _, want in cases)} occurrences; {over} go over a change "
          f"of the clock, {changed} have times that it leaves out or repeats; {skipped} more took dateutil too long")
    assert len(zones) >= 40 and over > n / 4 and changed > n / 12 and skipped < n / 6
    compare(cases)


def test_random_rules_are_as_dateutil_has_them():
    run_rules(SEED, 1000)


@pytest.mark.skipif(not LONG, reason="BELFRY_LONG=1")
@pytest.mark.limit(3600)
def test_twenty_thousand_random_rules_are_as_dateutil_has_them():
    for part in range(10):
        run_rules(1000 * SEED + part, 2000)


@pytest.mark.limit(1800)
def test_a_start_ten_years_back_changes_nothing():
    """dateutil is started near, at a time that the rule counts from; we are started far away."""
    rng = random.Random(SEED + 1)
    cases = []
    while len(cases) < (2000 if LONG else 200):
        text, z, near_s = rules.random_case(rng)
        parts = oracle.parts_of(text)
        unit = oracle.UNITS.get(parts["FREQ"], {"DAILY": 86400, "WEEKLY": 604800}.get(parts["FREQ"]))
        if not unit:
            continue
        step = unit * int(parts.get("INTERVAL", 1))
        near = z.local(near_s)
        start = near - dt.timedelta(0, 315576000 // step * step)
        if start < dt.datetime(1971, 1, 1):
            continue
        start_s = z.moment(start)[0]
        if oracle.pace(parts) == "elapsed":
            start_s = near_s - 315576000 // step * step
        if z.local(start_s) != start and oracle.pace(parts) != "elapsed":
            continue
        found, ended = oracle.expand(text, z, start_s, 30, near=near)
        found = [o for o in found if o[0] > near_s + 86400]
        if len(found) > 2 and ended is not None:
            line = ("rrule", text, z.name, start_s * 1000, found[0][0] * 1000, COUNT, "", "", 0)
            cases.append((line, wanted(found[:-1], False, z, found[0][0])))
    compare(cases)


def test_offsets_are_as_zoneinfo_has_them():
    """In all zones, every 40 days or so from 1970 to 2070; in ours at each change as well."""
    lines = [("every", "40d5h", name, 0, 0, 900, "", "", 0) for name in sorted(zoneinfo.available_timezones())
             if not name.startswith(("posix", "right", "localtime", "Factory"))]
    for name in rules.ZONES:
        lines += [("every", "1s", name, (int(t) - 2) * 1000, 0, 4, "", "", 0) for t in oracle.zone(name).changes]
    assert len({line[2] for line in lines}) > 400
    for line, got in zip(lines, expand_all(lines)):
        z = oracle.zone(line[2])
        for at_ms, nominal_ms, offset_s, _ in got:
            assert (offset_s, nominal_ms) == (z.offset(at_ms // 1000), at_ms + offset_s * 1000), (line, at_ms)


@pytest.mark.limit(1800)
def test_cron_fires_at_the_minutes_that_match():
    rng = random.Random(SEED + 2)
    cases = []
    while len(cases) < (2000 if LONG else 200):
        text, z = rules.random_cron(rng), oracle.zone(rng.choice(rules.ZONES))
        start_s = rules.random_start(rng, z)
        found = oracle.Cron(text).expand(z, start_s, 3)
        if found or rng.random() < 0.1:
            want = wanted(found[:-1], False, z, start_s)
            cases.append((("cron", text, z.name, start_s * 1000, start_s * 1000, COUNT, "", "", 0), want))
    compare(cases)


def test_dates_are_added_once():
    rng = random.Random(SEED + 3)
    cases = []
    while len(cases) < 200:
        text, z, start_s = rules.random_case(rng)
        found, _ = oracle.expand(text, z, start_s, 30)
        if len(found) < 30:
            continue
        extra, texts = [], []
        for _ in range(rng.randint(1, 4)):
            t = rng.choice(found)[0] + rng.choice((0, 1800, 3600, 86400))
            if rng.random() < 0.5:
                texts.append(rules.ical(dt.datetime(1970, 1, 1) + dt.timedelta(0, t)) + "Z")
                nominal = z.local(t)
                shown = z.shown(nominal)
                note = oracle.PLAIN if len(shown) == 1 else oracle.FIRST + shown.index(t)
            else:
                nominal = z.local(t)
                texts.append(rules.ical(nominal))
                t, note = z.moment(nominal)
            extra.append((t, nominal, note))
        extra = [o for o in extra if start_s <= o[0] <= found[-1][0]]
        want = wanted(found, False, z, start_s, extra)
        line = ("rrule", text, z.name, start_s * 1000, start_s * 1000, COUNT, "", ",".join(texts), 0)
        cases.append((line, want))
    compare(cases)


def preview(server, *args):
    with server.wire() as w:
        return w.call("PREVIEW", *args)


def locals_of(answer):
    return [o["local"] for o in answer]


def refused(server, *args):
    with pytest.raises(Refused) as e:
        preview(server, *args)
    return str(e.value)


def test_preview_shows_times_and_what_a_change_of_the_clock_does(shared_server):
    spring = preview(shared_server, "CRON", "30 2 * * *", "TZ", "Europe/Berlin",
                     "START", "2027-03-27T00:00:00Z", "FROM", "2027-03-27T00:00:00Z", "COUNT", 3)
    assert locals_of(spring) == ["2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"]
    assert [o["note"] for o in spring] == [None, "02:30 does not exist on this day: runs at the end of the gap", None]
    assert [o["at_ms"] for o in spring] == [int(dt.datetime.fromisoformat(o["local"]).timestamp() * 1000) for o in spring]
    autumn = preview(shared_server, "RRULE", "FREQ=DAILY", "TZ", "Europe/Berlin",
                     "START", "2027-10-30T02:30:00+02:00", "FROM", "2027-10-30T00:00:00Z", "COUNT", 3)
    assert locals_of(autumn) == ["2027-10-30T02:30:00+02:00", "2027-10-31T02:30:00+02:00", "2027-11-01T02:30:00+01:00"]
    assert [o["note"] for o in autumn] == [None, "02:30 exists twice on this day: this is the first", None]
    assert all(set(o) == {"at_ms", "local", "note"} for o in spring + autumn)


def test_preview_begins_now_unless_it_is_told_otherwise(shared_server):
    before = now_ms()
    times = [o["at_ms"] for o in preview(shared_server, "EVERY", "90s")]
    assert len(times) == 10 and {b - a for a, b in zip(times, times[1:])} == {90000}
    assert before - 1000 <= times[0] <= now_ms() + 1000 and times[0] % 1000 == 0
    assert len(preview(shared_server, "CRON", "@daily", "COUNT", 1000)) == 1000
    late = preview(shared_server, "EVERY", "1500ms", "START", "2026-01-01T00:00:00.250Z", "FROM", "2026-01-01T00:00:01Z",
                   "COUNT", 2)
    assert locals_of(late) == ["2026-01-01T00:00:01.750+00:00", "2026-01-01T00:00:03.250+00:00"]


def test_preview_ends_with_the_rule(shared_server):
    rule = ("RRULE", "FREQ=DAILY;COUNT=5", "START", "2026-01-01T00:00:00Z")
    assert locals_of(preview(shared_server, *rule, "FROM", "2026-01-04T00:00:00Z")) == \
        ["2026-01-04T00:00:00+00:00", "2026-01-05T00:00:00+00:00"]
    assert preview(shared_server, *rule, "FROM", "2026-01-06T00:00:00Z") == []
    assert preview(shared_server, "RRULE", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30") == []


def test_preview_says_what_is_wrong(shared_server):
    one = "expected exactly one of RRULE, CRON and EVERY"
    assert refused(shared_server) == "INVALID no rule is given: " + one
    assert refused(shared_server, "EVERY", "1m", "CRON", "* * * * *") == "INVALID more than one rule is given: " + one
    assert refused(shared_server, "EVERY", "1m", "TZ", "Mars/Olympus") == \
        "INVALID tz: no such time zone: expected a name of the IANA database, such as Europe/London or UTC"
    for name in ("../../etc/passwd", "/etc/passwd", "", "Europe", "tzdata.zi", "x" * 128):
        assert refused(shared_server, "EVERY", "1m", "TZ", name).startswith("INVALID tz: "), name
    assert refused(shared_server, "RRULE", "FREQ=SOMETIMES").startswith("INVALID rrule: FREQ has no value SOMETIMES at offset 5")
    assert refused(shared_server, "CRON", "61 * * * *").startswith("INVALID cron: no minute in field 1: 61 at offset 0")
    for every in ("0", "0s", "-1s", "soon", ""):
        assert refused(shared_server, "EVERY", every).startswith("INVALID every: "), every
    for count in (0, 1001, "many"):
        assert refused(shared_server, "EVERY", "1m", "COUNT", count) == "INVALID count: expected 1 to 1000"
    assert refused(shared_server, "EVERY", "1m", "START", "yesterday").startswith("INVALID start: ")


@pytest.mark.quiet
def test_preview_of_hostile_rules_keeps_nobody_waiting(shared_server):
    """The worst that is known, a thousand times each: others are answered in between."""
    slow = ["FREQ=DAILY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "FREQ=HOURLY;INTERVAL=2046404;BYDAY=MO;COUNT=9",
            "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "FREQ=HOURLY;INTERVAL=4368;BYDAY=MO"]
    with shared_server.wire() as w:
        for rule in slow:
            print(rule)
            best(1, lambda: elapsed(lambda: w.call("PREVIEW", "RRULE", rule, "TZ", "Europe/London", "COUNT", 1000)))
        assert "too long after START" in refused(
            shared_server, "RRULE", "FREQ=MINUTELY;INTERVAL=7;BYMINUTE=1;BYHOUR=9;COUNT=1000000", "TZ", "Europe/London",
            "START", "1970-01-01T00:00:00Z", "FROM", "9990-01-01T00:00:00Z")


def test_preview_in_many_zones_is_as_dateutil_has_it(shared_server):
    """More zones than the server keeps at a time, twice."""
    names = [n for n in sorted(zoneinfo.available_timezones()) if n.startswith(("Europe/", "America/"))]
    assert len(names) > 150
    with shared_server.wire() as w:
        for name in names + names:
            z = oracle.zone(name)
            start_s = 1774569600  # two days before Europe's change of March 2026
            found, _ = oracle.expand("FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=30;BYSECOND=0", z, start_s, 12)
            got = w.call("PREVIEW", "RRULE", "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=30;BYSECOND=0", "TZ", name,
                         "START", start_s * 1000, "FROM", start_s * 1000, "COUNT", 12)
            assert [o["at_ms"] for o in got] == [t * 1000 for t, _, _ in found], name
            assert [o["note"] is None for o in got] == [note == oracle.PLAIN for _, _, note in found], name


def test_preview_on_the_command_line_is_a_table(shared_server):
    done = belfry("--port", shared_server.port, "preview", "--cron", "30 2 * * *", "--tz", "Europe/Berlin",
                  "--start", "2027-03-27T00:00:00Z", "--from", "2027-03-27T00:00:00Z", "--count", "2")
    assert done.returncode == 0, done.stderr
    assert "2027-03-28T03:00:00+02:00" in done.stdout and "02:30 does not exist on this day" in done.stdout
