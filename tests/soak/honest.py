# SPDX-License-Identifier: MIT
"""The tenant that tests/soak/siege protects: workers with short leases, and a client that only pings.

Each writes what it saw, as JSON, when it is told to end. A file `state` in the siege's directory has the number of
starts of the server, and how the last one came about.
"""
import json
import pathlib
import signal
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from wire import Closed, Refused, Wire, now_ms

GONE = (OSError, Closed)
LEASE, STEP_S, HOLD_S = "2s", 0.5, 3.0
WORKERS = 6


class Player:
    def __init__(self, directory, port, tokens, stop):
        self.dir, self.port, self.tokens, self.stop = pathlib.Path(directory), port, tokens, stop

    def state(self):
        while True:
            try:
                return json.loads((self.dir / "state").read_text())
            except (OSError, ValueError):
                time.sleep(0.01)

    def connect(self, role):
        """A connection with the token; None once the siege is over. Answers when the server is there again."""
        while not self.stop.is_set():
            try:
                w = Wire(self.port, 2, timeout=20)
                w.call("AUTH", self.tokens[role])
                w.call("HELLO", 3)
                return w
            except GONE:
                time.sleep(0.05)
        return None


class Worker(Player):
    """Schedules a job, leases it, extends the lease again and again, completes it."""

    def __init__(self, number, *args):
        super().__init__(*args)
        self.queue = f"good{number}"
        self.w = self.p = None
        self.jobs = self.extends = self.interrupted = 0
        self.late_ms, self.slow_ms, self.complaints = [], [], []

    def complain(self, text):
        self.complaints.append(f"{self.queue}: {text}")

    def reach(self):
        for name, role in ("w", "worker"), ("p", "producer"):
            if getattr(self, name) is None:
                setattr(self, name, self.connect(role))
        return self.w is not None and self.p is not None

    def drop(self):
        for w in self.w, self.p:
            if w is not None:
                w.close()
        self.w = self.p = None

    def run(self):
        while not self.stop.is_set() and self.reach():
            try:
                self.one_job()
            except GONE:
                self.interrupted += 1
                self.drop()
            except Refused as refused:
                self.complain(f"a request was refused: {refused}")
                self.stop.wait(0.2)
        self.drop()

    def one_job(self):
        starts = self.state()["starts"]
        due = now_ms() + 300
        id = self.p.call("SCHEDULE", self.queue, "x", "AT", due)
        while not self.stop.is_set():
            jobs = self.w.lease(self.queue, "WAIT", "5s", "FOR", LEASE)
            got = now_ms()
            for job in jobs:
                if job["id"] == id and job["attempt"] == 1 and self.state()["starts"] == starts:
                    self.late_ms.append(got - due)
                self.hold(job)
                if job["id"] == id:
                    return

    def hold(self, job):
        """Extends the lease until the work is done. A clean restart ends no lease."""
        end = time.monotonic() + HOLD_S
        starts = self.state()["starts"]
        sure = False  # a lease that nothing but LEASE tells of may be lost by kill -9
        while True:
            over = time.monotonic() >= end or self.stop.is_set()
            verb = ("COMPLETE", job["id"], job["token"]) if over else ("EXTEND", job["id"], job["token"], "FOR", LEASE)
            begun = time.monotonic()
            try:
                self.w.call(*verb)
                sure = True
                self.extends += not over
                self.slow_ms.append((time.monotonic() - begun) * 1000)
            except GONE:
                self.interrupted += 1
                self.drop()
                if not self.reach():
                    return
                continue
            except Refused as refused:
                state = self.state()
                killed = state["starts"] != starts and (state["how"] == "kill" or not sure)
                if not killed and not (verb[0] == "COMPLETE" and state["starts"] != starts):
                    self.complain(f"{verb[0]} was answered {refused}: the lease was lost")
                return
            if over:
                self.jobs += 1
                return
            self.stop.wait(STEP_S)

    def report(self):
        return {"jobs": self.jobs, "extends": self.extends, "interrupted": self.interrupted, "late_ms": self.late_ms,
                "slow_ms": self.slow_ms, "complaints": self.complaints}


class Pinger(Player):
    """PING every 10 ms, and a new connection with the token each second."""

    def __init__(self, *args):
        super().__init__(*args)
        self.pings_ms, self.connects_ms, self.complaints = [], [], []

    def run(self):
        w, fresh = None, 0
        while not self.stop.is_set():
            if w is None:
                w = self.connect("worker")
                continue
            try:
                starts, begun = self.state()["starts"], time.monotonic()
                w.call("PING")
                self.pings_ms.append((time.monotonic() - begun) * 1000)
                if time.monotonic() > fresh:
                    fresh = time.monotonic() + 1
                    self.connect_once(starts)
            except GONE:
                w = None
            time.sleep(0.01)

    def connect_once(self, starts):
        begun = time.monotonic()
        try:
            with Wire(self.port, 2, timeout=20) as w:
                w.call("AUTH", self.tokens["producer"])
            self.connects_ms.append((time.monotonic() - begun) * 1000)
        except GONE as gone:
            time.sleep(1)  # the server may be going down
            if self.state()["starts"] == starts and not self.state()["going"]:
                self.complaints.append(f"a new connection with a right token ended: {gone!r}")
        except Refused as refused:
            self.complaints.append(f"a new connection with a right token was refused: {refused}")

    def report(self):
        return {"pings_ms": self.pings_ms, "connects_ms": self.connects_ms, "complaints": self.complaints}


def main():
    given = json.loads(sys.argv[1])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    limit = threading.Timer(given["seconds"], stop.set)  # whatever happens to the siege
    limit.daemon = True
    limit.start()
    args = (given["dir"], given["port"], given["tokens"], stop)
    players = [Pinger(*args)] if given["kind"] == "pinger" else [Worker(n, *args) for n in range(WORKERS)]
    threads = [threading.Thread(target=p.run, daemon=True) for p in players]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    pathlib.Path(given["out"]).write_text(json.dumps([p.report() for p in players]))


if __name__ == "__main__":
    main()
