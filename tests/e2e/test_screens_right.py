# SPDX-License-Identifier: MIT
"""The dashboard shows the numbers of what happened: a known history is made, and each screen is compared with it."""
import datetime
import time

import pytest

from screens import browser  # noqa: F401
from web import Web

HOUR = 3_600_000
# Queue: how many are done, failed and tried again later, dead by each error, cancelled, running, ready, scheduled.
PLAN = {"orders": {"done": 12, "retry": 2, "dead": {"code 17: no stock of 42": 3, "code 4: no stock of 7": 2, "bad address": 4}, "cancelled": 5,
                   "running": 3, "ready": 8, "scheduled": 6},
        "letters": {"done": 30, "retry": 0, "dead": {"bad address": 1}, "cancelled": 0, "running": 1, "ready": 0, "scheduled": 40}}
LATE_MS = 700  # jobs of `orders` that are done were taken so late at least


def schedule(web, queue, n, **options):
    items = [{"queue": queue, "payload": k, **options} for k in range(n)]
    return [one["id"] for one in web.post("/v1/jobs/batch", {"mode": "all", "items": items})["results"]] if n else []


def take(web, queue, n, worker):
    jobs = web.post("/v1/leases", {"queues": [queue], "count": n, "worker": worker, "for": "30m"})["jobs"] if n else []
    assert len(jobs) == n
    return jobs


def make(web, queue, plan, worker):
    """Lives through the plan; jobs are taken in order, so each step leaves none that is ready."""
    web.call("PATCH", f"/v1/queues/{queue}", {"attempts": 5, "backoff": "1h"})
    schedule(web, queue, plan["done"])
    time.sleep(LATE_MS / 1000 if queue == "orders" else 0)
    for job in take(web, queue, plan["done"], worker):
        web.post(f"/v1/jobs/{job['id']}/complete", {"token": job["token"]})
    schedule(web, queue, plan["retry"])
    for job in take(web, queue, plan["retry"], worker):
        web.post(f"/v1/jobs/{job['id']}/fail", {"token": job["token"], "error": "try later"})
    for error, n in plan["dead"].items():
        schedule(web, queue, n)
        for job in take(web, queue, n, worker):
            web.post(f"/v1/jobs/{job['id']}/fail", {"token": job["token"], "error": error, "final": True})
    for id in schedule(web, queue, plan["cancelled"], **{"in": "1d"}):
        web.call("DELETE", f"/v1/jobs/{id}")
    schedule(web, queue, plan["running"])
    take(web, queue, plan["running"], worker)
    schedule(web, queue, plan["ready"])


@pytest.fixture(scope="module")
def past(request, tmp_path_factory):
    from conftest import _factory
    factory, finish = _factory(request, tmp_path_factory.mktemp("right"))
    server = factory()
    with Web(server.port) as web:
        server.due = []
        for queue, plan in PLAN.items():
            make(web, queue, plan, f"{queue}-worker")
            # One every 20 minutes of the next day, from the next hour on.
            start = (int(time.time() * 1000) // HOUR + 1) * HOUR
            times = [start + n * HOUR // 3 for n in range(plan["scheduled"])]
            web.post("/v1/jobs/batch", {"mode": "all", "items": [{"queue": queue, "payload": 0, "at": at} for at in times]})
            server.due += times
        web.call("PATCH", "/v1/tenants/acme", {"weight": 3})
        schedule(web, "orders", 4, tenant="acme")
        web.call("PUT", "/v1/recurrences/twice", {"queue": "letters", "payload": {}, "cron": "30 1 * * *", "tz": "Europe/Berlin"})
    yield server
    finish()


@pytest.fixture
def page(past, browser):
    browser.base = f"http://127.0.0.1:{past.port}/"
    browser.size(1400)
    browser.open()
    browser.until(lambda: browser.all("main > .screen"), "the first screen")
    return browser


def tiles(page):
    script = "return [...document.querySelectorAll('.tile')].map(t => [t.querySelector('.tile-name').innerText.trim().toLowerCase(), t.querySelector('b').title || t.querySelector('b').innerText])"
    return {name: int(text.replace(",", "")) for name, text in page.js(script)}


def rows(page, css="main table.grid"):
    """The cells of a table, as texts, by the first line of the first cell."""
    script = "return [...document.querySelector(arguments[0]).querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
    return {cells[0].split("\n")[0].split(" ")[0]: cells for cells in page.js(script, css)}


def sums(plan):
    return {"done": plan["done"], "dead": sum(plan["dead"].values()), "cancelled": plan["cancelled"], "running": plan["running"],
            "ready": plan["ready"], "scheduled": plan["scheduled"] + plan["retry"], "waiting": 0, "expired": 0}


def test_the_tiles_of_a_queue_and_of_all(past, page):
    for queue, plan in PLAN.items():
        page.go(f"#/queues/default/{queue}")
        page.until(lambda: tiles(page) == sums(plan), f"{queue}: {sums(plan)}, shown {tiles(page)}")
    page.go("#/now?tenant=default")
    both = {name: sum(sums(plan)[name] for plan in PLAN.values()) for name in sums(PLAN["orders"])}
    page.until(lambda: tiles(page) == both, f"{both}, shown {tiles(page)}")
    page.go("#/now?tenant=acme")
    page.until(lambda: tiles(page)["ready"] == 4 and tiles(page)["done"] == 0, "only the tenant's")


def test_queues_workers_and_tenants(past, page):
    page.go("#/queues?tenant=default")
    page.until(lambda: set(rows(page)) == set(PLAN), "the queues")
    for queue, cells in rows(page).items():
        want = sums(PLAN[queue])
        assert [int(c) for c in cells[1:5]] == [want["ready"], want["running"], want["scheduled"], want["dead"]], queue
    page.go("#/workers")
    page.until(lambda: len(rows(page)) == 2, "the workers")
    for queue, plan in PLAN.items():
        cells = rows(page)[f"{queue}-worker"]
        assert cells[1] == queue
        assert [int(c) for c in cells[2:5]] == [plan["running"], plan["done"], plan["retry"] + sum(plan["dead"].values())]
    page.go("#/tenants")
    page.until(lambda: set(rows(page)) == {"acme", "default"}, "the tenants")
    assert rows(page)["acme"][1] == "4" and rows(page)["acme"][3] == "3"
    pending = sum(sum(sums(plan)[s] for s in ("ready", "running", "scheduled")) for plan in PLAN.values())
    assert int(rows(page)["default"][1]) == pending


def test_lateness_is_what_the_jobs_waited(past, page):
    page.go("#/queues/default/orders")
    page.shows("How late, how long")
    late = rows(page, "table.grid.small")["Late"]
    with Web(past.port) as web:
        queue = web.get("/v1/queues/orders")
    assert queue["lateness_max_ms"] >= LATE_MS and queue["lateness_p50_ms"] < queue["lateness_max_ms"]
    spans = [f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s" for ms in (queue[f"lateness_{q}_ms"] for q in ("p50", "p99", "max"))]
    assert late[1:] == spans


def test_groups_of_errors_are_what_was_thrown(past, page):
    page.go("#/dead")
    page.until(lambda: len(page.all(".group")) == 3, "three groups")
    script = "return [...document.querySelectorAll('.group')].map(g => [g.querySelector('b').innerText, g.querySelector('code').innerText, g.querySelector('.group-words a').innerText])"
    words = {(queue, int(n)): pattern for n, pattern, queue in page.js(script)}
    assert set(words) == {("orders", 5), ("orders", 4), ("letters", 1)}
    assert words["orders", 4] == words["letters", 1] == "bad address"
    assert "no stock of" in words["orders", 5] and "42" not in words["orders", 5], "errors that differ only in numbers are one group"
    page.go("#/dead?queue=orders")
    page.until(lambda: len(page.all(".group")) == 2, "the groups of one queue")


def test_the_heat_map_is_a_full_count(past, page):
    page.go("#/future?days=7")
    page.until(lambda: page.all(".heat a"), "the map")
    cells = page.js("return [...document.querySelectorAll('.heat a')].map(a => [new URLSearchParams(a.getAttribute('href').split('?')[1]).get('hour'), a.title])")
    shown = {int(hour): int(title.split(": ")[1].split(" ")[0].replace(",", "")) for hour, title in cells}
    count = {}
    now = time.time() * 1000
    with Web(past.port) as web:
        cursor = ""
        while cursor is not None:
            answer = web.get(f"/v1/jobs?tenant=*&state=scheduled&limit=1000{'&cursor=' + cursor if cursor else ''}")
            for job in answer["jobs"]:
                count[job["at_ms"] // HOUR * HOUR] = count.get(job["at_ms"] // HOUR * HOUR, 0) + 1
            cursor = answer["cursor"]
        for at in (one["at_ms"] for one in web.post("/v1/preview", {"cron": "30 1 * * *", "tz": "Europe/Berlin", "count": 20})["times"]):
            if at < now + 7 * 24 * HOUR and at // HOUR * HOUR in shown:
                count[at // HOUR * HOUR] = count.get(at // HOUR * HOUR, 0) + 1
    assert {hour: n for hour, n in shown.items() if n} == {hour: n for hour, n in count.items() if hour in shown}
    assert sum(count.values()) >= len(past.due) + 6


def test_the_calendar_is_what_preview_says(past, page):
    today = datetime.datetime.now(datetime.timezone.utc)
    for year, month in ((today.year + 1, 3), (today.year + 1, 1)):
        page.go(f"#/recurrences/default/twice?month={year}-{month:02}")
        page.until(lambda: page.all(".calendar .time"), "the calendar")
        shown = page.js("return [...document.querySelectorAll('.calendar td:not(.off)')].map(td => [td.querySelector('.day').innerText.trim(), [...td.querySelectorAll('.time')].map(t => t.innerText.trim())])")
        with Web(past.port) as web:
            begin = int(datetime.datetime(year, month, 1, tzinfo=datetime.timezone.utc).timestamp() * 1000) - 24 * HOUR
            times = web.post("/v1/preview", {"cron": "30 1 * * *", "tz": "Europe/Berlin", "from": begin, "count": 40})["times"]
        want = {}
        for one in times:
            if one["local"].startswith(f"{year}-{month:02}-"):
                want.setdefault(str(int(one["local"][8:10])), []).append(one["local"][11:16])
        assert {day: list_ for day, list_ in shown} == want


def test_the_figures_over_time_are_those_of_the_history(past, page):
    """What SERIES has of the hour is what happened in it, and the page draws it."""
    with Web(past.port) as web:
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline:
            steps = web.get("/v1/series?queue=orders&step=1h")["steps"]
            if steps and sum(one["succeeded"] for one in steps) == PLAN["orders"]["done"]:
                break
            time.sleep(1)
    dead = sum(PLAN["orders"]["dead"].values())
    assert sum(one["succeeded"] for one in steps) == PLAN["orders"]["done"]
    assert sum(one["failed"] for one in steps) == PLAN["orders"]["retry"] + dead and sum(one["dead"] for one in steps) == dead
    assert sum(one["cancelled"] for one in steps) == PLAN["orders"]["cancelled"]
    page.go("#/queues/default/orders")
    page.until(lambda: page.all(".heat a"), "the map of lateness")
    titles = page.js("return [...document.querySelectorAll('.heat a')].map(a => a.title)")
    assert sum(int(t.rsplit("of ", 1)[1].split(" ")[0]) for t in titles) == sum(one["picked"] for one in steps)
