# SPDX-License-Identifier: MIT
"""Runs all verbs against a real server that has little memory, in pipelines of 1 to 5,000 requests, through kills,
and compares every answer with a model. At the end it asks for every job. `parents` is a scenario of its own."""
import argparse
import collections
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from conftest import BUILD, Server  # noqa: E402
from audit import audit  # noqa: E402
from bulks import Bulk  # noqa: E402
from doubt import listing, quiet, settle  # noqa: E402
from ticks import Ticks  # noqa: E402
from pipe import Pipe, Turn, exchange_all  # noqa: E402
from player import MIXES, Player, now_ms  # noqa: E402
import parents  # noqa: E402

MIB = 1 << 20
UNITS = {"KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
TOLD = 30  # complaints that are printed
BULKS = ("bulk", "all")


def size_of(text):
    return int(text[:-3]) * UNITS[text[-3:]]


class Torture:
    def __init__(self, args, directory):
        self.args = args
        self.rng = random.Random(args.seed)
        self.server = Server(directory, memory=args.memory, segment_size=args.segment, durability=args.durability)
        self.began = time.monotonic()
        self.complaints = self.requests = self.doubted = 0
        self.stops = collections.Counter()

    def say(self, text):
        print(f"  {time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def complain(self, text, jobs=()):
        self.complaints += 1
        if self.complaints <= TOLD:
            self.say("WRONG " + text)
            for job in jobs:
                print(job.history(), flush=True)
        elif self.complaints == TOLD + 1:
            self.say("more is wrong; it is only counted")

    def connect(self):
        self.pipes = [Pipe(self.server.port) for _ in self.players]

    def begin(self):
        args = self.args
        cap = args.jobs or 60_000 * size_of(args.memory) // (16 * MIB)
        tenants = ["default", *(f"t{i}" for i in range(1, args.tenants))]
        self.players = [Player(tenant, self.rng.random(), args.mix, cap // len(tenants), self.complain)
                        for tenant in tenants]
        self.bulks = [None] * len(tenants)
        self.leased = [[] for _ in tenants]  # LEASEs whose records may not be written yet
        self.connect()
        for player, pipe in zip(self.players, self.pipes):
            player.begin(pipe)
        self.ticks = [Ticks(*both) for both in zip(self.players, self.pipes)] if args.mix == "all" else []

    # One turn: a batch of each player, all of them at once, and perhaps a kill among the replies.

    def turn(self, make, stop=None):
        batches = [make(player) for player in self.players]
        turns = [Turn(pipe, [r.words for r in batch]) for pipe, batch in zip(self.pipes, batches)]
        timer = self.timer(stop)
        exchange_all(turns, 300)
        if stop:
            timer.join()
        hi, broken = now_ms(), [turn.broken for turn in turns if turn.broken]
        assert stop or not broken, f"{broken}, server: {self.server.process.poll()}"
        doubts = []
        for i, (player, batch, turn) in enumerate(zip(self.players, batches, turns)):
            answered = batch[:len(turn.replies)]
            for request, reply in zip(answered, turn.replies):
                player.judge(request, reply, hi)
            self.requests += len(answered)
            if batch and batch[0].words[0] == "LEASE":
                self.leased[i] += answered
            elif any(request.undo for request in answered):
                self.leased[i] = []
            doubts.append(self.leased[i] + batch[len(answered):])
        if stop:
            self.restart(stop, doubts)

    def timer(self, stop):
        """Ends the server in a moment, wherever it is then."""
        timer = threading.Timer(0.05 * self.rng.random() ** 2, lambda: self.server.process.send_signal(stop))
        if stop:
            timer.start()
        return timer

    def restart(self, stop, doubts):
        for pipe in self.pipes:
            pipe.close()
        code = self.server.process.wait(60)
        if code != (0 if stop == signal.SIGTERM else -signal.SIGKILL):
            self.complain(f"the server ended with {code} after {stop.name}")
        self.stops[stop.name] += 1
        self.server.start(sync_delay=self.rng.choice(("0ms", "5ms", "20ms")))  # a slow disk leaves more half done
        self.connect()
        quiet(self.pipes[0])
        for i, (player, pipe, doubted) in enumerate(zip(self.players, self.pipes, doubts)):
            done = settle(player, pipe, doubted, listing(player, pipe))
            self.doubted += len(doubted)
            self.leased[i] = []
            self.say(f"{stop.name}: {player.tenant} has {len(doubted)} requests in doubt, {done} of them were done")

    def beside(self):
        """What goes on between the batches."""
        for tick, pipe in zip(self.ticks, self.pipes):
            tick.work(pipe)
        for i, (player, pipe) in enumerate(zip(self.players, self.pipes)):
            player.told(pipe)
            if self.bulks[i] and self.bulks[i].poll(pipe):
                self.bulks[i] = player.bulk = None
            elif not self.bulks[i] and not player.model.telling and self.args.mix in BULKS and self.rng.random() < 0.1:
                self.bulks[i] = player.bulk = Bulk(player, pipe)

    def gone(self, start):
        """How much of the play is over, of 1."""
        return self.requests / self.args.requests if self.args.requests else (time.monotonic() - start) / self.args.seconds

    def play(self):
        args = self.args
        self.begin()
        start = told = time.monotonic()
        stops = sorted(self.rng.uniform(0.05, 0.95) for _ in range(args.kills))
        while self.gone(start) < 1 and self.complaints < args.stop_after:
            stop = None
            if stops and self.gone(start) > stops[0]:
                stops.pop(0)
                stop = self.rng.choice((signal.SIGKILL,) * 4 + (signal.SIGTERM,))
            size = int(2 ** self.rng.uniform(9 if stop else 0, 12.3))
            self.turn(lambda player: player.batch(size), stop)
            if self.players[0].works:
                now = self.rng.random() < 0.2 and stops and self.gone(start) > stops[0]
                self.turn(Player.leases, stops.pop(0) and signal.SIGKILL if now else None)
            self.beside()
            if time.monotonic() > told + 5:
                told = time.monotonic()
                self.progress()
        self.finish()

    def progress(self):
        stats = self.pipes[0].call("STATS")
        self.say(f"{self.requests} requests, {stats['hot_jobs']} jobs in memory, {stats['cold_jobs']} on disk, "
                 f"{stats['runs']} runs, {dict(self.stops)}, {self.complaints} wrong")

    def finish(self):
        """The audit, and again after a kill."""
        self.progress()
        for tick, pipe in zip(self.ticks, self.pipes):
            tick.end(pipe)
        end = time.monotonic() + 120
        for player, pipe in zip(self.players, self.pipes):
            while not player.told(pipe) and time.monotonic() < end:
                time.sleep(0.02)
        while any(self.bulks) and time.monotonic() < end:
            self.bulks = [bulk if bulk and not bulk.poll(pipe) else None for bulk, pipe in zip(self.bulks, self.pipes)]
            time.sleep(0.02)
        if any(self.bulks):
            self.complain(f"a bulk has not ended after two minutes: {[b.words for b in self.bulks if b]}")
        self.say(str(dict(sum((player.counts for player in self.players), collections.Counter()))))
        for player, pipe in zip(self.players, self.pipes):
            audit(player, pipe, self.say)
        self.server.process.kill()
        self.restart(signal.SIGKILL, self.leased)
        for player, pipe in zip(self.players, self.pipes):
            audit(player, pipe, self.say, share=0.2)

    def check(self):
        done = subprocess.run([str(BUILD / "belfry"), "check", str(self.server.data)], capture_output=True, text=True)
        if done.returncode != 0:
            self.complain(f"belfry check says {done.returncode}")
        return done.stdout + done.stderr

    def run(self):
        args = self.args
        try:
            self.server.start()
            if args.mix == "parents":
                parents.run(self.server, args.jobs or 30_000, args.size, args.batch, self.complain, self.say)
            else:
                self.play()
            self.server.stop()
        except AssertionError as error:
            traceback.print_exc()
            self.complain(f"it ended: {error}")
        finally:
            self.server.kill()
        return self.check()


def arguments():
    parser = argparse.ArgumentParser(prog="tests/torture/run", description=__doc__)
    parser.add_argument("--mix", default="all", choices=[*MIXES, "parents"])
    parser.add_argument("--memory", default="16MiB", help="of the server")
    parser.add_argument("--segment", default="1MiB", help="of its journal")
    parser.add_argument("--durability", default="sync")
    parser.add_argument("--seconds", type=float, default=60, help="until the audit begins")
    parser.add_argument("--requests", type=int, default=0, help="instead of seconds: the same on a slow machine")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--kills", type=int, default=0, help="kill -9, every fifth SIGTERM, among the replies of a batch")
    parser.add_argument("--tenants", type=int, default=1, help="each with a connection and a model of its own")
    parser.add_argument("--jobs", type=int, default=0, help="about so many, then mostly changes; parents: so many of them")
    parser.add_argument("--batch", type=int, default=2000, help="parents: requests in flight")
    parser.add_argument("--size", type=int, default=200, help="parents: bytes of a payload")
    parser.add_argument("--stop-after", type=int, default=100, help="wrong answers after which it goes on to the audit")
    parser.add_argument("--keep", action="store_true", help="keep the directory also if nothing was wrong")
    return parser.parse_args()


def main():
    args = arguments()
    directory = tempfile.mkdtemp(prefix="belfry-torture-")
    print(f"torture: {' '.join(f'--{k.replace(chr(95), chr(45))} {v}' for k, v in vars(args).items())}, in {directory}",
          flush=True)
    torture, right = Torture(args, directory), False
    try:
        checked = torture.run()
        right = torture.complaints == 0
    finally:
        if right and not args.keep:
            shutil.rmtree(directory)
    if right:
        print(f"torture: as promised, seed {args.seed}: {torture.requests} requests, {torture.doubted} of them in doubt")
        return 0
    print(f"torture: {torture.complaints} wrong, seed {args.seed}; the data are in {directory}\n{checked}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
