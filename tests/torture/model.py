# SPDX-License-Identifier: MIT
"""What the server should say of each job of one tenant: a plain model of what is promised, which
knows nothing of memory, disk or time to load. It is told each request before it is sent, and says
what the answer is to be. Each change can be taken back, as what a killed server did not answer may
or may not have been done."""
import collections
import itertools
import random
from typing import NamedTuple, Optional

ACTIVE = ("scheduled", "waiting", "leased", "loose")
STATES = ("scheduled", "ready", "leased", "waiting", "done", "dead", "cancelled", "expired")
STALLS = 10  # after so many a job is taken for poison
AHEAD_MS = 120_000  # so long before its time a job may be counted as ready
LAG_MS = 5000  # a job may be shown as it was for so long after its time has come
POOL_SIZE = 1 << 20
_POOL = bytes(random.Random(7).choices(b"abcdefghijklmnopqrstuvwxyz0123456789 .,-\r\n", k=POOL_SIZE))


def payload(n, version, offset, size):
    """Begins with the job's number, by which a job is known whose id was never answered."""
    head = b"%d.%d " % (n, version)
    return head + _POOL[offset:offset + size - len(head)]


class Shape(NamedTuple):
    """What can change of a job. Times are bounds, as the server's clock chose some of them. A
    `loose` one is leased now and then by somebody who forgets it."""

    state: str
    due: int
    due_max: int
    at: int
    at_max: int
    version: int
    offset: int
    size: int
    attempt: int = 0
    open: int = 0  # jobs that it waits for
    cancelling: bool = False
    later: Optional[tuple] = None  # what replaces it when its attempt ends: at, at_max, version, offset, size
    gone: bool = False  # nothing is to be seen of it
    holding: bool = False  # it was leased at its present due time, and keeps its lane

    def __str__(self):
        text = (f"{self.state} due={self.due} at={self.at} version={self.version} size={self.size} "
                f"attempt={self.attempt}")
        for name in ("open", "cancelling", "later", "gone", "holding"):
            if getattr(self, name):
                text += f" {name}={getattr(self, name)}"
        return text


class Queue:
    def __init__(self, name, key_hold=False, retain=True, loose=False):
        self.name, self.key_hold, self.retain, self.loose = name, key_hold, retain, loose


class Job:
    __slots__ = ("n", "id", "queue", "key", "order", "tag", "children", "parents", "run_anyway", "token", "top", "shape",
                 "log", "bad", "frozen", "telling", "parent", "brief",
                 "expire")

    def __init__(self, n, queue, key, order, tag, shape):
        self.n, self.queue, self.key, self.order, self.tag, self.shape = n, queue, key, order, tag, shape
        self.id = None
        self.children = self.parents = ()
        self.run_anyway = False
        self.token = None
        self.top = 0  # the highest token it ever had
        self.log = []
        self.bad = False  # something was wrong with it: it is left alone from then on
        self.telling = False  # whether the server has told it of a parent's end is not known
        self.frozen = False  # a bulk is about to change it
        self.parent = False  # others waited for it, ever
        self.brief = False  # its history may go at any time
        self.expire = None

    def payload(self, shape=None):
        shape = shape or self.shape
        return payload(self.n, shape.version, shape.offset, shape.size)

    def slot(self):
        return (self.queue.name, self.order, self.key)

    def usable(self):
        return not self.bad and not self.frozen and not self.telling and self.expire is None and self.shape.state not in ("never", "loose")

    def history(self):
        lines = [f"job {self.n} {self.id and self.id.decode()} queue={self.queue.name} key={self.key} "
                 f"order={self.order} tag={self.tag} after={[p.n for p in self.parents]} "
                 f"children={[c.n for c in self.children]}"]
        lines += [f"    {where[0]}.{where[1]:<5} {what}: {shape}" for where, what, shape in self.log]
        return "\n".join(lines)


class Model:
    def __init__(self):
        self.jobs = []
        self.by_id = {}
        self.keys = {}  # (queue, order, key) -> Job
        self.leased = {}  # n -> Job
        self.telling = {}  # n -> Job that is to be told of a parent's end, which the server does in its own time
        self.lanes = collections.defaultdict(list)  # (queue, order) -> jobs
        self.active = 0
        self.where = (0, 0)  # batch and request, for histories
        self.undo = []  # what takes the request under way back
        self._numbers = itertools.count()

    # Changes, each of which can be taken back.

    def request(self, where):
        """What follows is one request's doing; answers the list that takes it back."""
        self.where = where
        self.undo = []
        return self.undo

    def take_back(self, undo):
        """Answers the list that does it again, by the same function."""
        redo = []
        for job, *old in reversed(undo):
            if job is None:
                table, key, _ = old
                redo.append((None, table, key, table.get(key)))
                self._put(*old)
                continue
            redo.append((job, job.shape, job.children, job.token))
            shape, job.children, job.token = old
            self._count(job.shape, shape)
            job.shape = shape
        return redo

    @staticmethod
    def _put(table, key, value):
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value

    def _set(self, table, key, value):
        self.undo.append((None, table, key, table.get(key)))
        self._put(table, key, value)

    def _count(self, before, after):
        self.active += (after.state in ACTIVE) - (before.state in ACTIVE)

    def note(self, job, what):
        self.undo.append((job, job.shape, job.children, job.token))
        job.log.append((self.where, what, job.shape))

    def change(self, job, what, **fields):
        before = job.shape
        self.undo.append((job, before, job.children, job.token))
        job.shape = shape = before._replace(**fields)
        self._count(before, shape)
        job.log.append((self.where, what, shape))

    # What the verbs do.

    def add(self, queue, at, at_max, spec, key=None, order=None, tag=None, parents=(), run_anyway=False):
        """A new job; the key is known to be free."""
        job = Job(next(self._numbers), queue, key, order, tag,
                  Shape("never", at, at_max, at, at_max, 0, *spec, gone=True))
        job.parents, job.run_anyway = tuple(parents), run_anyway
        self.jobs.append(job)
        pending = [p for p in parents if p.shape.state in ACTIVE]
        if not run_anyway and any(p.shape.state in ("dead", "cancelled") for p in parents):
            self.change(job, "scheduled, but what it is after was not done", state="cancelled", gone=not queue.retain)
            return job
        state = "waiting" if pending else "loose" if queue.loose else "scheduled"
        self.change(job, "scheduled", state=state, open=len(pending), gone=False)
        if key is not None:
            self._set(self.keys, job.slot(), job)
        if order is not None:
            self.lanes[queue.name, order].append(job)
        for parent in pending:
            self.note(parent, f"is waited for by {job.n}")
            parent.children += (job,)
            parent.parent = True
        return job

    def holder(self, job):
        """Who has the key that this one has, or had."""
        return self.keys.get(job.slot()) if job.key is not None else None

    def replace(self, job, at, at_max, spec):
        """Answers the payload that is to be sent."""
        shape = job.shape
        version = (shape.later[2] if shape.later else shape.version) + 1
        if shape.state == "leased":
            self.change(job, "replaced once its attempt ends", later=(at, at_max, version, *spec))
        elif shape.state in ACTIVE:
            self.change(job, "replaced", holding=False, due=at, due_max=at_max, at=at, at_max=at_max, version=version,
                        offset=spec[0], size=spec[1], attempt=0)
        return payload(job.n, version, *spec)

    def reschedule(self, job, at, at_max, what="rescheduled"):
        self.change(job, what, due=at, due_max=at_max, at=at, at_max=at_max, holding=False)

    def end(self, job, state, what):
        """It ends; those that wait for it go on or end too."""
        self.change(job, what, state=state, open=0, cancelling=False, later=None,
                    gone=not job.queue.retain and state != "dead")
        self.drop_lease(job)
        if self.holder(job) is job and not (state == "done" and job.queue.key_hold):
            self._set(self.keys, job.slot(), None)
        children, job.children = job.children, ()
        if job.parent and job.shape.gone:  # it is there until it is known that all were told
            self._tell(job)
        for child in children:
            self._parent_ended(child, job, state)

    def _parent_ended(self, child, parent, state):
        if child.shape.state != "waiting":
            return
        if state != "done" and not child.run_anyway:
            self.end(child, "cancelled", f"cancelled, as {parent.n} was not done")
        elif child.shape.open == 1:
            self.change(child, f"{parent.n} has ended, the last it waited for", open=0, state="scheduled")
        else:
            self.change(child, f"{parent.n} has ended", open=child.shape.open - 1)
            return
        self._tell(child)

    def _tell(self, job):
        job.telling = True
        self.telling[job.n] = job

    def cancel(self, job, what="cancelled"):
        """Answers what the server is to answer."""
        if job.shape.state == "leased":
            self.change(job, f"{what} while it runs", cancelling=True, later=None)
            return b"running"
        if job.shape.state not in ACTIVE:
            return b"notfound" if job.shape.gone else "STATE"
        self.end(job, "cancelled", what)
        return b"cancelled"

    def redrive(self, job, lo, hi, what="redriven"):
        self.change(job, what, state="scheduled", attempt=0, due=lo, due_max=hi, at=lo, at_max=hi, holding=False)
        if job.key is not None:
            self._set(self.keys, job.slot(), job)

    def delete(self, job, what):
        self.change(job, what, gone=True)
        if self.holder(job) is job:
            self._set(self.keys, job.slot(), None)

    # Leases. A lease is known when it is answered, not before.

    def lease(self, job, token, attempt):
        self.change(job, f"leased with {token}", state="leased", attempt=attempt, holding=True)
        job.token, job.top = token, max(job.top, int(token))
        self._set(self.leased, job.n, job)

    def drop_lease(self, job):
        if job.n in self.leased:
            self._set(self.leased, job.n, None)

    def _turns(self, job, what):
        """Whether a replace or a cancel makes something else of the attempt's end."""
        later = job.shape.later
        self.drop_lease(job)
        if later:
            self.change(job, f"{what}, replaced", state="scheduled", due=later[0], due_max=later[1], at=later[0],
                        at_max=later[1], version=later[2], offset=later[3], size=later[4], attempt=0, later=None,
                        cancelling=False, holding=False)
        elif job.shape.cancelling and what != "completed":
            self.end(job, "cancelled", f"{what}, cancelled")
        else:
            return False
        return True

    def complete(self, job):
        if not self._turns(job, "completed"):
            self.end(job, "done", "completed")

    def fail_final(self, job):
        if not self._turns(job, "failed"):
            self.end(job, "dead", "failed for good")

    def retry(self, job, lo, hi):
        if not self._turns(job, "failed"):
            self.change(job, "failed, to be retried", state="scheduled", at=lo, at_max=hi)

    def release(self, job, lo, hi):
        if not self._turns(job, "released"):
            self.change(job, "released", state="scheduled", at=lo, at_max=hi, attempt=job.shape.attempt - 1)

    def again(self, job, lo, hi):
        if not self._turns(job, "completed, to run again"):
            self.change(job, "completed, to run again", state="scheduled", attempt=0, due=lo, due_max=hi, at=lo,
                        at_max=hi, holding=False)

    # What is seen.

    def states(self, job, lo, hi, shape=None):
        """As what it may be shown at a moment from lo to hi; None for not at all."""
        shape = shape or job.shape
        if shape.gone:
            return (None,)
        if shape.state == "loose":
            return ("scheduled", "ready", "leased", "dead")
        if shape.state != "scheduled":
            return (shape.state, None) if job.brief and shape.state not in ACTIVE else (shape.state,)
        if shape.at > hi:
            return ("scheduled",)
        if job.expire is not None and shape.at + job.expire <= hi:
            ended = ("expired",) if job.queue.retain else ("expired", None)  # on disk it is shown until the server meets it
            return ended if shape.at + job.expire < lo - LAG_MS else ("scheduled", "ready", *ended)
        return ("ready",) if shape.at_max < lo - LAG_MS else ("scheduled", "ready")

    def differs(self, job, view, lo, hi, shape=None):
        """In what a view by GET, made between these moments, is not as it should be; None if it is."""
        shape = shape or job.shape
        state = view and view["state"].decode()
        if state not in self.states(job, lo, hi, shape):
            return f"it is {state}" if view else "GET shows nothing"
        if view is None:
            return None
        if shape.state == "loose" and state == "dead" and view["stalls"] < STALLS:
            return f"it is dead after {view['stalls']} stalls"
        if view["id"] != job.id or view["queue"].decode() != job.queue.name:
            return f"it has the id {view['id'].decode()} and the queue {view['queue'].decode()}"
        if not shape.due <= view["due_ms"] <= shape.due_max:
            return f"it is due at {view['due_ms']}"
        if shape.state in ("scheduled", "waiting") and not shape.at <= view["at_ms"] <= max(shape.at_max, hi):
            return f"it runs at {view['at_ms']}"
        if view["payload"] != job.payload(shape):
            return f"it has the payload {view['payload'][:40]!r} of {len(view['payload'])} bytes"
        if view["key"] != job.key or view["order"] != job.order or view["tags"] != [job.tag]:
            return f"it has the key {view['key']}, the ordering key {view['order']}, the tags {view['tags']}"
        if view["attempt"] != shape.attempt and shape.state != "loose":
            return f"it has had {view['attempt']} attempts"
        if shape.state == "leased" and (view["cancelling"], view["replacing"]) != (shape.cancelling, bool(shape.later)):
            return f"cancelling is {view['cancelling']}, replacing {view['replacing']}"
        return None

    def counts(self, lo, hi):
        """Of each queue and state, the least and the most that may be counted. A job that waits on disk for room may be
        counted as ready before its time, and when it has expired; those that are neither leased nor waiting are `unstarted`
        in any case."""
        least, most = collections.Counter(), collections.Counter()
        for job in self.jobs:
            states = set(self.states(job, lo, hi))
            if job.expire is not None and job.shape.state == "scheduled" and job.shape.at <= hi:
                states |= {"scheduled", "ready"}
            unstarted = states & {"scheduled", "ready"}
            if unstarted:
                most[job.queue.name, "unstarted"] += 1
                least[job.queue.name, "unstarted"] += states == unstarted
                if job.shape.at < hi + AHEAD_MS:
                    states |= {"scheduled", "ready"}
            for state in states:
                most[job.queue.name, state] += 1
            if len(states) == 1:
                least[job.queue.name, states.pop()] += 1
        return least, most

    def out_of_turn(self, job):
        """Another job of its lane that must go first, or is under way."""
        for other in self.lanes.get((job.queue.name, job.order), ()) if job.order else ():
            shape = other.shape
            if other is job or other.bad or shape.state not in ("scheduled", "leased"):
                continue
            before = (shape.due_max, other.n) < (job.shape.due, job.n) and not job.shape.holding
            if shape.state == "leased" or shape.holding or before:
                return other
        return None
