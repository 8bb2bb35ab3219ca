# SPDX-License-Identifier: MIT
"""LIST SORT due: all pages together are the jobs in order of time, in memory and on disk."""
import random
import threading
import time

import pytest

from conftest import _factory
from web import Problem, Web
from wire import Refused, encode, now_ms

JOBS = 30_000
HOUR = 3_600_000
SCOPES = [("default", "mail"), ("default", "sms"), ("default", "push"), ("acme", "mail"), ("acme", "bills"), ("zeta", "mail")]


class Job:
    def __init__(self, scope, at, tag, key, n):
        self.tenant, self.queue = scope
        self.at, self.tag, self.key, self.n = at, tag, key, n
        self.id = None


@pytest.fixture(scope="module")
def full(request, tmp_path_factory):
    """A server with little memory, and the jobs that it has: ready ones, and ones that come within days."""
    make, finish = _factory(request, tmp_path_factory.mktemp("sorted"))
    server = make(memory="16MiB")
    rng = random.Random(11)
    now = now_ms()
    jobs = []
    with server.wire(timeout=120) as w:
        for tenant, queue in SCOPES:
            w.call("PAUSE", queue, "TENANT", tenant)
        for first in range(0, JOBS, 2000):
            rows = []
            for n in range(first, first + 2000):
                at = now + HOUR + rng.randrange(500) * HOUR // 10
                if n % 3 == 0:  # ready: overdue already when it is made, or due soon
                    at = now - rng.randrange(HOUR) if n % 2 else now + rng.randrange(9000)
                rows.append(Job(rng.choice(SCOPES), at, rng.choice("abcdefgh"), f"k{n % 100:02}/{n}", n))
            data = b"".join(encode("SCHEDULE", j.queue, f"{j.n:06}" + "x" * 800, "AT", j.at, "TENANT", j.tenant, "TAG", j.tag,
                                   "KEY", j.key) for j in rows)
            for j, id in zip(rows, w.exchange(data, len(rows), timeout=120)):
                assert not isinstance(id, Refused), id
                j.id = id
            jobs += rows
        moved = rng.sample(jobs, 3000)
        gone = {j.id for j in moved[:1000]}
        data = b"".join(encode("CANCEL", j.id, "TENANT", j.tenant) for j in moved[:1000])
        assert not any(isinstance(a, Refused) for a in w.exchange(data, 1000, timeout=120))
        for j in moved[1000:]:
            j.at = now + HOUR + rng.randrange(500) * HOUR // 10
        data = b"".join(encode("RESCHEDULE", j.id, "AT", j.at, "TENANT", j.tenant) for j in moved[1000:])
        assert not any(isinstance(a, Refused) for a in w.exchange(data, 2000, timeout=120))
        time.sleep(max(0, (now + 9500 - now_ms()) / 1000))
        assert w.call("STATS")["cold_jobs"] > JOBS // 2
    yield server, now, {j.id: j for j in jobs if j.id not in gone}
    finish()


def pages(w, *words, limit=1000, sort=("SORT", "due"), most=10000):
    found, cursor, n = [], None, 0
    while n < most:
        page = w.call("LIST", *words, *sort, "LIMIT", limit, *(["CURSOR", cursor] if cursor else []))
        assert len(page["jobs"]) <= limit
        found += page["jobs"]
        cursor, n = page["cursor"], n + 1
        if not cursor:
            return found, n
    return found, n


def check(shown, wanted, jobs):
    """Every job once, and in order: by the moment when it becomes or became ready, then as jobs were made."""
    assert {j["id"] for j in shown} == {j.id for j in wanted} and len(shown) == len(wanted)
    places = [(j["at_ms"], jobs[j["id"]].n) for j in shown]
    assert places == sorted(places)
    for j in shown:
        at = jobs[j["id"]].at
        assert j["due_ms"] == at and (j["at_ms"] == at or (j["state"] == "ready" and j["at_ms"] > at))


def test_all_pages_are_the_jobs_in_order(full):
    server, now, jobs = full
    with server.wire(3, timeout=120) as w:
        shown, n = pages(w, "TENANT", "*")
        check(shown, jobs.values(), jobs)
        assert n >= len(jobs) // 1000 and len({j["at_ms"] for j in shown}) < len(shown) // 2  # many at one moment
        assert {j["state"] for j in shown} == {"ready", "scheduled"}
        some, _ = pages(w, "TENANT", "*", limit=37, most=20)
        assert [j["id"] for j in some] == [j["id"] for j in shown[:20 * 37]]


def test_filters(full):
    server, now, jobs = full
    day = now + 24 * HOUR
    with server.wire(3, timeout=120) as w:
        for words, fits in (
                (["QUEUE", "mail", "TENANT", "acme"], lambda j: (j.tenant, j.queue) == ("acme", "mail")),
                (["QUEUE", "mail"], lambda j: (j.tenant, j.queue) == ("default", "mail")),
                (["TENANT", "*", "STATE", "ready"], lambda j: j.at < now + 9000),
                (["TENANT", "*", "STATE", "scheduled", "TAG", "c"], lambda j: j.at > now + 9000 and j.tag == "c"),
                (["TENANT", "zeta", "STATE", "ready", "STATE", "scheduled"], lambda j: j.tenant == "zeta"),
                (["TENANT", "*", "KEY_PREFIX", "k07/"], lambda j: j.key.startswith("k07/")),
                (["TENANT", "*", "FROM", day, "TO", day + 5 * HOUR], lambda j: day <= j.at < day + 5 * HOUR),
                (["TENANT", "*", "TO", now - HOUR // 2], lambda j: j.at < now - HOUR // 2),
                (["TENANT", "*", "STATE", "waiting"], lambda j: False),
                (["TENANT", "*", "STATE", "leased"], lambda j: False)):
            for limit in (1000, 333):
                check(pages(w, *words, limit=limit)[0], [j for j in jobs.values() if fits(j)], jobs)


def test_payloads_are_previewed_in_pages_of_bounded_size(full):
    server, now, jobs = full
    with server.wire(3, timeout=120) as w:
        shown, n = pages(w, "TENANT", "zeta", "PREVIEW", 500)
        check(shown, [j for j in jobs.values() if j.tenant == "zeta"], jobs)
        assert n > len(shown) // 1000 + 1  # fewer than LIMIT: the page keeps 256 KiB
        for j in shown:
            assert j["preview"] == f"{jobs[j['id']].n:06}" + "x" * 494 and j["payload_bytes"] == 806


def test_http_and_a_tenant_see_the_same(full):
    server, now, jobs = full
    with Web(server.port) as web:
        page = web.get("/v1/jobs?sort=due&tenant=acme&limit=500&state=scheduled")
    wanted = sorted(j.at for j in jobs.values() if j.tenant == "acme" and j.at > now + 9000)
    assert [j["at_ms"] for j in page["jobs"]] == wanted[:500]


def test_ended_states_are_refused(full):
    server, _, _ = full
    with server.wire(3) as w, Web(server.port) as web:
        for state in ("done", "dead", "cancelled", "expired"):
            with pytest.raises(Refused) as e:
                w.call("LIST", "SORT", "due", "STATE", "ready", "STATE", state)
            assert e.value.code == "INVALID"
            assert f"sort: state {state} has no order of due time: expected scheduled, ready, leased or waiting" in str(e.value)
        with pytest.raises(Refused, match="sort: not together with ended_from and ended_to"):
            w.call("LIST", "SORT", "due", "ENDED_FROM", "1")
        with pytest.raises(Refused, match="sort: expected"):
            w.call("LIST", "SORT", "id")
        with pytest.raises(Problem) as p:
            web.get("/v1/jobs?sort=due&state=dead")
        assert p.value.status == 400 and "expected scheduled, ready, leased or waiting" in p.value.detail
        plain = w.call("LIST", "TENANT", "*", "LIMIT", 5)["cursor"]
        due = w.call("LIST", "TENANT", "*", "LIMIT", 5, "SORT", "due")["cursor"]
        for words in (["SORT", "due", "CURSOR", plain], ["CURSOR", due]):
            with pytest.raises(Refused, match="cursor: expected one that LIST gave"):
                w.call("LIST", "TENANT", "*", *words)


def test_pages_leave_none_out_while_jobs_go_to_disk_and_back(full):
    """Producers and workers of another queue keep jobs moving between memory and disk."""
    server, now, jobs = full
    stop = threading.Event()
    still = {id for id, j in jobs.items()}

    def churn():
        rng = random.Random(5)
        with server.wire(3, timeout=120) as w:
            while not stop.is_set():
                data = b"".join(encode("SCHEDULE", "churn", "y" * 900, "IN", f"{rng.randrange(1, 4000)}ms") for _ in range(500))
                w.exchange(data, 500, timeout=120)
                for job in w.call("LEASE", "churn", "COUNT", 400) or []:
                    w.call("COMPLETE", job["id"], job["token"])

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        with server.wire(3, timeout=120) as w:
            for limit in (1000, 250):
                shown, _ = pages(w, "TENANT", "*", limit=limit)
                order = [j["at_ms"] for j in shown if j["queue"] != "churn"]
                ids = [j["id"] for j in shown if j["queue"] != "churn"]
                assert len(ids) == len(set(ids)) and set(ids) == still and order == sorted(order)
    finally:
        stop.set()
        thread.join()


def test_waiting_jobs_come_last(server):
    with server.wire(3) as w:
        parents = [w.call("SCHEDULE", "q", "p", "IN", f"{i + 1}h") for i in range(5)]
        parents = [p if isinstance(p, str) else p["id"] for p in parents]
        children = [w.call("SCHEDULE", "q", "c", "AFTER", p) for p in reversed(parents)]
        children = [c if isinstance(c, str) else c["id"] for c in children]
        for limit in (100, 5, 3, 1):
            shown, _ = pages(w, limit=limit)
            assert [j["id"] for j in shown] == parents + children, limit
        assert [j["id"] for j in pages(w, "STATE", "waiting", limit=2)[0]] == children


def test_a_tenants_token_sees_only_its_own(server):
    with server.wire(3) as root, server.wire(3) as shop:
        root.call("AUTH", root.call("TOKENCREATE", "root", "admin")["token"])
        token = root.call("TOKENCREATE", "shop", "producer", "TENANT", "acme")["token"]
        for i in range(40):
            root.call("SCHEDULE", "mail", i, "IN", f"{40 - i}m", "TENANT", "acme" if i % 2 else "zeta")
        shop.call("AUTH", token)
        shown, n = pages(shop, limit=7)
        assert len(shown) == 20 and {j["tenant"] for j in shown} == {"acme"} and n >= 3
        assert [j["at_ms"] for j in shown] == sorted(j["at_ms"] for j in shown)
        with pytest.raises(Refused):
            pages(shop, "TENANT", "zeta")
        with pytest.raises(Refused):
            pages(shop, "TENANT", "*")
        own = shop.call("LIST", "SORT", "due", "LIMIT", 3)["cursor"]
        theirs = root.call("LIST", "SORT", "due", "LIMIT", 3, "TENANT", "zeta")["cursor"]
        assert "-" in theirs and shop.call("LIST", "SORT", "due", "CURSOR", own)["jobs"]
        with pytest.raises(Refused, match="cursor"):  # a cursor of its own is sealed, and others are no cursors to it
            shop.call("LIST", "SORT", "due", "CURSOR", theirs)
