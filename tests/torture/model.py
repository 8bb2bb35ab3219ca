# SPDX-License-Identifier: MIT
"""What the server should say of each job of one tenant: a plain model of what is promised, which
knows nothing of memory, disk or time to load. It is told each request before it is sent, and says
what the answer is to be. Each change can be taken back, as what a killed server did not answer may
or may not have been done."""
import collections
import itertools
import random
from typing import NamedTuple, Optional

ACTIVE = ("scheduled", "waiting", "leased")
ENDED = ("done", "dead", "cancelled")
POOL_SIZE = 1 << 20
_POOL = bytes(random.Random(7).choices(b"abcdefghijklmnopqrstuvwxyz0123456789 .,-\r\n", k=POOL_SIZE))


class Shape(NamedTuple):
    """What can change of a job. Times are bounds: the server's clock chose some of them. `gone` is
    set where RETAIN 0 leaves nothing to be seen."""

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
    later: Optional[tuple] = None  # what replaces it when its attempt ends
    gone: bool = False


class Job:
    __slots__ = ("n", "id", "queue", "key", "order", "tag", "children", "parents", "run_anyway", "token", "shape",
                 "log", "bad", "doubted")

    def __init__(self, n, queue, key, order, tag, shape):
        self.n, self.queue, self.key, self.order, self.tag, self.shape = n, queue, key, order, tag, shape
        self.id = None
        self.children = ()
        self.parents = ()
        self.run_anyway = False
        self.token = None
        self.log = []
        self.bad = False  # something was wrong with it: it is left alone from then on
        self.doubted = False  # its lease may not have been written when the server was killed

    def payload(self, shape=None):
        shape = shape or self.shape
        return payload(self.n, shape.version, shape.offset, shape.size)

    def slot(self):
        return (self.queue.name, self.order, self.key)

    def history(self):
        lines = [f"job {self.n} {self.id and self.id.decode()} queue={self.queue.name} key={self.key} order={self.order} "
                 f"tag={self.tag} after={[p.n for p in self.parents]} children={[c.n for c in self.children]}"]
        for where, what, shape in self.log:
            lines.append(f"    {where[0]}.{where[1]:<5} {what}: {show(shape)}")
        return "\n".join(lines)


def show(shape):
    text = (f"{shape.state} due={shape.due} at={shape.at} version={shape.version} size={shape.size} "
            f"attempt={shape.attempt}")
    for name in ("open", "cancelling", "later", "gone"):
        if getattr(shape, name):
            text += f" {name}={getattr(shape, name)}"
    return text


def payload(n, version, offset, size):
    head = b"%d.%d " % (n, version)
    return (head + _POOL[offset:offset + size - len(head)])[:max(size, len(head))]


class Queue:
    def __init__(self, name, key_hold=False, retain=True):
        self.name, self.key_hold, self.retain = name, key_hold, retain


class Model:
    def __init__(self):
        self.jobs = []
        self.by_id = {}
        self.keys = {}  # (queue, order, key) -> Job
        self.leased = {}  # n -> Job, as an ordered set
        self.where = (0, 0)  # batch and request, for histories
        self.undo = None  # what takes the request under way back
        self._numbers = itertools.count()

    # Changes, each of which can be undone.

    def request(self, where):
        """What follows is one request's doing; answers the list that undoes it."""
        self.where = where
        self.undo = []
        return self.undo

    def take_back(self, undo):
        for entry in reversed(undo):
            if entry[0] is None:
                _, table, key, value = entry
                if value is None:
                    table.pop(key, None)
                else:
                    table[key] = value
            elif entry[1] is None:  # it was not there
                entry[0].shape = entry[0].shape._replace(state="never", gone=True)
            else:
                job, shape, children, token = entry
                job.shape, job.children, job.token = shape, children, token
                job.log.append((self.where, "taken back, it was not done", shape))

    def _set(self, table, key, value):
        self.undo.append((None, table, key, table.get(key)))
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value

    def change(self, job, what, **fields):
        self.undo.append((job, job.shape, job.children, job.token))
        job.shape = shape = job.shape._replace(**fields)
        job.log.append((self.where, what, shape))

    # What the verbs do.

    def add(self, queue, at, at_max, spec, key=None, order=None, tag=None, parents=(), run_anyway=False):
        """A new job; the key is known to be free."""
        n = next(self._numbers)
        state = "scheduled"
        pending = [p for p in parents if p.shape.state in ACTIVE]
        failed = [p for p in parents if p.shape.state in ("dead", "cancelled")]
        if pending:
            state = "waiting"
        if failed and not run_anyway:
            state, pending = "cancelled", []
        shape = Shape(state, at, at_max, at, at_max, 0, *spec, open=len(pending),
                      gone=state == "cancelled" and not queue.retain)
        job = Job(n, queue, key, order, tag, shape)
        job.parents, job.run_anyway = tuple(parents), run_anyway
        job.log.append((self.where, "scheduled", shape))
        self.jobs.append(job)
        self.undo.append((job, None))
        if key is not None and state != "cancelled":
            self._set(self.keys, job.slot(), job)
        for parent in pending:
            self.undo.append((parent, parent.shape, parent.children, parent.token))
            parent.children += (job,)
            parent.log.append((self.where, f"is waited for by {n}", parent.shape))
        return job

    def holder(self, queue, order, key):
        return self.keys.get((queue.name, order, key))

    def replace(self, job, at, at_max, spec):
        version = job.shape.version + 1 if job.shape.later is None else job.shape.later[2] + 1
        if job.shape.state == "leased":
            self.change(job, "replaced once its attempt ends", later=(at, at_max, version, *spec))
        elif job.shape.state != "done":
            self.change(job, "replaced", due=at, due_max=at_max, at=at, at_max=at_max, version=version,
                        offset=spec[0], size=spec[1], attempt=0)

    def reschedule(self, job, at, at_max, what="rescheduled"):
        self.change(job, what, due=at, due_max=at_max, at=at, at_max=at_max)

    def end(self, job, state, what):
        """It ends; those that wait for it go on or end too."""
        self.change(job, what, state=state, open=0, cancelling=False, later=None, gone=not job.queue.retain and state != "dead")
        self.drop_lease(job)
        if job.key is not None and not (state == "done" and job.queue.key_hold) and self.keys.get(job.slot()) is job:
            self._set(self.keys, job.slot(), None)
        for child in job.children:
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

    def cancel(self, job):
        """Answers what the server is to answer."""
        if job.shape.state == "leased":
            self.change(job, "cancelled while it runs", cancelling=True)
            return b"running"
        if job.shape.state not in ACTIVE:
            return b"notfound"
        self.end(job, "cancelled", "cancelled")
        return b"cancelled"

    def redrive(self, job, lo, hi):
        self.change(job, "redriven", state="scheduled", attempt=0, due=lo, due_max=hi, at=lo, at_max=hi, later=None)
        if job.key is not None:
            self._set(self.keys, job.slot(), job)

    # Leases. A lease is only known when it is answered.

    def lease(self, job, token, attempt):
        self.change(job, f"leased with {token}", state="leased", attempt=attempt)
        job.token, job.doubted = token, True
        self.leased[job.n] = job

    def drop_lease(self, job):
        if job.n in self.leased:
            self._set(self.leased, job.n, None)

    def _attempt_ends(self, job, what, lo, hi, **fields):
        """What a replace or a cancel meanwhile makes of the attempt's end; False if there was none."""
        later = job.shape.later
        self.drop_lease(job)
        if later:
            self.change(job, f"{what}, replaced", state="scheduled", due=later[0], due_max=later[1], at=later[0],
                        at_max=later[1], version=later[2], offset=later[3], size=later[4], attempt=0, later=None,
                        cancelling=False)
            return True
        if job.shape.cancelling and what != "completed":
            self.end(job, "cancelled", f"{what}, cancelled")
            return True
        return False

    def complete(self, job):
        if not self._attempt_ends(job, "completed", 0, 0):
            self.end(job, "done", "completed")

    def fail_final(self, job):
        if not self._attempt_ends(job, "failed", 0, 0):
            self.end(job, "dead", "failed for good")

    def retry(self, job, lo, hi):
        if not self._attempt_ends(job, "failed", lo, hi):
            self.change(job, "failed, to be retried", state="scheduled", at=lo, at_max=hi)

    def release(self, job, lo, hi):
        if not self._attempt_ends(job, "released", lo, hi):
            self.change(job, "released", state="scheduled", at=lo, at_max=hi, attempt=job.shape.attempt - 1)

    def again(self, job, lo, hi):
        if not self._attempt_ends(job, "completed", lo, hi):
            self.change(job, "completed, to run again", state="scheduled", attempt=0, due=lo, due_max=hi, at=lo, at_max=hi)

    # What is seen.

    def differs(self, job, view, lo, hi, shape=None):
        """In what a view by GET, made between these moments, is not as it should be; None if it is."""
        shape = shape or job.shape
        if view is None:
            return None if shape.gone else "GET shows nothing"
        if shape.gone:
            return f"GET shows it {view['state'].decode()}, though nothing is to be kept"
        state = view["state"].decode()
        if state not in states_at(shape, lo, hi):
            return f"it is {state}"
        if view["id"] != job.id:
            return f"it has the id {view['id'].decode()}"
        if not shape.due <= view["due_ms"] <= shape.due_max:
            return f"it is due at {view['due_ms']}"
        if shape.state in ("scheduled", "waiting") and not shape.at <= view["at_ms"] <= max(shape.at_max, hi):
            return f"it runs at {view['at_ms']}"
        if view["payload"] != job.payload(shape):
            return f"it has the payload {view['payload'][:40]!r} of {len(view['payload'])} bytes"
        if view["key"] != job.key or view["order"] != job.order:
            return f"it has the key {view['key']} and the ordering key {view['order']}"
        if view["attempt"] != shape.attempt:
            return f"it has had {view['attempt']} attempts"
        if shape.state == "leased" and (view["cancelling"], view["replacing"]) != (shape.cancelling, bool(shape.later)):
            return f"cancelling is {view['cancelling']}, replacing {view['replacing']}"
        return None

    def counts(self, lo, hi):
        """Of each queue and state, the least and the most that may be counted."""
        least, most = collections.Counter(), collections.Counter()
        for job in self.jobs:
            if job.shape.gone:
                continue
            states = states_at(job.shape, lo, hi)
            for state in states:
                most[job.queue.name, state] += 1
            if len(states) == 1:
                least[job.queue.name, states[0]] += 1
        return least, most


def states_at(shape, lo, hi):
    """As what it may be shown at a moment from lo to hi."""
    if shape.state != "scheduled":
        return (shape.state,)
    if shape.at > hi:
        return ("scheduled",)
    if shape.at_max <= lo:
        return ("ready",)
    return ("scheduled", "ready")
