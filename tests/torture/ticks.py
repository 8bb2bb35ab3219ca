# SPDX-License-Identifier: MIT
"""Recurrences beside all that: each of their times is delivered, and none again once it was
completed."""
import time

from pipe import Refusal
from player import now_ms

RULES = {"quick": 700, "slow": 1900}


class Ticks:
    def __init__(self, player, pipe):
        self.player = player
        self.seen = {name: {} for name in RULES}  # nominal time -> id
        self.done = set()  # (recurrence, nominal time)
        self.start = (now_ms() // 1000 + 3) * 1000
        for name, period in RULES.items():
            reply = pipe.call("RECUR", name, "ticks", name, "EVERY", f"{period}ms", "START", self.start, "OVERLAP", "allow",
                              "CATCHUP", "all", "ATTEMPTS", 0, *player.words)
            assert not isinstance(reply, Refusal), reply

    def work(self, pipe):
        """Takes and completes what there is; answers how many."""
        player = self.player
        jobs = pipe.call("LEASE", "ticks", "COUNT", 1000, "FOR", "1h", *player.words)
        for job in jobs:
            self._see(job["recurrence"].decode(), job["nominal_ms"], job["id"])
        for job, reply in zip(jobs, pipe.exchange([("COMPLETE", j["id"], j["token"], *player.words) for j in jobs])):
            if reply != b"OK":
                player.complain(f"COMPLETE of an occurrence answers {reply!r}")
            self.done.add((job["recurrence"].decode(), job["nominal_ms"]))
        return len(jobs)

    def _see(self, name, nominal, id):
        if (name, nominal) in self.done:
            self.player.complain(f"{name} of {nominal} is delivered after it was completed")
        if self.seen[name].setdefault(nominal, id) != id:
            self.player.complain(f"{name} of {nominal} has two jobs")

    def end(self, pipe):
        """Every time is there that passed before it was paused, and was decided about then; but for those that it says were
        skipped, as a recurrence has a hundred jobs under way at the most."""
        passed, end = now_ms(), time.monotonic() + 60
        for name in RULES:
            while pipe.call("RECURRENCE", name, *self.player.words)["next_ms"] <= passed and time.monotonic() < end:
                time.sleep(0.05)
            pipe.call("RECURPAUSE", name, *self.player.words)
        while self.work(pipe):
            pass
        for row in list(pipe.pages("QUEUE", "ticks", "STATE", "leased", *self.player.words)):  # by an answer that was lost
            job = pipe.call("GET", row["id"], *self.player.words)
            self._see(job["recurrence"].decode(), job["nominal_ms"], job["id"])
        for name, period in RULES.items():
            times = set(self.seen[name])
            missing = set(range(self.start, passed, period)) - times
            odd = [nominal for nominal in times if (nominal - self.start) % period or nominal < self.start]
            if len(missing) > pipe.call("RECURRENCE", name, *self.player.words)["skipped"] or odd:
                self.player.complain(f"{name}: {len(missing)} times are missing: {sorted(missing)[:5]}; odd: {odd[:5]}")
