# SPDX-License-Identifier: MIT
"""Recurrence against python3-dateutil + zoneinfo, and cron against a matcher of minutes.

BELFRY_LONG=1: 20,000 rules. BELFRY_SEED=n: others than usual. What is not compared, and why, is
said in recur_oracle.py.
"""
import datetime as dt
import os
import random
import subprocess
import zoneinfo

import pytest

from conftest import BUILD, LONG
import recur_oracle as oracle
import recur_rules as rules

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


def rrule_case(rng):
    """One rule, its ends chosen among what it gives; None if dateutil finds nothing in time."""
    text, z, start_s = rules.random_case(rng)
    found, ended = oracle.expand(text, z, start_s, 40)
    if ended is None and not found:
        return None
    full = rules.random_end(rng, text, found)
    if full != text:
        found, ended = oracle.expand(full, z, start_s, 40)
    from_s = rng.choice(found)[0] + rng.choice((-1, 0, 1)) if found and rng.random() < 0.7 else start_s
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
    print(f"{n} rules, {sum(len(want) for _, want in cases)} occurrences; {skipped} took dateutil too long")
    assert skipped < n / 6
    compare(cases)


def test_random_rules_are_as_dateutil_has_them():
    run_rules(SEED, 2000)


@pytest.mark.skipif(not LONG, reason="BELFRY_LONG=1")
@pytest.mark.limit(3600)
def test_twenty_thousand_random_rules_are_as_dateutil_has_them():
    for part in range(10):
        run_rules(1000 * SEED + part, 2000)


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
