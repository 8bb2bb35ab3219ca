# SPDX-License-Identifier: MIT
"""A BULK while other requests go on. What it is about is left alone until it has ended, so that the
model knows what it is to do; jobs that come after it was asked for are not to be touched."""
import time

from model import ACTIVE
from pipe import Refusal
from player import TAGS, WINDOW, now_ms

STATES = {"cancel": ("scheduled", "waiting", "leased"), "reschedule": ("scheduled", "waiting"), "redrive": ("dead",),
          "delete": ("done", "dead", "cancelled")}


class Bulk:
    def __init__(self, player, pipe):
        self.player, self.model = player, player.model
        rng = player.rng
        self.action = rng.choice(tuple(STATES))
        tag = rng.choice(TAGS)
        queue = rng.choice((None, *player.queues))
        self.at = player.when()
        self.tagged = [job for job in self.model.jobs if job.tag == tag and queue in (None, job.queue)
                       and not job.shape.gone]
        self.jobs = [job for job in self.tagged if job.shape.state in STATES[self.action] and not self._is_told(job)]
        self.words = ("BULK", self.action, "TAG", tag, *(("QUEUE", queue.name) if queue else ()),
                      *(("AT", self.at) if self.action == "reschedule" else ()), *player.words)
        self.lo = now_ms()
        if rng.random() < 0.5:
            self._dry_run(pipe)
        self.id = self._ask(pipe, *self.words)["id"]
        self.around = self._freeze()
        player.counts["BULK"] += 1

    def _is_told(self, job):
        """To stop: then CANCEL has nothing to do."""
        return self.action == "cancel" and job.shape.cancelling and not job.shape.later

    def _ask(self, pipe, *words):
        reply = pipe.call(*words)
        assert not isinstance(reply, Refusal), (words, reply)
        return reply

    def _dry_run(self, pipe):
        """It counts all of them; more only where jobs move meanwhile."""
        id, end = self._ask(pipe, *self.words, "DRYRUN", "yes")["id"], time.monotonic() + 120
        while time.monotonic() < end:
            view = self._ask(pipe, "BULKS", "ID", id, *self.player.words)[0]
            if view["state"] == b"done":
                break
            time.sleep(0.005)
        least = sum(not job.bad for job in self.jobs)
        if view["state"] != b"done" or not least <= view["matched"] <= 2 * len(self.jobs) or view["changed"]:
            self.player.complain(f"{self.words}: a dry run is {view['state']} with {view['matched']} matched, "
                                 f"{view['changed']} changed, to be {least}")

    def _freeze(self):
        """The jobs that it is about, or would be in another state; those that they wait for or that wait for them; and
        who has their keys."""
        around, todo = set(), list(self.tagged)
        while todo:
            job = todo.pop()
            if job in around:
                continue
            around.add(job)
            if job.shape.state == "waiting":
                todo += [parent for parent in job.parents if parent.shape.state in ACTIVE]
            if self.action == "cancel":
                todo += [child for child in job.children if child.shape.state == "waiting"]
            holder = self.model.holder(job)
            if self.action == "redrive" and holder:
                todo.append(holder)
        for job in around:
            job.frozen = True
            if job.key is not None:
                self.player.frozen_slots.add(job.slot())
        return around

    def poll(self, pipe):
        """Whether it has ended; what it did is then told to the model."""
        views = self._ask(pipe, "BULKS", "ID", self.id, *self.player.words)
        if not views:
            self.player.complain(f"{self.words}: the bulk {self.id.decode()} is forgotten")
        elif views[0]["state"] == b"running":
            return False
        self.model.request((self.player.number, 99998))
        least, most = getattr(self, "_" + self.action)(pipe)
        if views and (views[0]["state"] != b"done" or not least <= views[0]["changed"] <= most):
            self.player.complain(f"{self.words}: {views[0]}, to change {least} to {most}")
        for job in self.around:
            job.frozen = False
        self.player.frozen_slots.clear()
        return True

    # Each tells the model, and answers the least and the most that is to be changed.

    def _cancel(self, pipe):
        """Children of what it cancels may be cancelled by that, before it comes to them."""
        before = set(self.jobs)
        alone = sum(not job.bad and not self._below(job, before) for job in self.jobs)
        for job in self.jobs:
            if job.shape.state in ACTIVE:
                self.model.cancel(job, "cancelled by a bulk")
        return alone, len(self.jobs)

    def _below(self, job, before):
        return any(parent in before or self._below(parent, before) for parent in job.parents)

    def _reschedule(self, pipe):
        for job in self.jobs:
            self.model.reschedule(job, self.at, self.at, "rescheduled by a bulk")
        return sum(not job.bad for job in self.jobs), len(self.jobs)

    def _delete(self, pipe):
        for job in self.jobs:
            self.model.delete(job, "deleted by a bulk")
        return sum(not job.bad for job in self.jobs), len(self.jobs)

    def _redrive(self, pipe):
        """Of several dead ones with one key, one is put back, unless somebody has it: GET says which."""
        views = pipe.exchange([("GET", job.id, *self.player.words) for job in self.jobs])
        changed = 0
        for job, view in zip(self.jobs, views):
            back = view is not None and view["state"] != b"dead"
            if self.model.holder(job):
                continue  # it is to be dead; the next look at it says so if it is not
            rivals = sum(other.slot() == job.slot() for other in self.jobs) if job.key is not None else 1
            if back or rivals == 1:
                self.model.redrive(job, self.lo, now_ms() + WINDOW, "redriven by a bulk")
                changed += 1
        return changed - sum(job.bad for job in self.jobs), changed
