# SPDX-License-Identifier: MIT
"""Producers and workers for a server that may be killed at any moment, and the ledger that knows
what it has acknowledged. Anything the server does that it may not is collected as a complaint."""
import itertools
import random
import threading

from wire import Closed, Refused, Wire, encode, now_ms

GONE = (Closed, OSError)


class Job:
    __slots__ = ("payload", "id", "not_before_ms", "acked", "tokens", "done_token", "done_sent")

    def __init__(self, payload, not_before_ms):
        self.payload = payload
        self.id = None
        self.not_before_ms = not_before_ms  # due at the earliest
        self.acked = False
        self.tokens = []        # every one ever given, in the order of their arrival
        self.done_token = None  # of the acknowledged COMPLETE
        self.done_sent = False  # a COMPLETE was sent: it may count though no answer came


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.jobs = {}  # by payload
        self.by_id = {}
        self.complaints = []
        self.leases = self.completions = self.failures = self.stale = 0
        self._numbers = itertools.count()

    def complain(self, text):
        if len(self.complaints) < 20:
            self.complaints.append(text)

    def sending(self, delay_ms):
        """A new job, about to be sent."""
        with self.lock:
            job = Job(f"job-{next(self._numbers)}", now_ms() + delay_ms)
            self.jobs[job.payload] = job
            return job

    def _bind(self, job, id):
        if job.id is None:
            if id in self.by_id:
                self.complain(f"id {id} was given to {self.by_id[id].payload} and to {job.payload}")
            job.id = id
            self.by_id[id] = job
        elif job.id != id:
            self.complain(f"{job.payload} has id {job.id} and {id}")

    def scheduled(self, job, id):
        with self.lock:
            job.acked = True
            self._bind(job, id)

    def leased(self, reply):
        """A delivery; True if the worker should go on with it."""
        got = now_ms()
        with self.lock:
            self.leases += 1
            job = self.jobs.get(reply["payload"])
            token = reply["token"]
            if job is None:
                return self.complain(f"delivered what nobody sent: {reply}")
            self._bind(job, reply["id"])
            if reply["due_ms"] > got:
                self.complain(f"{job.payload}: due at {reply['due_ms']}, delivered at {got}")
            if reply["due_ms"] < job.not_before_ms:
                self.complain(f"{job.payload}: due at {reply['due_ms']}, asked for {job.not_before_ms} at the earliest")
            if token in job.tokens:
                self.complain(f"{job.payload}: token {token} was given twice")
            if job.done_token is not None and token > job.done_token:
                self.complain(f"{job.payload}: completed under {job.done_token}, delivered again under {token}")
            job.tokens.append(token)
            return job

    def completing(self, job):
        with self.lock:
            job.done_sent = True

    def completed(self, job, token):
        with self.lock:
            self.completions += 1
            if job.done_token is not None:
                self.complain(f"{job.payload}: completed twice, {job.done_token} and {token}")
            if max(job.tokens) > token:
                self.complain(f"{job.payload}: {token} was completed though {max(job.tokens)} had been given")
            job.done_token = token

    def acked_jobs(self):
        with self.lock:
            return [job for job in self.jobs.values() if job.acked]


def delays(rng):
    """Due times: most soon, some in seconds, a few beyond the test."""
    roll = rng.random()
    if roll < 0.5:
        return 0
    return rng.randrange(1, 400) if roll < 0.9 else rng.randrange(400, 3000) if roll < 0.99 else 3_600_000


def produce(ledger, port, stop, seed, queues, depth=32):
    """Pipelines SCHEDULEs until told to stop or the server is gone."""
    rng = random.Random(seed)
    try:
        with Wire(port, timeout=30) as w:
            while not stop.is_set():
                jobs, data = [], []
                for _ in range(rng.randrange(1, depth)):
                    delay = delays(rng)
                    job = ledger.sending(delay)
                    when = ("AT", job.not_before_ms) if rng.random() < 0.5 else ("IN", delay)
                    jobs.append(job)
                    data.append(encode("SCHEDULE", rng.choice(queues), job.payload, *when, "ATTEMPTS", 0,
                                       "BACKOFF", "fixed:20ms", "PRIORITY", rng.randrange(1, 6),
                                       "RETAIN", "0" if rng.random() < 0.95 else "1h"))
                replies = []
                try:
                    w.exchange(b"".join(data), len(jobs), replies)
                finally:
                    for job, reply in zip(jobs, replies):
                        if isinstance(reply, Refused):
                            if reply.code not in ("BUSY",):
                                ledger.complain(f"SCHEDULE was refused: {reply}")
                        else:
                            ledger.scheduled(job, reply)
    except GONE:
        pass


def work(ledger, port, stop, seed, queues, fail=0.1, abandon=0.02, wait="200ms"):
    """Leases; completes most, fails some, releases some and forgets a few."""
    rng = random.Random(seed)
    try:
        with Wire(port, 3, timeout=30) as w:
            while not stop.is_set():
                jobs = w.lease(",".join(queues), "COUNT", rng.randrange(1, 64), "WAIT", wait,
                              "FOR", "1s", "WORKER", f"w{seed}")
                sent, data = [], []
                for reply in jobs:
                    job = ledger.leased(reply)
                    roll = rng.random()
                    if not job or roll < abandon:
                        continue
                    if roll < abandon + fail / 2:
                        verb = ("FAIL", reply["id"], reply["token"], "ERROR", "as told")
                    elif roll < abandon + fail:
                        verb = ("RELEASE", reply["id"], reply["token"], "IN", "10ms")
                    else:
                        verb = ("COMPLETE", reply["id"], reply["token"])
                        ledger.completing(job)
                    sent.append((job, reply["token"], verb[0]))
                    data.append(encode(*verb))
                replies = []
                try:
                    if sent:
                        w.exchange(b"".join(data), len(sent), replies)
                finally:
                    for (job, token, verb), reply in zip(sent, replies):
                        if isinstance(reply, Refused):
                            if reply.code not in ("STALE", "NOTFOUND"):
                                ledger.complain(f"{verb} of {job.payload} was refused: {reply}")
                            ledger.stale += 1
                        elif verb == "COMPLETE":
                            ledger.completed(job, token)
                        else:
                            ledger.failures += 1
    except GONE:
        pass
    except Refused as refused:
        ledger.complain(f"LEASE was refused: {refused}")


class Load:
    """Threads of both kinds, from start() to join()."""

    def __init__(self, ledger, server, queues, producers=3, workers=3, seed=0, **kw):
        self.stop = threading.Event()
        args = (ledger, server.port, self.stop)
        self.threads = [threading.Thread(target=produce, args=(*args, seed * 100 + i, queues), daemon=True)
                        for i in range(producers)]
        self.threads += [threading.Thread(target=work, args=(*args, seed * 100 + 50 + i, queues), kwargs=kw,
                                          daemon=True) for i in range(workers)]
        for thread in self.threads:
            thread.start()

    def join(self, timeout=60):
        self.stop.set()
        for thread in self.threads:
            thread.join(timeout)
            assert not thread.is_alive(), "a client hangs"
