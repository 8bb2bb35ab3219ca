# SPDX-License-Identifier: MIT
"""Makes the requests of one tenant, tells them to its model, and compares what is answered. All
requests of a batch are sent before the first is answered, so a job that is new in it can only be
named by its key."""
import bisect
import collections
import random
import time

from model import ACTIVE, POOL_SIZE, Model, Queue
from pipe import Refusal

HOUR = 3_600_000
DAY = 24 * HOUR
WINDOW = 300_000  # the server carries a request out within this, or the run has failed anyway
NEAR = 6000  # most picks are among so many of the last jobs
TAGS = [b"t%d" % i for i in range(20)]

# Of each mix: verb -> weight. `work` is what a worker does with a job that it has.
MIXES = {
    "after": {"schedule": 25, "keyed": 10, "after": 55, "get": 8, "cancel": 2},
    "replace": {"schedule": 5, "keyed": 35, "replace": 50, "get": 8, "cancel": 2},
    "reschedule": {"schedule": 20, "keyed": 20, "reschedule": 50, "get": 8, "cancel": 2},
    "moves": {"schedule": 15, "keyed": 20, "after": 15, "replace": 20, "reschedule": 20, "get": 8, "cancel": 2},
    "redrive": {"schedule": 25, "keyed": 15, "work": 30, "redrive": 20, "reschedule": 5, "get": 5},
    "bulk": {"schedule": 30, "keyed": 30, "after": 5, "replace": 10, "reschedule": 10, "work": 10, "get": 5},
    "all": {"schedule": 12, "keyed": 14, "keep": 2, "reject": 2, "after": 10, "replace": 14, "reschedule": 14,
            "cancel": 4, "cancelkey": 2, "batch": 1, "brief": 2, "expiring": 1, "stalling": 1, "work": 12, "redrive": 5,
            "get": 5, "getkey": 2},
}
MAKERS = ("schedule", "keyed", "after", "batch", "brief", "expiring", "stalling")


def now_ms():
    return time.time_ns() // 1_000_000


class Request:
    """What is sent, and what the answer is to be: bytes or a number as such, a code of an error, or
    the name of a method of Player."""

    __slots__ = ("words", "expect", "job", "shape", "undo", "parts", "lo")

    def __init__(self, words, expect, job=None):
        self.words, self.expect, self.job = words, expect, job
        self.shape = job.shape if job is not None else None  # as it is once this is done
        self.undo = ()
        self.parts = None  # of what may be done in part: lists that take each part back
        self.lo = now_ms()

    def __str__(self):
        words = (w if type(w) is bytes else str(w).encode() for w in self.words)
        return " ".join(repr(w[:40])[2:-1] for w in words)[:300]


class Player:
    def __init__(self, tenant, seed, mix, cap, complain):
        self.tenant, self.mix, self.cap = tenant, mix, cap
        self.rng = random.Random(seed)
        self.model = Model()
        self._complain = complain
        self.words = () if tenant == "default" else ("TENANT", tenant)
        self.stall = Queue("stall", loose=True)
        self.queues = [Queue("mail"), Queue("bill"), Queue("hold", key_hold=True), Queue("brief", retain=False)]
        self.alive = []  # jobs that had not ended when it was last looked
        self.keyed = []  # jobs that were made with a key
        self.dead = []  # jobs that were dead at some time
        self.number = 0  # of the batch
        self.counts = collections.Counter()
        self.looked = 0
        self.bulk = None  # the one that runs
        self.frozen_slots = set()  # keys that it may take or free
        self.works = "work" in MIXES[mix]
        self.verbs = [(name, getattr(self, "do_" + name)) for name in MIXES[mix]]
        self.steps = list(MIXES[mix].values())
        for i in range(1, len(self.steps)):
            self.steps[i] += self.steps[i - 1]

    def complain(self, text, *jobs):
        if all(job.bad for job in jobs) and jobs:
            return
        self._complain(f"{self.tenant}: {text}", [job for job in jobs if not job.bad])
        for job in jobs:
            job.bad = True

    def begin(self, pipe):
        for queue in (*self.queues, self.stall):
            reply = pipe.call("QUEUE", queue.name, "KEY_HOLD", "30d" if queue.key_hold else "0", "RETAIN",
                              "30d" if queue.retain else "0", "RETAIN_DEAD", "30d", "ATTEMPTS", 0, "BACKOFF", "fixed:1s",
                              *self.words)
            assert not isinstance(reply, Refusal), reply

    # Draws.

    def spec(self, most=1500):
        """Where a payload begins in the pool, and its size."""
        dice = self.rng.random()
        if dice < 0.6:
            size = self.rng.randint(20, 400)
        elif dice < 0.997 or most <= 1500:
            size = self.rng.randint(200, most)
        else:
            size = int(1500 * 2 ** self.rng.uniform(0, 7))
        return (self.rng.randrange(POOL_SIZE - size), size)

    def when(self):
        """A moment: mostly far enough to wait on disk, sometimes one that comes during the run, or has passed."""
        rng, now, dice = self.rng, now_ms(), self.rng.random()
        if dice < 0.45:
            return now + HOUR + rng.randrange(30 * DAY)
        if dice < 0.75:
            return now + 2 * HOUR + rng.randrange(1000)
        if dice < 0.85:
            return now + 61_000 + rng.randrange(60_000)
        if dice < 0.92:
            return now + 300 + rng.randrange(30_000)
        return now - rng.randrange(20_000)

    def pick(self, jobs, fits=None):
        """Mostly one of the last few thousand of these; None if none is found soon."""
        rng, count = self.rng, len(jobs)
        if not count:
            return None
        for _ in range(6):
            far = rng.random() >= 0.7
            if far and jobs is self.model.jobs and self.alive:
                job = rng.choice(self.alive)
            else:
                job = jobs[rng.randrange(count)] if far else jobs[max(0, count - 1 - rng.randrange(NEAR))]
            if job.usable() and (fits is None or fits(job)):
                return job
        return None

    def pick_known(self):
        """One that can be named by its id; now and then one that has ended."""
        ended = self.rng.random() < 0.05
        return self.pick(self.model.jobs,
                         lambda job: job.id is not None and not job.brief and (ended or job.shape.state in ACTIVE))

    def contested(self, job):
        """Whether a bulk, or the telling of a parent's end, may be about to take or free its key."""
        slot = job.slot()
        return job.key is not None and (slot in self.frozen_slots or any(other.slot() == slot for other in self.model.telling.values()))

    # Verbs. Each makes one request and tells it to the model; None if there is no job for it.

    def _new(self, words=(), queue=None, key=False, order=True, tag=None, **more):
        """A SCHEDULE of a job that is not there yet."""
        rng, at = self.rng, self.when()
        queue = queue or rng.choice(self.queues)
        key = b"k%d" % len(self.keyed) if key else None
        order = b"o%d" % rng.randrange(300) if order and rng.random() < 0.1 else None
        tag = tag or rng.choice(TAGS)
        job = self.model.add(queue, at, at, self.spec(), key=key, order=order, tag=tag, **more)
        if key:
            self.keyed.append(job)
        return Request(("SCHEDULE", queue.name, job.payload(), "AT", at, "TAG", tag, *self._names(job), *words, *self.words),
                       self.see_id, job)

    def _names(self, job):
        return (*(("KEY", job.key) if job.key else ()), *(("ORDER", job.order) if job.order else ()))

    def do_schedule(self):
        return self._new()

    def do_keyed(self):
        return self._new(key=True)

    def do_brief(self):
        """Its history may go soon after it has ended."""
        request = self._new(("RETAIN", "500ms"), queue=self.queues[0], tag=b"apart")
        request.job.brief = True
        return request

    def do_expiring(self):
        request = self._new(("EXPIRE", "3s"), order=False, tag=b"apart")
        request.job.expire = 3000
        return request

    def do_stalling(self):
        return self._new(queue=self.stall, order=False, tag=b"apart")

    def do_after(self):
        rng = self.rng
        picks = (self.pick_known() for _ in range(1 if rng.random() < 0.8 else rng.randint(2, 5)))
        parents = sorted({job for job in picks if job and not job.shape.gone}, key=lambda job: job.n)
        if not parents:
            return None
        anyway = rng.random() < 0.3
        words = [word for parent in parents for word in ("AFTER", parent.id)]
        return self._new((*words, "AFTERFAIL", "run" if anyway else "cancel"), order=False, key=rng.random() < 0.3,
                         parents=parents, run_anyway=anyway)

    def _ifexists(self, how):
        """SCHEDULE with the key of a job that there was at some time: who has it now, or a new one."""
        old = self.pick(self.keyed)
        holder = old and self.model.holder(old)
        if not old or holder and not holder.usable() or self.contested(old):
            return None
        at, spec = self.when(), self.spec()
        if holder is None:
            job = holder = self.model.add(old.queue, at, at, spec, key=old.key, order=old.order, tag=b"again")
            self.keyed.append(job)
            data, expect = job.payload(), self.see_id
        elif how == "replace":
            data, expect = self.model.replace(holder, at, at, spec), self.see_id
        else:
            data, expect = b"never to be seen", self.see_key_exists if how == "reject" else self.see_id
        return Request(("SCHEDULE", old.queue.name, data, "AT", at, "TAG", "again", *self._names(old), "IFEXISTS", how,
                        *self.words), expect, holder)

    def do_replace(self):
        return self._ifexists("replace")

    def do_keep(self):
        return self._ifexists("keep")

    def do_reject(self):
        return self._ifexists("reject")

    def do_batch(self):
        """BATCH of new jobs."""
        how, words, jobs, parts = self.rng.choice(("all", "each")), [], [], []
        for _ in range(self.rng.randint(1, 40)):
            before = len(self.model.undo)
            one = self._new(key=self.rng.random() < 0.5)
            words += [len(one.words) - 1, *one.words[1:]]
            jobs.append(one.job)
            parts.append(self.model.undo[before:])
        request = Request(("BATCH", how, *words), self.see_ids)
        request.job, request.parts = jobs, parts if how == "each" else None
        return request

    def do_reschedule(self):
        job = self.pick_known()
        if not job:
            return None
        at = self.when()
        words = ("RESCHEDULE", job.id, "AT", at, *self.words)
        if job.shape.gone or job.shape.state not in ("scheduled", "waiting"):
            return Request(words, "NOTFOUND" if job.shape.gone else "STATE", job)
        self.model.reschedule(job, at, at)
        return Request(words, b"OK", job)

    def do_cancel(self):
        job = self.pick_known()
        return job and Request(("CANCEL", job.id, *self.words), self.model.cancel(job), job)

    def do_cancelkey(self):
        old = self.pick(self.keyed)
        holder = old and self.model.holder(old)
        if not holder or not holder.usable():
            return None
        return Request(("CANCEL", *self._names(old), "QUEUE", old.queue.name, *self.words), self.model.cancel(holder), holder)

    def do_get(self):
        job = self.pick_known()
        return job and Request(("GET", job.id, *self.words), self.see_view, job)

    def do_getkey(self):
        old = self.pick(self.keyed)
        holder = old and self.model.holder(old)
        if not holder or not holder.usable():
            return None
        return Request(("GET", *self._names(old), "QUEUE", old.queue.name, *self.words), self.see_view, holder)

    def do_redrive(self):
        job = self.pick(self.dead, lambda job: job.id is not None and not job.brief)
        if not job:
            return None
        words = ("REDRIVE", job.id, *self.words)
        if job.shape.gone or job.shape.state != "dead":
            return Request(words, "NOTFOUND" if job.shape.gone else "STATE", job)
        holder = self.model.holder(job)
        if self.contested(job) or any(job in child.parents for child in self.model.telling.values()):
            return None  # children that have not heard of its end go on waiting
        if holder:
            return Request(words, self.see_key_exists, holder) if holder.usable() else None
        now = now_ms()
        self.model.redrive(job, now, now + WINDOW)
        return Request(words, 1, job)

    def do_work(self):
        """What a worker may do with a job that it has; with an old token now and then."""
        rng, model = self.rng, self.model
        job = next((job for job in model.leased.values() if job.usable()), None)
        if not job:
            return None
        now, dice, pause = now_ms(), rng.random(), rng.choice((0, 100, 5000, 70_000, HOUR))
        name, lo, hi = (job.id, job.token), now + pause, now + pause + WINDOW
        if dice < 0.02:
            return Request(("COMPLETE", job.id, int(job.token) - 1, *self.words), "STALE", job)
        if dice < 0.1:
            model.leased[job.n] = model.leased.pop(job.n)  # its turn comes again
            return Request(("EXTEND", *name, "FOR", "3h", *self.words), self.see_extended, job)
        if dice < 0.5:
            model.complete(job)
            return Request(("COMPLETE", *name, "RESULT", "r%d" % job.n, *self.words), b"OK", job)
        if dice < 0.7:
            model.fail_final(job)
            self.dead.append(job)
            return Request(("FAIL", *name, "FINAL", "yes", "ERROR", "e%d" % job.n, *self.words), self.see_failed, job)
        if dice < 0.8:
            model.retry(job, lo, hi)
            return Request(("FAIL", *name, "RETRY", pause, *self.words), self.see_failed, job)
        if dice < 0.9:
            model.release(job, lo, hi)
            return Request(("RELEASE", *name, "IN", pause, *self.words), b"OK", job)
        model.again(job, lo, hi)
        return Request(("COMPLETE", *name, "AGAIN", pause, *self.words), b"OK", job)

    # Batches.

    def batch(self, size):
        """So many requests, told to the model."""
        self.number += 1
        self.look()
        requests = []
        while len(requests) < size:
            name, verb = self.verbs[bisect.bisect(self.steps, self.rng.random() * self.steps[-1])]
            if name in MAKERS and self.model.active > self.cap and self.rng.random() < 0.8:
                verb = self.do_cancel
            undo = self.model.request((self.number, len(requests)))
            request = verb() or self.do_schedule()
            request.undo = undo
            requests.append(request)
            self.counts[request.words[0]] += 1
        return requests

    def look(self):
        """Now and then: which jobs have not ended."""
        if len(self.model.jobs) + 50 * self.number > self.looked + 20_000:
            self.looked = len(self.model.jobs) + 50 * self.number
            self.alive = [job for job in self.model.jobs if job.shape.state in ACTIVE and job.usable()]

    def leases(self):
        """LEASE of each queue; what is answered is what the model learns. Those of `stall` are forgotten."""
        self.number += 1
        requests = []
        if self.works and len(self.model.leased) < 3000 and not self.bulk:
            for queue in self.queues:
                count = self.rng.choice((1, 20, 300))
                requests.append(Request(("LEASE", queue.name, "COUNT", count, "FOR", "3h", *self.words), self.see_leases))
            requests.append(Request(("LEASE", "stall", "COUNT", 50, "FOR", "200ms", *self.words), self.see_leases))
            self.counts["LEASE"] += len(requests)
        return requests

    def told(self, pipe):
        """Asks whether children have heard of their parents' ends."""
        jobs = list(self.model.telling.values())[:2000]
        for job in [job for job in jobs if job.shape.state == "never"]:
            jobs.remove(job)
            del self.model.telling[job.n]
        lo = now_ms()
        views = pipe.exchange([("GET", job.id, *self.words) for job in jobs])
        hi = now_ms()
        for job, view in zip(jobs, views):
            if job.bad or not self.model.differs(job, view, lo, hi):
                job.telling = False
                del self.model.telling[job.n]
        return not self.model.telling

    # Answers. Each says what is wrong with one, or None.

    def judge(self, request, reply, hi):
        """Compares an answer, which had come at this time, with what it is to be."""
        expect = request.expect
        if callable(expect):
            wrong = expect(request, reply, hi)
        elif type(expect) is str:
            wrong = None if isinstance(reply, Refusal) and reply.code == expect else f"not {expect}"
        else:
            wrong = None if reply == expect else f"not {expect!r}"
        if wrong:
            jobs = request.job if type(request.job) is list else [request.job] if request.job else []
            self.complain(f"{request} answers {repr(reply)[:200]}: {wrong}; after it: {request.shape}", *jobs)

    def see_id(self, request, reply, hi):
        return self.learn(request.job, reply)

    def learn(self, job, reply):
        """An answer that is to be this job's id, which may not be known yet."""
        if type(reply) is not bytes or len(reply) != 26:
            return "not an id"
        if job.id is None and reply not in self.model.by_id:
            job.id = reply
            self.model.by_id[reply] = job
        return None if job.id == reply else f"the id is {job.id}"

    def see_ids(self, request, reply, hi):
        if type(reply) is not list or len(reply) != len(request.job):
            return "not so many ids"
        return next(filter(None, (self.learn(job, id) for job, id in zip(request.job, reply))), None)

    def see_key_exists(self, request, reply, hi):
        id = request.job.id
        right = id is not None and isinstance(reply, Refusal) and reply.text == "KEYEXISTS " + id.decode()
        return None if right else "not KEYEXISTS"

    def see_view(self, request, reply, hi):
        if isinstance(reply, Refusal):
            return "refused"
        return self.model.differs(request.job, reply, request.lo, hi, request.shape)

    def see_failed(self, request, reply, hi):
        shape = request.shape
        if type(reply) is not dict or reply["state"].decode() != shape.state and reply["state"] != b"ready":
            return f"not {shape.state}"
        if shape.state == "scheduled" and not shape.at <= reply["at_ms"] <= max(hi, shape.at_max):
            return "not that time"
        return None

    def see_extended(self, request, reply, hi):
        right = type(reply) is dict and reply["cancelled"] == request.shape.cancelling
        return None if right else f"cancelled is to be {request.shape.cancelling}"

    def see_leases(self, request, reply, hi):
        if type(reply) is not list:
            return "not a list"
        request.undo = self.model.request((self.number, 0))
        for view in reply:
            self.see_lease(view, hi)
        return None

    def see_lease(self, view, hi):
        job = self.model.by_id.get(view["id"])
        if job is None:
            return self.complain(f"LEASE gives a job that nobody knows: {view['id'].decode()} {view['payload'][:40]!r}")
        shape, other = job.shape, self.model.out_of_turn(job)
        if shape.state not in ("scheduled", "loose") or shape.at > hi:
            return self.complain(f"LEASE gives it, though it is {shape}", job)
        if view["payload"] != job.payload() or not shape.due <= view["due_ms"] <= shape.due_max:
            return self.complain(f"LEASE gives it with due {view['due_ms']}, payload {view['payload'][:40]!r}", job)
        if int(view["token"]) <= job.top:
            return self.complain(f"LEASE gives it with the token {view['token']} after {job.top}", job)
        if shape.state == "loose":
            job.top = int(view["token"])
            return None
        if view["attempt"] != shape.attempt + 1:
            return self.complain(f"LEASE says attempt {view['attempt']}, to be {shape.attempt + 1}", job)
        if other:
            self.complain(f"LEASE gives {job.n} before {other.n} of its lane", job, other)
        return self.model.lease(job, view["token"], view["attempt"])
