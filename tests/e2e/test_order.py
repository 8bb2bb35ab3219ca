# SPDX-License-Identifier: MIT
"""ORDER: jobs with one ordering key run one at a time, in the order of their due times."""
import json
import random
import subprocess
import threading
import time

import pytest

from conftest import belfry
from wire import Refused, Wire, now_ms

SERVER = "server"  # each test has its own


def put(b, order, *options, q="q", payload="x"):
    return b.call("SCHEDULE", q, payload, "ORDER", order, *options)


def test_order_is_shown_by_lease_get_and_list(b):
    id = put(b, b"\x00any \xff bytes")
    plain = b.call("SCHEDULE", "q", "x")
    jobs = {job["id"]: job["order"] for job in b.lease("q", "COUNT", 10)}
    assert set(jobs) == {id, plain} and jobs[plain] is None and jobs[id]
    assert b.call("GET", plain)["order"] is None and b.call("GET", id)["order"] == jobs[id]
    assert {job["id"]: job["order"] for job in b.call("LIST")["jobs"]} == jobs


def test_an_ordering_key_has_1_to_512_bytes(b):
    put(b, "o" * 512)
    for order, why in (("", "order: expected at least one byte"), ("o" * 513, "order: 513 bytes, the limit is 512")):
        with pytest.raises(Refused, match=why):
            put(b, order)
    assert b.call("QUEUE", "q")["ready"] == 1


def test_a_batch_takes_it_too(b):
    ids = b.call("BATCH", "all", 4, "q", "x", "ORDER", "o", 4, "q", "y", "ORDER", "o", 4, "q", "z", "ORDER", "p")
    assert {job["id"] for job in b.lease("q", "COUNT", 10)} == {ids[0], ids[2]}
    # The same key twice in a batch, of two ordering keys: two jobs.
    x, y, z = b.call("BATCH", "all", 6, "k", "x", "ORDER", "o", "KEY", "k", 6, "k", "y", "ORDER", "p", "KEY", "k",
                     6, "k", "z", "ORDER", "o", "KEY", "k")
    assert x == z != y


def test_a_key_is_unique_among_the_jobs_of_its_ordering_key(b):
    plain = b.call("SCHEDULE", "q", "x", "KEY", "k")
    mine = put(b, "o", "KEY", "k")
    other = put(b, "p", "KEY", "k")
    assert len({plain, mine, other}) == 3
    assert put(b, "o", "KEY", "k") == mine
    assert b.call("GET", "KEY", "k", "QUEUE", "q")["id"] == plain
    assert b.call("GET", "KEY", "k", "QUEUE", "q", "ORDER", "p")["id"] == other
    assert b.call("EXPLAIN", "KEY", "k", "QUEUE", "q", "ORDER", "o")["id"] == mine
    assert b.call("CANCEL", "KEY", "k", "QUEUE", "q", "ORDER", "o") == "cancelled"
    assert b.call("CANCEL", "KEY", "k", "QUEUE", "q", "ORDER", "nobody's") == "notfound"
    assert b.call("GET", mine)["state"] == "cancelled" and b.call("GET", plain)["state"] == "ready"
    with pytest.raises(Refused, match="expected an id, or KEY and QUEUE"):
        b.call("GET", plain, "ORDER", "o")


def test_tenants_and_queues_have_their_own(b):
    ids = {put(b, "o"), put(b, "o", q="r"), put(b, "o", "TENANT", "acme")}
    got = b.lease("q,r", "COUNT", 10) + b.lease("q", "COUNT", 10, "TENANT", "acme")
    assert {job["id"] for job in got} == ids


def test_explain_names_the_job_ahead(b):
    first, second = put(b, "o", "BACKOFF", "fixed:1h"), put(b, "o")
    x = b.call("EXPLAIN", second)
    assert x["reason"] == "ordering_key" and first in x["why"] and x["why"].endswith("is ready")
    (job,) = b.lease("q", "COUNT", 10)
    assert first in b.call("EXPLAIN", second)["why"]
    assert b.call("EXPLAIN", second)["why"].endswith("runs")
    b.call("FAIL", first, job["token"])
    why = b.call("EXPLAIN", second)["why"]
    assert first in why and "tried again at 20" in why
    b.call("CANCEL", first)
    assert b.call("EXPLAIN", second)["reason"] == "no_worker"  # it is next, and none has asked since
    assert b.lease("q")[0]["id"] == second


class Workers:
    """Workers that note what they do with each ordering key; a failure is told by the checks."""

    def __init__(self, server, queue, fail_percent, seed):
        self.port, self.queue, self.fail_percent = server.port, queue, fail_percent
        self.lock, self.running, self.done, self.wrong = threading.Lock(), {}, {}, []
        self.stopping = False
        self.threads = [threading.Thread(target=self.work, args=(random.Random(seed + i),)) for i in range(4)]
        for t in self.threads:
            t.start()

    def work(self, rng):
        try:
            with Wire(self.port, 3) as w:
                while not self.stopping:
                    for job in w.lease(self.queue, "COUNT", 20, "WAIT", "200ms", "FOR", "10m"):
                        self.run(w, job, rng)
        except (OSError, EOFError, ConnectionError, Refused) as why:
            if not self.stopping:
                self.wrong.append(f"a worker ended: {why!r}")

    def run(self, w, job, rng):
        order, n = job["order"], int(job["payload"])
        with self.lock:
            if order in self.running:
                self.wrong.append(f"{order}: {n} is given while {self.running[order]} runs")
            self.running[order] = n
        ok = rng.randrange(100) >= self.fail_percent
        with self.lock:  # before the server can know it
            del self.running[order]
            if ok:
                self.done.setdefault(order, []).append(n)
        w.call(*(("COMPLETE", job["id"], job["token"]) if ok else ("FAIL", job["id"], job["token"], "RETRY", "5ms")))

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join()


def test_many_keys_and_workers_keep_the_order_though_jobs_fail(server):
    keys, jobs = 20, 1500
    at = now_ms() + 500
    with server.wire(3) as w:
        # Due times in no order of sequence; many at one moment.
        calls, expected = [], {}
        rng = random.Random(1)
        for i in range(jobs):
            order, due = f"o{rng.randrange(keys)}", at + rng.randrange(20)
            expected.setdefault(order, []).append((due, i))
            calls.append(("SCHEDULE", "q", i, "ORDER", order, "AT", due, "ATTEMPTS", 0))
        assert not any(isinstance(r, Refused) for r in w.pipeline(calls))
        workers = Workers(server, "q", fail_percent=10, seed=2)
        end = time.monotonic() + 60
        while sum(map(len, workers.done.values())) < jobs and time.monotonic() < end and not workers.wrong:
            time.sleep(0.05)
        workers.stop()
        assert not workers.wrong, workers.wrong[:3]
        assert workers.done == {order: [i for _, i in sorted(all)] for order, all in expected.items()}


@pytest.mark.limit(240)
def test_order_survives_kill_9(make_server):
    """Whoever was running or waiting for its retry when the server died is still the first of its key."""
    server = make_server()
    rng = random.Random(3)
    done, scheduled, held = {}, {}, {}
    for round in range(5):
        with server.wire(3) as w:
            for i in range(200):
                order = f"o{rng.randrange(10)}"
                n = round * 1000 + i
                w.call("SCHEDULE", "q", n, "ORDER", order, "BACKOFF", "fixed:50ms", "ATTEMPTS", 0)
                scheduled.setdefault(order, []).append(n)
            end, before = time.monotonic() + 1, sum(done.values())
            while time.monotonic() < end or sum(done.values()) <= before + 20:  # more if the machine stalls
                for job in w.lease("q", "COUNT", 5, "FOR", "30s"):
                    order, n = job["order"], int(job["payload"])
                    assert n == scheduled[order][done.get(order, 0)], f"{order}: {n} out of order"
                    assert held.get(order) in (None, n)
                    held[order] = n
                    what = rng.randrange(3)
                    if what == 0:
                        continue  # still runs when the server is killed
                    if what == 1:
                        w.call("FAIL", job["id"], job["token"])
                    else:
                        w.call("COMPLETE", job["id"], job["token"])
                        done[order] = done.get(order, 0) + 1
                        held[order] = None
                for job in w.call("LIST", "STATE", "leased", "LIMIT", 100)["jobs"]:
                    if rng.randrange(2):  # it is cut short, so that its key goes on
                        token = w.call("GET", job["id"])["token"]
                        w.call("RELEASE", job["id"], token)
        server.kill()
        server.start()
        with server.wire(3) as w:
            running = [job for job in w.call("LIST", "STATE", "leased", "LIMIT", 100)["jobs"]]
            orders = [job["order"] for job in running]
            assert len(orders) == len(set(orders)), "two of one key run"
    assert sum(done.values()) > 100


def test_the_command_line_has_it(server, tmp_path):
    def run(*args):
        result = belfry("--port", server.port, *args, stdin=subprocess.DEVNULL)
        assert result.returncode == 0, result.stderr
        return result.stdout

    first, second = (run("schedule", "q", "x", "--order", "o", "--key", k).strip() for k in "ab")
    explained = json.loads(run("explain", "--key", "b", "--queue", "q", "--order", "o", "--json"))
    assert explained["id"] == second and explained["reason"] == "ordering_key" and first in explained["why"]
    run("work", "q", "--once", "--", "sh", "-c", f"echo $BELFRY_ORDER > {tmp_path}/order")
    assert (tmp_path / "order").read_text() == "o\n"
    assert run("cancel", "--key", "b", "--queue", "q", "--order", "o").strip() == "cancelled"
