# SPDX-License-Identifier: MIT
"""Makes the requests of one tenant, tells them to its model, and compares what is answered. All
requests of a batch are sent before the first is answered, so a job that is new in it can only be
named by its key."""
import bisect
import random
import time

from model import ACTIVE, Model, Queue, POOL_SIZE, show
from pipe import Refusal

HOUR = 3_600_000
DAY = 24 * HOUR
WINDOW = 120_000  # a request is carried out within this, or the run has failed anyway

# Of each mix: verb -> weight. Where there are leases to be had some are taken after each batch.
MIXES = {
    "after": {"schedule": 25, "keyed": 10, "after": 55, "get": 8, "cancel": 2},
    "replace": {"schedule": 5, "keyed": 35, "replace": 50, "get": 8, "cancel": 2},
    "reschedule": {"schedule": 20, "keyed": 20, "reschedule": 50, "get": 8, "cancel": 2},
    "moves": {"schedule": 15, "keyed": 20, "after": 15, "replace": 20, "reschedule": 20, "get": 8, "cancel": 2},
    "redrive": {"schedule": 25, "keyed": 15, "work": 30, "redrive": 20, "reschedule": 5, "get": 5},
    "bulk": {"schedule": 30, "keyed": 30, "after": 5, "replace": 10, "reschedule": 10, "work": 10, "get": 5},
    "all": {"schedule": 12, "keyed": 14, "keep": 2, "reject": 2, "after": 10, "replace": 14, "reschedule": 14,
            "cancel": 5, "cancelkey": 2, "batch": 1, "work": 12, "redrive": 5, "get": 5, "getkey": 2},
}
WORKS = ("redrive", "bulk", "all")


def now_ms():
    return time.time_ns() // 1_000_000


class Request:
    __slots__ = ("words", "expect", "job", "shape", "undo", "lo")

    def __init__(self, words, expect, job=None):
        self.words, self.expect, self.job = words, expect, job
        self.shape = job.shape if job else None  # as it is once this is done
        self.undo = None
        self.lo = 0


class Player:
    def __init__(self, tenant, seed, mix, cap, complain):
        self.tenant = tenant
        self.rng = random.Random(seed)
        self.model = Model()
        self.mix = mix
        self.cap = cap
        self.complain_of = complain
        self.words = () if tenant == "default" else ("TENANT", tenant)
        self.queues = [Queue("mail"), Queue("bill"), Queue("hold", key_hold=True), Queue("brief", retain=False)]
        self.keyed = []  # jobs that were made with a key
        self.dead = []
        self.number = 0  # of the batch
        self.counts = {}
        self.worst_token = 0
        verbs = MIXES[mix]
        self.verbs = [getattr(self, "do_" + name) for name in verbs]
        self.steps, total = [], 0
        for weight in verbs.values():
            total += weight
            self.steps.append(total)

    def complain(self, text, job=None):
        self.complain_of(f"{self.tenant}: {text}", job)
        if job:
            job.bad = True

    def begin(self, pipe):
        for queue in self.queues:
            pipe.call("QUEUE", queue.name, "KEY_HOLD", "30d" if queue.key_hold else "0", "RETAIN",
                      "30d" if queue.retain else "0", "RETAIN_DEAD", "30d", "ATTEMPTS", 0, *self.words)

    # Draws.

    def spec(self):
        """Where a payload begins in the pool, and its size."""
        dice = self.rng.random()
        if dice < 0.6:
            size = self.rng.randint(20, 400)
        elif dice < 0.997:
            size = self.rng.randint(200, 1500)
        else:
            size = int(1500 * 2 ** self.rng.uniform(0, 6))
        return (self.rng.randrange(POOL_SIZE - size), size)

    def when(self):
        """Words for a time, and its bounds."""
        rng, now = self.rng, now_ms()
        dice = rng.random()
        if dice < 0.45:
            at = now + HOUR + rng.randrange(30 * DAY)
        elif dice < 0.75:
            at = now + 2 * HOUR + rng.randrange(1000)
        elif dice < 0.85:
            at = now + 61_000 + rng.randrange(60_000)
        elif dice < 0.92:
            at = now + 300 + rng.randrange(30_000)
        else:
            at = now - rng.randrange(20_000)
        return ("AT", at), at, at

    def pick(self, jobs, fits):
        """Mostly one of the last few thousand; None if none is found soon."""
        rng = self.rng
        count = len(jobs)
        for _ in range(6):
            if not count:
                return None
            near = rng.random() < 0.7
            job = jobs[max(0, count - 1 - rng.randrange(6000))] if near else jobs[rng.randrange(count)]
            if not job.bad and not job.shape.state == "never" and fits(job):
                return job
        return None

    # Verbs. Each makes one request and tells it to the model; None if there is no job for it.

    def do_schedule(self):
        words, lo, hi = self.when()
        queue = self.rng.choice(self.queues)
        order = b"o%d" % self.rng.randrange(2000) if self.rng.random() < 0.1 else None
        tag = b"t%d" % self.rng.randrange(20)
        job = self.model.add(queue, lo, hi, self.spec(), order=order, tag=tag)
        more = ("ORDER", order) if order else ()
        return Request(("SCHEDULE", queue.name, job.payload(), *words, "TAG", tag, *more, *self.words), "id", job)

    def do_keyed(self):
        words, lo, hi = self.when()
        queue = self.rng.choice(self.queues)
        order = b"o%d" % self.rng.randrange(2000) if self.rng.random() < 0.1 else None
        key = b"k%d" % len(self.keyed)
        tag = b"t%d" % self.rng.randrange(20)
        job = self.model.add(queue, lo, hi, self.spec(), key=key, order=order, tag=tag)
        self.keyed.append(job)
        more = ("ORDER", order) if order else ()
        return Request(("SCHEDULE", queue.name, job.payload(), *words, "KEY", key, "TAG", tag, *more, *self.words), "id", job)

    def _by_key(self, job):
        return ("KEY", job.key, *(("ORDER", job.order) if job.order else ()))

    def _ifexists(self, how):
        """SCHEDULE with the key of a job that there was at some time: who has it now, or a new one."""
        old = self.pick(self.keyed, lambda job: True)
        if not old:
            return None
        words, lo, hi = self.when()
        spec = self.spec()
        holder = self.model.holder(old.queue, old.order, old.key)
        if holder is not None and holder.bad:
            return None
        words = (*words, *self._by_key(old), "IFEXISTS", how, *self.words)
        if holder is None:
            job = self.model.add(old.queue, lo, hi, spec, key=old.key, order=old.order, tag=b"again")
            self.keyed.append(job)
            return Request(("SCHEDULE", old.queue.name, job.payload(), "TAG", "again", *words), "id", job)
        if how == "replace":
            self.model.replace(holder, lo, hi, spec)
            later = holder.shape.later
            version = later[2] if later else holder.shape.version
            from model import payload
            data = payload(holder.n, version, *spec)
        else:
            data = b"never to be seen"
        return Request(("SCHEDULE", old.queue.name, data, *words), "keyexists" if how == "reject" else "id", holder)

    def do_replace(self):
        return self._ifexists("replace")

    def do_keep(self):
        return self._ifexists("keep")

    def do_reject(self):
        return self._ifexists("reject")

    def do_after(self):
        rng = self.rng
        count = 1 if rng.random() < 0.8 else rng.randint(2, 5)
        parents = {self.pick(self.model.jobs, lambda job: job.id is not None and not job.shape.gone) for _ in range(count)}
        parents.discard(None)
        if not parents:
            return None
        parents = sorted(parents, key=lambda job: job.n)
        words, lo, hi = self.when()
        queue = rng.choice(self.queues)
        anyway = rng.random() < 0.3
        job = self.model.add(queue, lo, hi, self.spec(), tag=b"child", parents=parents, run_anyway=anyway)
        after = [word for parent in parents for word in ("AFTER", parent.id)]
        return Request(("SCHEDULE", queue.name, job.payload(), *words, "TAG", "child", *after, "AFTERFAIL",
                        "run" if anyway else "cancel", *self.words), "id", job)

    def do_reschedule(self):
        job = self.pick(self.model.jobs, lambda job: job.id is not None)
        if not job:
            return None
        words, lo, hi = self.when()
        words = ("RESCHEDULE", job.id, *words, *self.words)
        if job.shape.gone:
            return Request(words, "NOTFOUND", job)
        if job.shape.state not in ("scheduled", "waiting"):
            return Request(words, "STATE", job)
        self.model.reschedule(job, lo, hi)
        return Request(words, b"OK", job)

    def do_cancel(self):
        job = self.pick(self.model.jobs, lambda job: job.id is not None)
        if not job:
            return None
        answer = self.model.cancel(job)
        return Request(("CANCEL", job.id, *self.words), answer, job)

    def do_cancelkey(self):
        old = self.pick(self.keyed, lambda job: True)
        holder = old and self.model.holder(old.queue, old.order, old.key)
        if not holder or holder.bad:
            return None
        answer = self.model.cancel(holder)
        return Request(("CANCEL", *self._by_key(old), "QUEUE", old.queue.name, *self.words), answer, holder)

    def do_get(self):
        job = self.pick(self.model.jobs, lambda job: job.id is not None)
        return job and Request(("GET", job.id, *self.words), "view", job)

    def do_getkey(self):
        old = self.pick(self.keyed, lambda job: True)
        holder = old and self.model.holder(old.queue, old.order, old.key)
        if not holder or holder.bad:
            return None
        return Request(("GET", *self._by_key(old), "QUEUE", old.queue.name, *self.words), "view", holder)

    def do_redrive(self):
        job = self.pick(self.dead, lambda job: job.id is not None)
        if not job:
            return None
        words = ("REDRIVE", job.id, *self.words)
        if job.shape.state != "dead":
            return Request(words, "NOTFOUND" if job.shape.gone else "STATE", job)
        holder = job.key and self.model.holder(job.queue, job.order, job.key)
        if holder:
            if holder.bad:
                return None
            return Request(words, "keyexists", holder)
        now = now_ms()
        self.model.redrive(job, now, now + WINDOW)
        return Request(words, 1, job)

    def do_work(self):
        """Something with a job that is leased."""
        rng, model = self.rng, self.model
        if not model.leased:
            return None
        job = next(iter(model.leased.values()))
        if job.bad:
            del model.leased[job.n]
            return None
        now, dice = now_ms(), rng.random()
        name = ("id", job.id)
        del name
        if dice < 0.08:
            request = Request(("EXTEND", job.id, job.token, "FOR", "2h", *self.words), "extended", job)
            request.undo = None
            model.leased.pop(job.n)
            model.leased[job.n] = job  # its turn comes again
            return request
        if dice < 0.5:
            model.complete(job)
            return Request(("COMPLETE", job.id, job.token, "RESULT", "r%d" % job.n, *self.words), b"OK", job)
        if dice < 0.7:
            model.fail_final(job)
            if job.shape.state == "dead":
                self.dead.append(job)
            return Request(("FAIL", job.id, job.token, "FINAL", "yes", "ERROR", "e%d" % job.n, *self.words), "failed", job)
        pause = rng.choice((0, 100, 5000, 70_000, HOUR))
        if dice < 0.8:
            model.retry(job, now + pause, now + pause + WINDOW)
            return Request(("FAIL", job.id, job.token, "RETRY", pause, *self.words), "failed", job)
        if dice < 0.9:
            model.release(job, now + pause, now + pause + WINDOW)
            return Request(("RELEASE", job.id, job.token, "IN", pause, *self.words), b"OK", job)
        model.again(job, now + pause, now + pause + WINDOW)
        return Request(("COMPLETE", job.id, job.token, "AGAIN", pause, *self.words), b"OK", job)

    def do_batch(self):
        """BATCH of new jobs, some with keys."""
        model, rng = self.model, self.rng
        how = rng.choice(("all", "each"))
        words, jobs = ["BATCH", how], []
        for _ in range(rng.randint(1, 40)):
            time_words, lo, hi = self.when()
            queue = rng.choice(self.queues)
            key = b"k%d" % len(self.keyed) if rng.random() < 0.5 else None
            spec = (rng.randrange(1000), rng.randint(20, 1500))
            job = model.add(queue, lo, hi, spec, key=key, tag=b"batch")
            if key:
                self.keyed.append(job)
            item = [queue.name, job.payload(), *time_words, "TAG", "batch", *(("KEY", key) if key else ()), *self.words]
            words += [len(item), *item]
            jobs.append(job)
        request = Request(tuple(words), "ids")
        request.job = jobs
        return request

    # Batches.

    def batch(self, size):
        """So many requests, told to the model."""
        self.number += 1
        requests, rng, model = [], self.rng, self.model
        active = len(model.jobs) > self.cap
        while len(requests) < size:
            verb = self.verbs[bisect.bisect(self.steps, rng.random() * self.steps[-1])]
            if active and verb in (self.do_schedule, self.do_keyed, self.do_batch, self.do_after) and rng.random() < 0.9:
                verb = self.do_cancel if rng.random() < 0.15 else self.do_get if rng.random() < 0.1 else rng.choice(self.verbs)
            undo = model.request((self.number, len(requests)))
            lo = now_ms()
            request = verb()
            if request is None:
                if verb is self.do_work:
                    continue
                undo = model.request((self.number, len(requests)))
                request = self.do_schedule()
            request.undo, request.lo = undo, lo
            requests.append(request)
            name = request.words[0] if type(request.words[0]) is str else "?"
            self.counts[name] = self.counts.get(name, 0) + 1
        return requests

    def leases(self):
        """LEASE of each queue; what is answered is what the model learns."""
        if self.mix not in WORKS or len(self.model.leased) > 3000:
            return []
        requests = []
        for queue in self.queues:
            request = Request(("LEASE", queue.name, "COUNT", self.rng.choice((1, 20, 300)), "FOR", "2h", *self.words), "leases", None)
            request.undo, request.lo = [], now_ms()
            requests.append(request)
        return requests

    def judge(self, request, reply, hi):
        """Compares an answer with what it is to be."""
        expect, job = request.expect, request.job
        if expect == "id":
            if type(reply) is bytes and len(reply) == 26:
                if job.id is None:
                    job.id = reply
                    if reply in self.model.by_id:
                        self.complain(f"the id {reply.decode()} was given twice", job)
                    self.model.by_id[reply] = job
                    return
                if job.id == reply:
                    return
        elif type(expect) is bytes or type(expect) is int:
            if reply == expect:
                return
        elif expect == "view":
            if job.id is None:
                return
            wrong = "refused" if isinstance(reply, Refusal) else self.model.differs(job, reply, request.lo - 1500, hi, request.shape)
            if wrong is None:
                return
            reply = wrong
        elif expect == "keyexists":
            if isinstance(reply, Refusal) and job.id is not None and reply.text == "KEYEXISTS " + job.id.decode():
                return
        elif expect == "failed":
            shape = request.shape
            if type(reply) is dict and reply["state"].decode() == shape.state and (
                    shape.state != "scheduled" or shape.at <= reply["at_ms"] <= shape.at_max):
                return
        elif expect == "extended":
            if type(reply) is dict and reply["cancelled"] == request.shape.cancelling:
                return
        elif expect == "leases":
            return self.judge_leases(request, reply, hi)
        elif expect == "ids":
            if type(reply) is list and len(reply) == len(job):
                for one, id in zip(job, reply):
                    sub = Request(request.words[:2], "id", one)
                    self.judge(sub, id, hi)
                return
            self.complain(f"BATCH of {len(job)} answers {reply!r}"[:300])
            for one in job:
                one.bad = True
            return
        elif isinstance(reply, Refusal) and reply.code == expect:
            return
        if job and job.bad:
            return
        self.complain(f"{self.words_of(request)}: {str(reply)[:200]}, to be {str(expect)[:60]} with "
                      f"{show(request.shape) if request.shape else None}", job)

    def words_of(self, request):
        return " ".join(w.decode("ascii", "replace")[:40] if type(w) is bytes else str(w) for w in request.words)[:200].replace("\r", " ").replace("\n", " ")

    def judge_leases(self, request, reply, hi):
        if type(reply) is not list:
            return self.complain(f"LEASE answers {reply!r}")
        self.model.request((self.number, 99999))
        for view in reply:
            job = self.model.by_id.get(view["id"])
            if job is None:
                self.complain(f"LEASE gives a job that nobody knows: {view['id'].decode()} {view['payload'][:40]!r}")
                continue
            if job.bad:
                continue
            shape = job.shape
            if shape.state != "scheduled" or shape.at > hi:
                self.complain(f"LEASE gives it, though it is {show(shape)}", job)
            elif view["payload"] != job.payload() or view["attempt"] != shape.attempt + 1 or not shape.due <= view["due_ms"] <= shape.due_max:
                self.complain(f"LEASE gives it with due {view['due_ms']}, attempt {view['attempt']}, payload {view['payload'][:40]!r}, "
                              f"to be {show(shape)}", job)
            elif job.token is not None and int(view["token"]) <= int(job.token):
                self.complain(f"LEASE gives it with the token {view['token']} after {job.token}", job)
            else:
                self.model.lease(job, view["token"], view["attempt"])

    # At the end.

    def audit(self, pipe, say):
        """Every job by GET, once in LIST, by its key, and in the counts."""
        model = self.model
        lo = now_ms()
        seen = {}
        for row in pipe.pages(*self.words):
            seen.setdefault(row["id"], []).append(row)
        known = [job for job in model.jobs if job.id is not None and not job.bad and job.shape.state != "never"]
        say(f"{self.tenant}: LIST shows {len(seen)} jobs of {len(known)} known")
        for id, rows in seen.items():
            job = model.by_id.get(id)
            if job is None:
                self.complain(f"LIST shows a job that nobody knows: {rows[0]}")
        for first in range(0, len(known), 2000):
            some = known[first:first + 2000]
            before = now_ms()
            views = pipe.exchange([("GET", job.id, *self.words) for job in some])
            after = now_ms()
            for job, view in zip(some, views):
                rows = seen.get(job.id, ())
                wrong = model.differs(job, view, before - 1500, after)
                if wrong:
                    self.complain(f"at the end: {wrong}; LIST shows it {len(rows)} times", job)
                elif len(rows) != (0 if job.shape.gone else 1):
                    self.complain(f"at the end: LIST shows it {len(rows)} times", job)
        held = [job for job in model.keys.values() if not job.bad and job.id is not None]
        for first in range(0, len(held), 2000):
            some = held[first:first + 2000]
            replies = pipe.exchange([("SCHEDULE", job.queue.name, "x", *self._by_key(job), "IFEXISTS", "reject", *self.words) for job in some])
            for job, reply in zip(some, replies):
                if not isinstance(reply, Refusal) or reply.text != "KEYEXISTS " + job.id.decode():
                    self.complain(f"at the end: its key answers {reply!r}", job)
        self.audit_counts(pipe)
        return seen

    def audit_counts(self, pipe):
        lo = now_ms()
        rows = {row["queue"].decode(): row for row in pipe.call("QUEUES", *self.words)}
        hi = now_ms()
        least, most = self.model.counts(lo - 5000, hi)
        for queue in self.queues:
            for state in ("scheduled", "ready", "leased", "waiting", "done", "dead", "cancelled", "expired"):
                count, name = rows[queue.name][state], (queue.name, state)
                if not least[name] <= count <= most[name]:
                    self.complain(f"QUEUES counts {count} {state} in {queue.name}, to be {least[name]}"
                                  + (f" to {most[name]}" if most[name] != least[name] else ""))
