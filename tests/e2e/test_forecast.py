# SPDX-License-Identifier: MIT
"""FORECAST against a full count: jobs in memory and on disk, of two tenants, and a hundred recurrences."""
import random

import pytest

from conftest import LONG, _factory
from web import Web
from wire import Refused, encode, now_ms

JOBS = 1_000_000 if LONG else 100_000
MINUTE = 60_000
HOUR = 60 * MINUTE
SPAN = 48 * HOUR


@pytest.fixture(scope="module")
def full(request, tmp_path_factory):
    """A server with little memory, the due times of its jobs by (tenant, queue), and its recurrences."""
    make, finish = _factory(request, tmp_path_factory.mktemp("forecast"))
    server = make(memory="16MiB")
    rng = random.Random(7)
    start = (now_ms() // HOUR + 2) * HOUR
    due = {("default", "mail"): [], ("default", "sms"): [], ("acme", "mail"): []}
    every = {"default": [], "acme": []}
    with server.wire(timeout=120) as w:
        for first in range(0, JOBS, 5000):
            rows = [(rng.choice(list(due)), start + rng.randrange(2 * SPAN)) for _ in range(5000)]
            data = b"".join(encode("SCHEDULE", queue, "x" * 100, "AT", at, "TENANT", tenant) for (tenant, queue), at in rows)
            for (scope, at), id in zip(rows, w.exchange(data, len(rows), timeout=120)):
                assert not isinstance(id, Refused), id
                due[scope].append(at)
        for i in range(100):
            tenant = "acme" if i % 4 == 0 else "default"
            every[tenant].append((start + i * 1000, (i + 1) * MINUTE))
            w.call("RECUR", f"r{i}", "tick", "{}", "EVERY", f"{i + 1}m", "START", start + i * 1000, "TENANT", tenant)
        assert w.call("STATS")["cold_jobs"] > JOBS // 2
    yield server, start, due, every
    finish()


def in_steps(times, start, step):
    counts = [0] * (SPAN // step)
    for at in times:
        if start <= at < start + SPAN:
            counts[(at - start) // step] += 1
    return counts


def times_of(rules, start):
    return [at for first, period in rules for at in range(first, start + SPAN, period)]


def print_deviation(words, step, jobs, counted):
    """For a reader of `pytest -s`: the figures that the test compares."""
    worst = max(abs(a - b) / max(b, 1) for a, b in zip(jobs, counted))
    print(f"\n{' '.join(words) or 'all'}, steps of {step // MINUTE} min: forecast {sum(jobs)}, counted {sum(counted)}, "
          f"largest deviation of a step {100 * worst:.3f} %", end="")


def ask(w, start, step, *words):
    steps = w.call("FORECAST", "FROM", start, "TO", start + SPAN, "STEP", step, *words)
    assert not any(s["partial"] for s in steps)
    return [s["jobs"] for s in steps], [s["recurring"] for s in steps]


def test_forecast_is_a_full_count(full):
    server, start, due, every = full
    with server.wire(timeout=120) as w:
        for step in (HOUR, 15 * MINUTE):
            for words, wanted, rules in (
                    ((), list(due), every["default"] + every["acme"]),
                    (("TENANT", "acme"), [("acme", "mail")], every["acme"]),
                    (("TENANT", "default", "QUEUE", "mail"), [("default", "mail")], []),
                    (("QUEUE", "mail"), [("default", "mail"), ("acme", "mail")], []),
                    (("TENANT", "default", "QUEUE", "tick"), [], every["default"])):
                times = times_of(rules, start)
                jobs, recurring = ask(w, start, step, *words)
                counted = in_steps([at for scope in wanted for at in due[scope]] + times, start, step)
                print_deviation(words, step, jobs, counted)
                assert recurring == in_steps(times, start, step), words
                assert jobs == counted, words


def test_an_http_client_asks_for_a_queue(full):
    server, start, due, every = full
    with Web(server.port) as web:
        steps = web.get(f"/v1/forecast?from={start}&to={start + SPAN}&step=1h&tenant=acme&queue=mail")["steps"]
    assert [s["jobs"] for s in steps] == in_steps(due["acme", "mail"], start, HOUR)


def test_more_times_than_are_counted_are_said_to_be_partial(server):
    start = (now_ms() // HOUR + 2) * HOUR
    with server.wire() as w:
        w.call("RECUR", "seconds", "tick", "{}", "RRULE", "FREQ=SECONDLY;BYSECOND=" + ",".join(map(str, range(59))),
               "START", start)
        steps = w.call("FORECAST", "FROM", start, "TO", start + 240 * HOUR, "STEP", "6h")
        assert steps[0]["recurring"] == 6 * 60 * 59 and not steps[0]["partial"] and steps[-1]["partial"]
