# SPDX-License-Identifier: MIT
"""What bench/ui measures, and tests/e2e/test_bench_ui.py in small: every screen with many jobs on disk, and many dashboards."""
import contextlib
import http.client
import json
import statistics
import sys
import threading
import time

from harness import MIB, ROOT, Belfry, Load, figure, running, say
from scenarios import Demand

sys.path.append(str(ROOT / "tests/e2e"))
from wire import Wire

JOBS, QUEUES, TENANTS, DASHBOARDS = 20_000_000, 10_000, 1_000, 50
LARGE = 20  # queues that have nearly all jobs
SCREEN_MS, SERVER_MS = 300, 50
COST, LATE_MS = 3, 1  # percent of schedule/s; p99 of lateness
DAY = 86_400_000


def requests():
    """The requests of each screen, as its module makes them."""
    now = int(time.time() * 1000)
    hour = "series?step=1m&limit=100&tenant="
    return {"now": ["stats", "overview?tenant=*", hour + "*", *[f"{hour}default&queue=large.{n}" for n in range(8)]],
            "queues": ["overview?tenant=*", "queues?tenant=*&limit=200"],
            "queue": ["queues/large.1", hour + "default&queue=large.1", "forecast?queue=large.1&step=30m", "errors?queue=large.1"],
            "jobs": ["jobs?tenant=*&limit=100&preview=80"],
            "search": ["jobs?queue=large.1&state=scheduled&limit=100&preview=80"],
            "future": [f"forecast?tenant=*&step=1h&from={now}&to={now + 7 * DAY}"],
            "recurrences": ["tenants?limit=200"], "workers": ["workers?tenant=*"], "dead": ["errors?tenant=*"],
            "tenants": ["overview?tenant=*&limit=1", "tenants?limit=200"], "operations": ["audit?tenant=*&limit=1000"]}


class Lab:
    def __init__(self, build, scratch, scale=1.0, seconds=10, rounds=5):
        self.build, self.scratch, self.scale, self.seconds, self.rounds = build, scratch, scale, seconds, rounds
        self.commands = []

    def count(self, n, least):
        return max(least, int(n * self.scale))


class Get:
    """Requests over a connection that is kept."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)

    def __call__(self, path):
        begin = time.perf_counter()
        self.connection.request("GET", "/v1/" + path, headers={"Accept": "application/json"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]}")
        return (time.perf_counter() - begin) * 1000

    def close(self):
        self.connection.close()


def fill(lab, server):
    """Few queues with nearly all jobs, which go to disk, and many small ones of many tenants."""
    jobs, queues, tenants = lab.count(JOBS, 20_000), lab.count(QUEUES, 300), lab.count(TENANTS, 30)
    for first in range(0, LARGE, 2):  # two at a time
        loads = [Load(server, "--op", "schedule", "--queue", f"large.{n}", "--jobs", jobs // LARGE, "--span", "30d", "--connections", 1)
                 for n in (first, first + 1)]
        for load in loads:
            load.result()
    lab.commands.append(server.command)
    with Wire(int(server.port), proto=3) as w:
        for n in range(queues):
            w.call("SCHEDULE", f"small.{n}", "x", "IN", "1d" if n % 2 else "0ms", "TENANT", f"t{n % tenants}")
        w.call("QUEUE", "broken", "ATTEMPTS", 1)
        for n in range(500):
            w.call("SCHEDULE", "broken", "x")
        for job in w.call("LEASE", "broken", "COUNT", 500):
            w.call("FAIL", job["id"], job["token"], "ERROR", f"code {job['token']}: timeout")
    say(f"  {figure(jobs)} jobs, {figure(queues)} queues, {figure(tenants)} tenants")


def screens(lab, server):
    """The server's part of each screen: its slowest request, at the median of some rounds."""
    get, found = Get(server.port), {}
    for name, paths in requests().items():
        for path in paths:
            get(path)  # the first look may bring blocks of runs into memory
        found[name] = max(statistics.median(get(path) for _ in range(lab.rounds)) for path in paths)
    get.close()
    return [Demand(f"{name}: the slowest request", f"{ms:.1f} ms", f"{SERVER_MS} ms", ms <= SERVER_MS, True) for name, ms in found.items()]


def drawn(lab, server):
    """Each screen in a browser, from the change of the address until it is drawn. None without a browser."""
    try:
        from browser import Browser
    except ImportError:
        return []
    found = {}
    with Browser(f"http://127.0.0.1:{server.port}/") as page:
        page.open()
        page.until(lambda: page.all("main > .screen"), "the first screen", timeout=60)
        for screen in ("now", "queues", "queues/default/large.1", "jobs", "future", "recurrences", "workers", "dead", "tenants", "operations"):
            took = []
            for _ in range(3):
                page.go("#/workers" if screen != "workers" else "#/tenants")
                took.append(page.driver.execute_async_script(DRAWN, f"#/{screen}"))
            found[screen] = statistics.median(took)
    return [Demand(f"{name}: drawn in the browser", f"{ms:.0f} ms", f"{SCREEN_MS} ms", ms <= SCREEN_MS, True) for name, ms in found.items()]


DRAWN = """
    const [hash, done] = arguments, key = decodeURIComponent(hash.slice(2)), begin = performance.now();
    const look = () => {
        const s = document.querySelector("main > .screen");
        if (s && decodeURIComponent(s.dataset.key) === key && !s.parentNode.hasAttribute("aria-busy")) done(performance.now() - begin);
        else setTimeout(look, 2);
    };
    location.hash = hash;
    look();
"""


class Dashboards:
    """Many readers of the screen Now: each asks as the page does, evenly over the second."""

    def __init__(self, server, n):
        self.stop = threading.Event()
        self.asked, self.failed = 0, None
        self.thread = threading.Thread(target=self._run, args=(server.port, n), daemon=True)

    def _run(self, port, n):
        gets = [Get(port) for _ in range(n)]
        try:
            for tick in range(1 << 30):
                for i, get in enumerate(gets):
                    if self.stop.wait(max(0.0, self.begin + tick + i / n - time.monotonic())):
                        return
                    get("stats")
                    if tick % 2 == i % 2:
                        get("overview?tenant=*")
                    if tick % 30 == i % 30:
                        get("series?tenant=*&step=1m&limit=100")
                    self.asked += 1
        except Exception as error:  # shown by the caller
            self.failed = error
        finally:
            for get in gets:
                get.close()

    def __enter__(self):
        self.begin = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        if self.failed:
            raise self.failed


def cost(lab, server):
    """The same work with dashboards and without, in turns, so that both meet the same machine."""
    n, jobs = lab.count(DASHBOARDS, 5), lab.count(2_000_000, 20_000)
    rates, late = {True: [], False: []}, {True: [], False: []}
    for turn in range(2 * lab.rounds):
        with_them = turn % 2 == 1
        with Dashboards(server, n) if with_them else contextlib.nullcontext() as readers:
            row = Load(server, "--op", "schedule", "--queue", "cost", "--jobs", jobs, "--span", "30d", "--connections", 4, "--in-flight", 256).result()
            rates[with_them].append(row["rate"])
            row = Load(server, "--op", "late", "--queue", f"late.{turn}", "--jobs", 200 * lab.seconds, "--span", f"{lab.seconds}s").result()
            late[with_them].append(row["late_us"]["p99"] / 1000)
            if with_them and not readers.asked:
                raise RuntimeError("no dashboard asked")
    slower = 100 * (1 - statistics.median(a / b for a, b in zip(rates[True], rates[False])))
    later = statistics.median(late[True]) - statistics.median(late[False])
    say(f"  schedule/s with: {[figure(r) for r in rates[True]]}, without: {[figure(r) for r in rates[False]]}")
    say(f"  lateness p99 with: {late[True]}, without: {late[False]} ms")
    return [Demand(f"{n} dashboards cost, of schedule/s", f"{slower:.1f} %", f"{COST} %", slower <= COST, True),
            Demand(f"{n} dashboards add to the p99 of lateness", f"{later:.2f} ms", f"{LATE_MS} ms", later <= LATE_MS, True)]


PARTS = {"screens": screens, "drawn": drawn, "cost": cost}
TITLES = {"screens": "The server's part of each screen", "drawn": "Each screen in a browser", "cost": "Fifty dashboards"}


def measure(lab, names=tuple(PARTS)):
    memory = max(32 * MIB, int(256 * MIB * lab.scale))
    flags = [] if lab.scale == 1 else ["--memory", str(memory), "--segment-size", str(memory // 8)]
    with running(Belfry("Belfry", *flags), lab.build, lab.scratch) as server:
        begin = time.monotonic()
        fill(lab, server)
        say(f"  filled in {time.monotonic() - begin:.0f} s: {json.dumps({k: v for k, v in stats(server).items() if k in ('cold_jobs', 'hot_jobs', 'queues', 'tenants')})}")
        return {name: PARTS[name](lab, server) for name in names}


def stats(server):
    get = http.client.HTTPConnection("127.0.0.1", int(server.port), timeout=60)
    get.request("GET", "/v1/stats")
    answer = json.loads(get.getresponse().read())
    get.close()
    return answer
