# SPDX-License-Identifier: MIT
"""Many more jobs than memory has room for: what bench/deep measures, and tests/e2e/test_deep.py in small.

A scenario takes a Lab and answers its demands, each with what was found. Sizes are those of the whole
thing times lab.scale, and so is the server's memory, so that a small run does the same as a large one.
"""
import contextlib
import os
import random
import sys
import threading
import time
from typing import NamedTuple

from harness import MIB, PEERS, ROOT, Belfry, Load, Watch, figure, running, say

sys.path.append(str(ROOT / "tests/e2e"))
from wire import Refused, Wire, now_ms

PAYLOAD_BYTES = 100
MEMORY = 256 * MIB  # the server's budget if nothing is said
LOOKAHEAD_S = 60  # how long before they are due jobs come to memory
STEADY = ("runs", "run_bytes", "journal_bytes", "hot_jobs", "cold_jobs")


class Demand(NamedTuple):
    text: str
    found: str
    bound: str
    ok: bool
    timing: bool = False  # depends on how fast the machine is


class Lab:
    """Where and how large scenarios run; collects what they plot."""

    def __init__(self, build, scratch, scale=1.0, memory=None, herd_lead_s=None, settle_s=3.0):
        self.build, self.scratch, self.scale = build, scratch, scale
        self.memory = memory or max(16 * MIB, int(MEMORY * scale))
        self.herd_lead_s, self.settle_s = herd_lead_s, settle_s
        self.series = {}  # peer -> [(jobs, resident bytes, jobs per second)]
        self.commands = []

    def count(self, jobs):
        return max(1000, int(jobs * self.scale))

    @property
    def anon_limit(self):
        """400 MiB at a budget of 256 MiB: what a process has besides does not shrink with it."""
        return 40 * MIB + self.memory * 360 // 256

    @contextlib.contextmanager
    def server(self):
        """With the default options, if the budget is the default; else segments are as much smaller or larger."""
        flags = [] if self.memory == MEMORY else \
            ["--memory", str(self.memory), "--segment-size", str(max(MIB // 4, self.memory // 8))]
        with running(Belfry("Belfry", *flags), self.build, self.scratch) as server, Watch(server) as watch:
            self.commands.append(server.command)
            yield server, watch

    def load(self, server, *args, **kw):
        load = Load(server, *args, **kw)
        self.commands.append(load.command)
        return load

    def memory_demand(self, text, watch):
        peak = watch.peak["RssAnon"]
        return Demand(f"{text}: anonymous memory, at most", f"{peak / MIB:.0f} MiB", f"{self.anon_limit / MIB:.0f} MiB",
                      peak <= self.anon_limit)


# ---- Helpers ----

def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def spread(values, unit=1e3):
    """As "p50 1.2, p99 3.4, max 5.6 ms", of seconds."""
    return ", ".join(f"{name} {unit * quantile(values, share):.1f}"
                     for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))) + " ms"


def spread_us(hist):
    return ", ".join(f"{name} {hist[name] / 1e3:.1f}" for name in ("p50", "p99", "max")) + " ms"


def connect(server, **kw):
    return Wire(int(server.port), 3, timeout=60, **kw)


def settled(lab, server, limit_s=900):
    """Waits until nothing moves between memory, journal and runs; answers STATS and how long it took."""
    begin = since = time.monotonic()
    last = None
    with connect(server) as w:
        while True:
            stats = w.call("STATS")
            now = {name: stats[name] for name in STEADY}
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > lab.settle_s:
                return stats, since - begin
            if time.monotonic() - begin > limit_s:
                raise RuntimeError(f"not settled after {limit_s} s: {now}")
            time.sleep(0.2)


def sleep_until(moment_ms):
    time.sleep(max(0.0, (moment_ms - now_ms()) / 1000))


def cool(server, whole):
    """Empties the page cache: the machine's, or (if that is not permitted or asked for) of the server's files."""
    os.sync()
    if whole:
        with contextlib.suppress(OSError), open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3\n")
            return
    for path in server.files():
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


# ---- Millions of jobs over months; kill -9 ----

def start_again(server, job):
    """Seconds from the start of the process to the answers of a PING and a GET."""
    begin = time.monotonic()
    server.launch()
    while True:
        server.check()
        try:
            with connect(server) as w:
                assert w.call("PING") == "PONG"
                assert w.call("GET", job["id"]) is not None, f"{job} is lost"
                return time.monotonic() - begin
        except ConnectionRefusedError:
            time.sleep(0.002)
        if time.monotonic() - begin > 120:
            raise RuntimeError(f"does not serve after two minutes:\n{server.log()}")


def complaint_of(job, reply):
    """What is wrong with what GET says of a job, or None. A job knows its number by its payload."""
    if job["state"] == "cancelled":
        return None if reply is None else f"{job}: cancelled, but {reply}"
    if reply is None or isinstance(reply, Refused):
        return f"{job}: {reply}"
    expected = (job["id"], "scheduled", job["due_ms"], f"{job['n']:010}", PAYLOAD_BYTES)
    payload = reply["payload"]
    found = (reply["id"], reply["state"], reply["due_ms"], payload[:10], len(payload))
    return None if found == expected else f"{expected} expected: {reply}"


def check_all(w, jobs):
    return [c for job, reply in zip(jobs, w.pipeline([("GET", job["id"]) for job in jobs]))
            if (c := complaint_of(job, reply))]


def ask_each(w, jobs, verb):
    """One at a time, as a lone client does; answers latencies and complaints."""
    took, complaints = [], []
    for job in jobs:
        due = job["due_ms"] + 86_400_000
        words = {"GET": (), "CANCEL": (), "RESCHEDULE": ("AT", due)}[verb]
        begin = time.monotonic()
        w.send(verb, job["id"], *words)
        reply = w.recv()
        took.append(time.monotonic() - begin)
        if verb == "GET":
            complaint = complaint_of(job, reply)
        else:
            good = {"CANCEL": "cancelled", "RESCHEDULE": "OK"}[verb]
            complaint = None if reply == good else f"{verb} {job}: {reply}"
            job.update(state="cancelled") if verb == "CANCEL" else job.update(due_ms=due)
        if complaint:
            complaints.append(complaint)
    return took, complaints


def edge_rates(parts, jobs):
    """Jobs per second of the first and the last twentieth."""
    edge = jobs // 20
    first = [p for p in parts if p["so_far"] <= edge]
    last = [p for p in parts if p["so_far"] > jobs - edge]
    return [sum(p["jobs"] for p in ps) / sum(p["seconds"] for p in ps) for ps in (first, last)]


def fill_wide(lab, server, watch, jobs):
    parts, points = [], []

    def part(row):
        parts.append(row)
        points.append((row["so_far"], watch.now.get("VmRSS", 0), row["rate"]))
        if len(parts) % 8 == 0:
            say(f"  {figure(row['so_far'])} jobs, {figure(row['rate'])}/s, {points[-1][1] / MIB:.0f} MiB resident")

    with lab.load(server, "--op", "schedule", "--jobs", jobs, "--span", "90d", "--progress", jobs // 80,
                  "--sample", 3000, part=part) as load:
        result = load.result()
    lab.series["belfry"] = points
    return result, edge_rates(parts, jobs)


def wide(lab):
    jobs = lab.count(20_000_000)
    demands = []
    with lab.server() as (server, watch):
        result, (first, last) = fill_wide(lab, server, watch, jobs)
        say(f"  {figure(jobs)} jobs in {result['seconds']:.1f} s")
        with connect(server) as w:
            at_end = w.call("STATS")
        stats, settle = settled(lab, server)
        each, limit = server.disk_bytes() / jobs, 1.5 * (PAYLOAD_BYTES + 64)
        if jobs < 20_000_000:  # the journal and its reserve are there however few jobs
            limit += 256 * MIB / jobs
        say(f"  settled after {settle:.1f} s: {stats['cold_jobs']} on disk in {stats['runs']} runs, {each:.0f} bytes each")
        demands += [
            Demand(f"{figure(jobs)} jobs due over 90 days, scheduled at {figure(result['rate'])}/s: all there",
                   figure(stats["scheduled"]), figure(jobs), stats["scheduled"] == at_end["scheduled"] == jobs),
            lab.memory_demand("meanwhile and until it has settled", watch),
            Demand(f"rate of the last twentieth ({figure(last)}/s) against the first ({figure(first)}/s)",
                   f"{100 * last / first:.0f} %", "80 %", last >= 0.8 * first, timing=True),
            Demand(f"disk for each job, settled after {settle:.0f} s", f"{each:.0f} bytes", f"{limit:.0f} bytes",
                   each <= limit),
        ]
        demands += after_kill(lab, server, watch, result["sample"], jobs)
    return demands


def after_kill(lab, server, watch, sample, jobs):
    random.Random(1).shuffle(sample)
    for job in sample:
        job["state"] = "scheduled"
    starts = {}
    for name in ("warm", "cold"):
        server.kill()
        if name == "cold":
            cool(server, whole=lab.scale >= 0.05)
        starts[name] = start_again(server, sample[-1])
        say(f"  kill -9, {name} page cache: serves after {starts[name]:.2f} s")
    demands = [Demand(f"ready after kill -9, {name} page cache", f"{took:.2f} s", "2 s", took < 2, timing=True)
               for name, took in starts.items()]
    third = len(sample) // 3
    cancelled = 0
    with connect(server) as w:
        for i, verb in enumerate(("GET", "CANCEL", "RESCHEDULE")):
            mine = sample[i * third:(i + 1) * third]
            took, wrong = ask_each(w, mine, verb)
            wrong += check_all(w, mine)
            cancelled += len(mine) if verb == "CANCEL" else 0
            demands += [Demand(f"{verb} of {len(mine)} jobs drawn at random: wrong", str(len(wrong)), "0", not wrong),
                        Demand(f"{verb}, one at a time: {spread(took)}; p99", f"{1e3 * quantile(took, 0.99):.1f} ms",
                               "50 ms", quantile(took, 0.99) < 0.05, timing=True)]
            for complaint in wrong[:5]:
                say(f"  {complaint}")
    server.kill()
    start_again(server, sample[0])
    with connect(server) as w:
        wrong = check_all(w, sample)
        left = w.call("STATS")["scheduled"]
    demands += [Demand("killed once more: jobs that are not as they were left", str(len(wrong)), "0", not wrong),
                Demand("jobs that are there in the end", figure(left), figure(jobs - cancelled), left == jobs - cancelled),
                lab.memory_demand("all along, restarts included", watch)]
    return demands


# ---- A herd ----

class Late:
    """Jobs of another queue, 20 a second, and how late a waiting worker gets them, beside a bare timer."""

    def __init__(self, lab, server, ends, phase, seconds):
        self.phase, self.seconds = phase, max(5, int(seconds))
        self.load = ends.enter_context(lab.load(server, "--op", "late", "--queue", f"late.{phase.replace(' ', '-')}", "--jobs", 20 * self.seconds,
                             "--span", f"{self.seconds}s"))

    def begin(self):
        """Waits until the first of its jobs is due: bench's head start."""
        time.sleep(max(1.0, self.seconds / 20) + 0.2)

    def demands(self):
        row = self.load.result(self.seconds + 120)
        late, timer = row["late_us"], row["timer_us"]
        over = (late["p99"] - timer["p99"]) / 1e3
        return [Demand(f"{row['jobs']} other jobs while the herd is {self.phase}: late {spread_us(late)}; timer "
                       f"{spread_us(timer)}; p99 above the timer's", f"{over:.1f} ms", "20 ms", over <= 20, timing=True),
                Demand(f"of those, early while the herd is {self.phase}", str(row["early"]), "0", row["early"] == 0)]


class Pings:
    """A PING every 5 ms from before the herd to its end, each phase by itself."""

    def __init__(self, lab, server, ends):
        self.lab, self.server, self.ends = lab, server, ends
        self.load, self.phase, self.worst = None, None, 0
        self.demands = []

    def _part(self, row):
        self.worst = max(self.worst, row["latency_us"]["p99"])

    def enter(self, phase):
        """The next phase; None if that was all."""
        if self.load:
            row = self.load.stop().result(90)
            hist = row["latency_us"]
            self.demands.append(Demand(
                f"{figure(row['jobs'])} pings, one every 5 ms, while the herd is {self.phase} ({spread_us(hist)}; worst "
                f"second's p99 {self.worst / 1e3:.1f} ms): p99", f"{hist['p99'] / 1e3:.1f} ms", "50 ms",
                hist["p99"] < 50_000, timing=True))
        self.load, self.phase, self.worst = None, phase, 0
        if phase:
            self.load = self.ends.enter_context(
                self.lab.load(self.server, "--op", "ping", "--jobs", 100_000_000, "--every", "5ms", "--progress", 200,
                              part=self._part))


def drain_demands(text, row, jobs):
    faults = ("missing", "twice", "early", "moved", "damaged")
    found = ", ".join(f"{row[name]} {name}" for name in faults)
    return [Demand(f"{text}: {figure(row['delivered'])} delivered; wrong", found, "none", row["delivered"] == jobs and
                   not any(row[name] for name in faults))]


def herd(lab):
    """Phases: scheduled, on disk, brought to memory, delivered. With herd_lead_s it is due so soon that the two in
    the middle are left out: then what has no room in memory waits in the backlog."""
    jobs = lab.count(5_000_000)
    fill_s = 5 if lab.herd_lead_s else max(10, jobs / 150_000)  # at most, on a slow machine
    lead_s = lab.herd_lead_s or fill_s + LOOKAHEAD_S + 25
    due = now_ms() + int(lead_s * 1000)
    when = ("--queue", "herd", "--jobs", jobs, "--at", due, "--span", "1s")
    demands = []
    with lab.server() as (server, watch), contextlib.ExitStack() as ends:
        pings = Pings(lab, server, ends)
        pings.enter("scheduled")
        lates = [Late(lab, server, ends, "scheduled", fill_s)]
        lates[0].begin()
        row = lab.load(server, "--op", "schedule", *when).result()
        say(f"  {figure(jobs)} jobs in {row['seconds']:.1f} s, due in {(due - now_ms()) / 1000:.0f} s")
        if not lab.herd_lead_s:
            pings.enter("on disk")
            sleep_until(due - (LOOKAHEAD_S + 4) * 1000)
            with connect(server) as w:
                cold = w.call("STATS")["cold_jobs"]
            say(f"  {figure(cold)} of them on disk")
            most = jobs - lab.memory // 350  # but for what half of the budget holds
            demands.append(Demand(f"{figure(jobs)} jobs due in one second: on disk a minute before", figure(cold),
                                  figure(most), cold >= most))
            pings.enter("brought to memory")
            lates.append(Late(lab, server, ends, "brought to memory", LOOKAHEAD_S - 5))
        sleep_until(due - 3000)
        pings.enter("delivered")
        lates.append(Late(lab, server, ends, "delivered", 2 + jobs / 200_000))
        sleep_until(due - 1000)
        drain = lab.load(server, "--op", "drain", *when, "--connections", 4, "--batch", 1000).result()
        seconds = (now_ms() - due) / 1000
        pings.enter(None)
        say(f"  {figure(drain['delivered'])} delivered and finished within {seconds:.1f} s")
        demands += drain_demands(f"herd of {figure(jobs)} with 4 workers, over in {seconds:.1f} s "
                                 f"({figure(drain['delivered'] / seconds)}/s)", drain, jobs)
        demands += pings.demands
        for late in lates:
            demands += late.demands()
        demands.append(lab.memory_demand("all along", watch))
        with connect(server) as w:
            stats = w.call("STATS")
        left = {state: stats[state] for state in ("scheduled", "ready", "leased") if stats[state]}
        demands.append(Demand("jobs left behind", str(left or 0), "0", not left))
    return demands


# ---- A backlog ----

class Urgent:
    """A job of priority 1 for a waiting worker of another queue, four times a second: how long from sending
    it to having it."""

    def __init__(self, server):
        self.took, self.error = {}, None
        self.phase = "filled"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(server,), daemon=True)
        self._thread.start()

    def _run(self, server):
        try:
            with connect(server) as producer, connect(server) as worker:
                while not self._stop.wait(0.25):
                    worker.send("LEASE", "urgent", "WAIT", "50s")
                    time.sleep(0.02)  # so that it waits already
                    phase, begin = self.phase, time.monotonic()
                    producer.call("SCHEDULE", "urgent", "x", "PRIORITY", 1, "RETAIN", 0)
                    (job,) = worker.recv()
                    self.took.setdefault(phase, []).append(time.monotonic() - begin)
                    worker.call("COMPLETE", job["id"], job["token"])
        except Exception as e:  # a thread's exception would be lost
            self.error = e

    def demands(self):
        self._stop.set()
        self._thread.join(70)
        if self.error or self._thread.is_alive():
            yield Demand("jobs of priority 1 in another queue", f"{self.error or 'not delivered'}", "delivered", False)
        for phase, took in self.took.items():
            yield Demand(f"{len(took)} jobs of priority 1 in another queue while the backlog is {phase} ({spread(took)}): "
                         "delivered within", f"{1e3 * max(took):.1f} ms", "100 ms", max(took) < 0.1, timing=True)


def fill_backlog(lab, server, counts, soon):
    """All at once: due as they come in three queues, over the next while in the fourth."""
    loads = [lab.load(server, "--op", "fill", "--queue", "now", "--jobs", counts["now"], "--connections", 2),
             lab.load(server, "--op", "fill", "--queue", "paused", "--jobs", counts["paused"], "--connections", 1),
             lab.load(server, "--op", "fill", "--queue", "maintained", "--tenant", "acme", "--jobs", counts["maintained"],
                      "--connections", 1),
             lab.load(server, "--op", "schedule", "--queue", "soon", "--jobs", counts["soon"], "--connections", 2, *soon)]
    rate = sum(load.result()["rate"] for load in loads)
    say(f"  {figure(sum(counts.values()))} jobs, about {figure(rate)}/s")


def order_demand(name, row, span_s=None):
    """What was due when it came is in order. What comes due in memory goes at its time, though some that were due
    before are still on their way from disk: then it must not be ahead by a step of priority, which is 30 s, nor by
    half of the time over which they come due."""
    share = 100 * row["behind"] / max(1, row["delivered"])
    if span_s:
        limit_s = min(30, span_s / 2)
        return Demand(f"of queue '{name}', {share:.1f} % delivered behind a job that was due later; by up to",
                      f"{row['behind_max_ms'] / 1000:.1f} s", f"{limit_s:g} s", row["behind_max_ms"] < 1000 * limit_s, timing=True)
    return Demand(f"of queue '{name}', delivered behind a job that was due later (by up to "
                  f"{row['behind_max_ms'] / 1000:.1f} s)", f"{share:.2f} %",
                  "5 %, or by less than 5 s", share <= 5 or row["behind_max_ms"] < 5000)


def drain_held(lab, server, w, who, queue, counts, tenant, release):
    """What is held among them stays until it is let go."""
    ready = w.call("QUEUE", queue, *tenant)["ready"]
    demands = [Demand(f"{who} among them: still ready", figure(ready), figure(counts[queue]),
                      ready == counts[queue] and w.call("LEASE", queue, "COUNT", 10, *tenant) == [])]
    w.call(*release)
    whose = ("--tenant", tenant[1]) if tenant else ()
    row = lab.load(server, "--op", "drain", "--queue", queue, *whose, "--jobs", counts[queue], "--batch", 1000).result()
    return demands + drain_demands(f"{who}, let go", row, counts[queue]) + [order_demand(queue, row)]


def backlog(lab):
    total = lab.count(10_000_000)
    counts = {"now": total * 4 // 10, "paused": total // 10, "maintained": total // 10}
    counts["soon"] = total - sum(counts.values())
    span_s = max(5, int(60 * min(1.0, 4 * lab.scale)))
    due = now_ms() + 2000
    soon = ("--at", due, "--span", f"{span_s}s")
    demands = []
    with lab.server() as (server, watch), connect(server) as w:
        w.call("PAUSE", "paused")
        w.call("TENANT", "acme", "MAINTENANCE", "yes")
        urgent = Urgent(server)
        fill_backlog(lab, server, counts, soon)
        urgent.phase = "waiting"
        sleep_until(due + (span_s + 1) * 1000)
        time.sleep(max(1.0, 10 * min(1.0, 4 * lab.scale)))
        stats = w.call("STATS")
        say(f"  {figure(stats['ready'])} ready, {figure(stats['cold_jobs'])} of them on disk, "
            f"{watch.now.get('RssAnon', 0) / MIB:.0f} MiB")
        demands += [Demand(f"{figure(total)} due jobs and no worker: ready", figure(stats["ready"]), figure(total),
                           stats["ready"] == total)]
        urgent.phase = "drained"
        begin = time.monotonic()
        loads = {name: lab.load(server, "--op", "drain", "--queue", name, "--jobs", counts[name], "--connections", 2,
                                "--batch", 1000, *args) for name, args in (("now", ()), ("soon", soon))}
        rows = {name: load.result() for name, load in loads.items()}
        took = time.monotonic() - begin
        drained = counts["now"] + counts["soon"]
        say(f"  {figure(drained)} drained in {took:.1f} s")
        demands += list(urgent.demands())
        for name, row in rows.items():
            demands += drain_demands(f"queue '{name}' drained with 2 workers ({figure(drained / took)}/s in both)", row,
                                     counts[name])
            demands.append(order_demand(name, row, span_s if name == "soon" else None))
        demands += drain_held(lab, server, w, "a paused queue", "paused", counts, (), ("RESUME", "paused"))
        demands += drain_held(lab, server, w, "a tenant in maintenance", "maintained", counts, ("TENANT", "acme"),
                              ("TENANT", "acme", "MAINTENANCE", "no"))
        demands.append(lab.memory_demand("all along", watch))
    return demands


# ---- Others ----

def peers(lab, most=6_000_000_000):
    """What the same jobs cost elsewhere: memory and rate over the number of pending jobs."""
    jobs = lab.count(20_000_000)
    for name in ("redis", "beanstalkd"):
        points = []
        with running(PEERS[name], lab.build, lab.scratch) as server, Watch(server) as watch:
            lab.commands.append(server.command)

            def part(row):
                points.append((row["so_far"], watch.now.get("VmRSS", 0), row["rate"]))
                if len(points) % 8 == 0:
                    say(f"  {name}: {figure(row['so_far'])} jobs, {figure(row['rate'])}/s, "
                        f"{points[-1][1] / MIB:.0f} MiB resident")
                if points[-1][1] > most * min(1.0, lab.scale) and not load.stopped:
                    load.stop()

            with lab.load(server, "--op", "schedule", "--jobs", jobs, "--span", "90d", "--progress", jobs // 80,
                          part=part) as load:
                load.result()
        lab.series[name] = points
    return []


SCENARIOS = {"wide": wide, "herd": herd, "backlog": backlog, "peers": peers}
TITLES = {"wide": "Jobs over 90 days", "herd": "A herd", "backlog": "A backlog", "peers": "Others"}


def run(name, lab):
    """The demands of a scenario; one that could not be finished has not met them."""
    say(f"{name}: {TITLES[name]}")
    try:
        return SCENARIOS[name](lab)
    except Exception as e:
        say(f"  {type(e).__name__}: {e}")
        return [Demand(f"{TITLES[name]}: runs to its end", f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}",
                       "yes", False)]
