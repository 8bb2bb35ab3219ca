# SPDX-License-Identifier: MIT
"""The soak test: see run. Eight workers, four producers, three recurrences; failures, stalls,
cancels; a worker is killed every few seconds and the server every quarter of a minute."""
import collections
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from conftest import Server  # noqa: E402
from checker import Checker  # noqa: E402
from players import ATTEMPTS, GONE, now_ms  # noqa: E402

PLAYERS = [("worker", f"w{i}") for i in range(8)] + [("producer", f"p{i}") for i in range(4)]
TICKS = {"allow": ("700ms", 700), "skip": ("1s", 1000), "queue": ("900ms", 900)}


class Soak:
    def __init__(self, directory, seed):
        self.dir = pathlib.Path(directory)
        self.rng = random.Random(seed)
        self.server = Server(self.dir, segment_size="256KiB", memory="16MiB")
        self.children = {}
        self.starts = {}
        self.ledgers = collections.defaultdict(dict)  # of each recurrence, by nominal time
        self.kills = collections.Counter()

    def launch(self, kind, name):
        script = pathlib.Path(__file__).with_name("players.py")
        self.children[name] = (kind, subprocess.Popen(
            [sys.executable, str(script), kind, str(self.dir), name, str(self.rng.random())]))

    def begin(self):
        self.server.start()
        with self.server.wire() as w:
            for overlap, (every, period) in TICKS.items():
                start = (now_ms() // 1000 + 5) * 1000  # later than the server hears of it, also if that takes long
                w.call("RECUR", overlap, "ticks", overlap, "EVERY", every, "START", start, "OVERLAP", overlap,
                       "CATCHUP", "all", "ATTEMPTS", ATTEMPTS, "BACKOFF", "fixed:50ms")
                self.starts[overlap] = (start, period)
        for kind, name in PLAYERS:
            self.launch(kind, name)

    def look(self):
        """Keeps what the ledgers say: they hold the last hundred entries."""
        with self.server.wire() as w:
            for name in TICKS:
                for entry in w.call("RECURRENCE", name)["ledger"]:
                    self.ledgers[name][entry["nominal_ms"], entry["by_hand"]] = entry

    def kill_worker(self):
        name = self.rng.choice([name for kind, name in PLAYERS if kind == "worker"])
        kind, process = self.children[name]
        process.kill()
        process.wait()
        self.launch(kind, name)
        self.kills["worker"] += 1

    def kill_server(self):
        self.look()
        self.server.kill()
        time.sleep(self.rng.choice((0, 0, 0.3)))
        self.server.start()
        self.kills["server"] += 1

    def play(self, seconds):
        end = time.monotonic() + seconds
        worker_at, server_at, look_at, told_at = (time.monotonic() + d for d in (3, 7, 2, 30))
        while time.monotonic() < end:
            time.sleep(0.1)
            now = time.monotonic()
            if now > worker_at:
                self.kill_worker()
                worker_at = now + self.rng.uniform(2, 6)
            if now > server_at:
                self.kill_server()
                server_at = now + self.rng.uniform(8, 22)
            if now > look_at:
                self.look()
                look_at = now + 5
            if now > told_at:
                print(f"  {end - now:4.0f} s left, killed {dict(self.kills)}", flush=True)
                told_at = now + 30

    def settle(self):
        """Producers and recurrences stop, workers go on until nothing is left."""
        for name, (kind, process) in self.children.items():
            if kind == "producer":
                process.kill()
                process.wait()
        with self.server.wire() as w:
            self.paused_ms = now_ms()
            for name in TICKS:
                w.call("RECURPAUSE", name)
            end = time.monotonic() + 120
            while time.monotonic() < end:
                queues = w.call("QUEUES")
                left = sum(q[s] for q in queues for s in ("scheduled", "ready", "leased", "waiting"))
                queued = sum(w.call("RECURRENCE", name)["open"] for name in TICKS)
                if left == 0 and queued == 0:
                    break
                time.sleep(0.2)
            else:
                print(f"not drained after two minutes: {queues}")
        (self.dir / "stop").touch()
        for kind, process in self.children.values():
            process.wait(90)
        self.look()

    def states(self):
        states, cursor = {}, None
        with self.server.wire() as w:
            while True:
                page = w.call("LIST", "LIMIT", 1000, *(["CURSOR", cursor] if cursor else []))
                states.update((job["id"], job["state"]) for job in page["jobs"])
                cursor = page["cursor"]
                if cursor is None:
                    return states

    def judge(self):
        checker = Checker(self.dir, ATTEMPTS)
        states = self.states()
        with self.server.wire() as w:
            for id, state in states.items():
                if state == "dead" and id in checker.by_id:
                    view = w.call("GET", id)
                    checker.by_id[id].dead_ms = view["ended_ms"] if view["attempt"] == ATTEMPTS else None
        checker.check_jobs()
        checker.check_parents()
        lanes = checker.check_lanes()
        checker.check_ends(states)
        for name, (start, period) in self.starts.items():
            entries = sorted(self.ledgers[name].values(), key=lambda entry: entry["nominal_ms"])
            queued = name == "queue"  # what still waits for its turn is not in the ledger
            outcomes = checker.check_ticks(name, period, start, entries, start if queued else self.paused_ms - period)
            print(f"  recurrence {name}: {dict(outcomes)}")
        print(f"  {len(checker.jobs)} jobs, {lanes[1]} of them in {lanes[0]} lanes; {dict(checker.events)}; "
              f"killed {dict(self.kills)}")
        return checker.complaints

    def end(self):
        for _, process in self.children.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.server.kill()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    directory = tempfile.mkdtemp(prefix="belfry-soak-")
    print(f"soak: {seconds:.0f} s, seed {seed}, in {directory}", flush=True)
    soak = Soak(directory, seed)
    try:
        soak.begin()
        soak.play(seconds)
        soak.settle()
        complaints = soak.judge()
    finally:
        soak.end()
    for complaint in complaints:
        print("  " + complaint)
    if complaints:
        print(f"soak: {len(complaints)} complaints; the notes are in {directory}")
        return 1
    shutil.rmtree(directory)
    print("soak: every job's history is as promised")
    return 0


if __name__ == "__main__":
    sys.exit(main())
