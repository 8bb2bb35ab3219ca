# SPDX-License-Identifier: MIT
"""Those who play in the soak test, each a process that may be killed at any moment: producers and
workers. What each did and heard it writes to a file of its own, a line for each event, before it
goes on; so what was acknowledged is known though nobody lives to tell."""
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from wire import Closed, Refused, Wire  # noqa: E402

QUEUES = ["mail", "bill", "sync"]
LANES = ["k1", "k2", "k3", "k4", "k5"]
ATTEMPTS = 4
LEASE_MS = 1500
GONE = (Closed, OSError, TimeoutError)


def now_ms():
    return time.time_ns() // 1_000_000


class Player:
    def __init__(self, directory, name, seed):
        self.dir = pathlib.Path(directory)
        self.name = name
        self.rng = random.Random(seed)
        self.log = open(self.dir / f"{name}.jsonl", "a", buffering=1, encoding="utf-8")
        self.wire = None

    def note(self, event, **more):
        self.log.write(json.dumps({"e": event, "t": now_ms(), **more}) + "\n")

    def stopping(self):
        return (self.dir / "stop").exists()

    def connect(self):
        while not self.stopping():
            try:
                self.wire = Wire(int((self.dir / "port").read_text()), 3, timeout=60)
                return True
            except (*GONE, ValueError):
                time.sleep(0.02)
        return False

    def play(self):
        while not self.stopping():
            try:
                if self.wire is None and not self.connect():
                    break
                self.turn()
            except GONE:
                self.wire = None
                time.sleep(0.02)


class Producer(Player):
    def __init__(self, *args):
        super().__init__(*args)
        self.count = 0
        self.mine = []  # (id, has a lane)

    def turn(self):
        if self.rng.random() < 0.08 and self.mine:
            return self.cancel()
        self.count += 1
        payload = f"{self.name}.{os.getpid()}.{self.count}"
        delay = self.rng.choice((0, 0, 50, 200, 800))
        queue = self.rng.choice(QUEUES)
        words = ["ATTEMPTS", ATTEMPTS, "BACKOFF", "fixed:100ms", "IN", f"{delay}ms", "PRIORITY", self.rng.randint(1, 5)]
        lane = self.rng.choice(LANES) if self.rng.random() < 0.4 else None
        parent = self.rng.choice(self.mine[-20:]) if self.mine and not lane and self.rng.random() < 0.15 else None
        if lane:
            words += ["ORDER", lane]
        if parent:
            words += ["AFTER", parent]
        self.note("schedule", p=payload, q=queue, lane=lane, parent=parent)
        try:
            id = self.wire.call("SCHEDULE", queue, payload, *words)
            self.note("scheduled", p=payload, id=id)
            self.mine = (self.mine + [id])[-200:]
        except Refused as refused:
            self.note("refused", p=payload, why=str(refused))
        time.sleep(self.rng.uniform(0, 0.15))
        return None

    def cancel(self):
        id = self.rng.choice(self.mine)
        self.note("cancel", id=id)
        self.note("cancelled", id=id, outcome=self.wire.call("CANCEL", id))


class Worker(Player):
    def turn(self):
        asked = now_ms()
        jobs = self.wire.lease(",".join([*QUEUES, "ticks"]), "COUNT", self.rng.randint(1, 4), "WAIT", "300ms",
                               "FOR", f"{LEASE_MS}ms", "WORKER", self.name)
        for job in jobs:  # all of them before anything is done, which may take long
            self.note("lease", id=job["id"], token=job["token"], p=job["payload"], q=job["queue"], a=job["attempt"],
                      due=job["due_ms"], until=job["until_ms"], asked=asked)
        for job in jobs:
            self.work(job)

    def work(self, job):
        id, token, dice = job["id"], job["token"], self.rng.random()
        time.sleep(self.rng.choice((0, 0, 0.005, 0.05)))
        if dice < 0.05:  # forgets it
            time.sleep(LEASE_MS / 1000 * self.rng.choice((0.1, 1.3)))
            return
        if dice < 0.15:
            self.end("extend", id, token, "EXTEND", id, token, "PROGRESS", 50)
            dice = self.rng.uniform(0.15, 1)
        if dice < 0.27:
            self.end("fail", id, token, "FAIL", id, token, "ERROR", "dice")
        elif dice < 0.32:
            self.end("release", id, token, "RELEASE", id, token, "IN", "20ms")
        else:
            self.end("complete", id, token, "COMPLETE", id, token)

    def end(self, what, id, token, *request):
        self.note(what, id=id, token=token)
        try:
            answer = self.wire.call(*request)
            self.note("ok", of=what, id=id, token=token, answer=answer)
        except Refused as refused:
            self.note("no", of=what, id=id, token=token, why=refused.code)


if __name__ == "__main__":
    kind, directory, name, seed = sys.argv[1:]
    {"producer": Producer, "worker": Worker}[kind](directory, name, seed).play()
