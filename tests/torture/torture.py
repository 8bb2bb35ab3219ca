# SPDX-License-Identifier: MIT
"""See run --help."""
import argparse
import collections
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from conftest import BUILD, Server  # noqa: E402
import parents  # noqa: E402
from pipe import Pipe, Turn, exchange_all  # noqa: E402
from player import MIXES, Player, now_ms  # noqa: E402

MIB = 1 << 20
TOLD = 30  # complaints that are printed


class Host(Server):
    def pipe(self):
        return Pipe(self.port)


class Torture:
    def __init__(self, args, directory):
        self.args = args
        self.rng = random.Random(args.seed)
        self.server = Host(directory, memory=args.memory, segment_size=args.segment, durability=args.durability)
        self.began = time.monotonic()
        self.complaints = 0
        self.requests = 0
        self.kills = 0

    def say(self, text):
        print(f"  {time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def complain(self, text, job=None):
        self.complaints += 1
        if self.complaints <= TOLD:
            self.say("WRONG " + text)
            if job:
                print(job.history(), flush=True)
        elif self.complaints == TOLD + 1:
            self.say("more is wrong; it is only counted")

    def batch_size(self):
        return int(2 ** self.rng.uniform(0, 12.3))

    def turn(self, players, pipes, make):
        """A batch of each player, all at once."""
        batches = [make(player) for player in players]
        turns = [Turn(pipe, [r.words for r in batch]) for pipe, batch in zip(pipes, batches)]
        exchange_all(turns, 120)
        hi = now_ms()
        for player, batch, turn in zip(players, batches, turns):
            assert not turn.broken, turn.broken
            for request, reply in zip(batch, turn.replies):
                player.judge(request, reply, hi)
            self.requests += len(batch)

    def play(self):
        args = self.args
        cap = args.jobs or int(60_000 * Size(args.memory) / (16 * MIB))
        tenants = ["default", *(f"t{i}" for i in range(1, args.tenants))]
        players = [Player(t, self.rng.random(), args.mix, cap // len(tenants), self.complain) for t in tenants]
        pipes = [self.server.pipe() for _ in tenants]
        for player, pipe in zip(players, pipes):
            player.begin(pipe)
        end, told = time.monotonic() + args.seconds, time.monotonic()
        while time.monotonic() < end and self.complaints < args.stop_after:
            size = self.batch_size()
            self.turn(players, pipes, lambda player: player.batch(size))
            self.turn(players, pipes, Player.leases)
            if time.monotonic() > told + 5:
                told = time.monotonic()
                stats = pipes[0].call("STATS")
                self.say(f"{self.requests} requests, {stats['hot_jobs']} jobs in memory, {stats['cold_jobs']} on disk, "
                         f"{stats['runs']} runs, {self.kills} kills, {self.complaints} wrong")
        self.say(f"{self.requests} requests: " + str(dict(sum((collections.Counter(p.counts) for p in players), collections.Counter()))))
        for player, pipe in zip(players, pipes):
            player.audit(pipe, self.say)
        self.players = players


def Size(text):
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1024)):
        if text.endswith(unit):
            return int(text[:-3]) * factor
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(prog="tests/torture/run", description=__doc__)
    parser.add_argument("--mix", default="all", choices=[*MIXES, "parents"])
    parser.add_argument("--memory", default="16MiB")
    parser.add_argument("--segment", default="1MiB")
    parser.add_argument("--durability", default="sync")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=0, help="about so many, then mostly changes; parents: so many of them")
    parser.add_argument("--tenants", type=int, default=1, help="each with a connection and a model of its own")
    parser.add_argument("--batch", type=int, default=2000, help="parents: requests in flight")
    parser.add_argument("--size", type=int, default=200, help="parents: bytes of a payload")
    parser.add_argument("--stop-after", type=int, default=1000, help="wrong answers after which it ends")
    parser.add_argument("--keep", action="store_true", help="keep the directory")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.randrange(1 << 30)
    return args


def main():
    args = arguments()
    directory = tempfile.mkdtemp(prefix="belfry-torture-")
    print(f"torture: {' '.join(sys.argv[1:])} --seed {args.seed}, in {directory}", flush=True)
    torture = Torture(args, directory)
    try:
        torture.server.start()
        if args.mix == "parents":
            parents.run(torture.server, args.jobs or 30_000, args.size, args.batch, torture.complain, torture.say)
        else:
            torture.play()
        torture.server.stop()
    finally:
        torture.server.kill()
    check = subprocess.run([str(BUILD / "belfry"), "check", str(torture.server.data)], capture_output=True, text=True)
    if check.returncode != 0:
        torture.complain(f"belfry check says {check.returncode}: {check.stdout}{check.stderr}")
    if torture.complaints:
        print(f"torture: {torture.complaints} wrong, seed {args.seed}; the data are in {directory}\n{check.stdout}")
        return 1
    if not args.keep:
        shutil.rmtree(directory)
    print(f"torture: as promised, seed {args.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
