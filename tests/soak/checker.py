# SPDX-License-Identifier: MIT
"""Judges what the players of the soak test saw. Everything is derived from their notes: what was
sent may have happened from then on, what was answered had happened by then."""
import collections
import json
import pathlib

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
EPOCH_SHIFT = 40


def sequence(id):
    """The second half of a job's id."""
    number = 0
    for c in id:
        number = number * 32 + DIGITS.index(c)
    return number & ((1 << 64) - 1)


class Job:
    def __init__(self, payload):
        self.payload = payload
        self.id = self.queue = self.lane = self.parent = None
        self.sent = self.acked = None
        self.leases = []       # {token, attempt, asked, heard, until}, by token
        self.completes = []    # moments at which one was sent
        self.done_token = None  # of one that was acknowledged
        self.fails = []        # (sent, attempt)
        self.cancels = []      # moments at which one was sent
        self.cancelled = None  # when it was heard
        self.dead_ms = None    # as the server says: a worker who was killed may have had its last attempt


class Checker:
    def __init__(self, directory, attempts):
        self.attempts = attempts
        self.jobs = {}
        self.by_id = {}
        self.complaints = []
        self.events = collections.Counter()
        notes = []
        for path in pathlib.Path(directory).glob("*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    notes.append(json.loads(line))
                except ValueError:
                    pass  # its writer was killed in the middle of it
        notes.sort(key=lambda n: n["t"])
        for note in notes:
            self.events[note["e"]] += 1
            getattr(self, "on_" + note["e"])(note)
        for job in self.jobs.values():
            job.leases.sort(key=lambda x: x["token"])

    def complain(self, text):
        if len(self.complaints) < 50:
            self.complaints.append(text)

    def of_id(self, id, payload=None):
        job = self.by_id.get(id)
        if job is None:
            job = self.jobs.setdefault(payload or id, Job(payload or id))
            job.id = id
            self.by_id[id] = job
        return job

    # What was noted.

    def on_schedule(self, n):
        job = self.jobs.setdefault(n["p"], Job(n["p"]))
        job.queue, job.lane, job.parent, job.sent = n["q"], n["lane"], n["parent"], n["t"]

    def on_scheduled(self, n):
        job = self.jobs[n["p"]]
        job.acked = n["t"]
        if job.id not in (None, n["id"]):
            self.complain(f"{n['p']} was acknowledged as {n['id']} and delivered as {job.id}")
        job.id = n["id"]
        self.by_id[n["id"]] = job

    def on_refused(self, n):
        if not n["why"].startswith("NOTFOUND"):  # a parent may be forgotten
            self.complain(f"SCHEDULE {n['p']}: {n['why']}")

    def on_lease(self, n):
        known = self.jobs.get(n["p"])
        if known is not None and known.id is None:
            known.id = n["id"]
            self.by_id[n["id"]] = known
        job = self.of_id(n["id"], n["p"] if n["q"] != "ticks" else None)
        job.queue = n["q"]
        job.due = n["due"]
        job.leases.append({"token": int(n["token"]), "attempt": n["a"], "asked": n["asked"], "heard": n["t"],
                           "until": n["until"]})
        if n["t"] < n["due"]:
            self.complain(f"{n['p']} was delivered {n['due'] - n['t']} ms early")
        if n["a"] > self.attempts:
            self.complain(f"{n['p']} was delivered {n['a']} times, {self.attempts} are allowed")

    def lease_of(self, n):
        job = self.of_id(n["id"])
        return job, next((x for x in job.leases if x["token"] == int(n["token"])), None)

    def on_complete(self, n):
        self.of_id(n["id"]).completes.append(n["t"])

    def on_fail(self, n):
        job, lease = self.lease_of(n)
        job.fails.append((n["t"], lease["attempt"] if lease else 0))

    def on_release(self, n):
        pass

    def on_extend(self, n):
        pass

    def on_no(self, n):
        if n["why"] not in ("STALE", "NOTFOUND"):
            self.complain(f"{n['of']} of {n['id']}: {n['why']}")

    def on_ok(self, n):
        job, lease = self.lease_of(n)
        if n["of"] == "complete":
            if job.done_token is not None:
                self.complain(f"{job.payload} was completed twice: {job.done_token} and {n['token']}")
            job.done_token = int(n["token"])
        elif n["of"] == "extend" and lease:
            lease["until"] = max(lease["until"], n["answer"]["until_ms"])

    def on_cancel(self, n):
        self.of_id(n["id"]).cancels.append(n["t"])

    def on_cancelled(self, n):
        if n["outcome"] == "cancelled":
            self.of_id(n["id"]).cancelled = n["t"]

    # What may be concluded.

    def may_have_ended(self, job, by):
        """Something happened before `by` that may have ended the job for good."""
        if job.dead_ms is not None and job.dead_ms <= by:
            return True
        if any(t <= by for t in job.completes) or any(t <= by for t in job.cancels):
            return True
        if any(t <= by and a >= self.attempts for t, a in job.fails):
            return True
        if any(x["attempt"] >= self.attempts and x["until"] <= by for x in job.leases):
            return True
        parent = self.by_id.get(job.parent) if job.parent else None
        return bool(parent) and self.may_have_ended(parent, by) and not parent.completes

    def check_jobs(self):
        for job in self.jobs.values():
            tokens = [x["token"] for x in job.leases]
            if len(set(tokens)) != len(tokens):
                self.complain(f"{job.payload}: a token was given twice: {tokens}")
            if job.done_token is not None and tokens and tokens[-1] > job.done_token:
                self.complain(f"{job.payload} was delivered after it had been completed")
            if job.cancelled is not None and any(x["asked"] > job.cancelled for x in job.leases):
                self.complain(f"{job.payload} was delivered after it had been cancelled")
            for a, b in zip(job.leases, job.leases[1:]):
                if a["attempt"] > b["attempt"]:
                    self.complain(f"{job.payload}: attempt {b['attempt']} after {a['attempt']}")

    def check_parents(self):
        for job in self.jobs.values():
            parent = self.by_id.get(job.parent) if job.parent else None
            if parent and job.leases and not any(t <= job.leases[0]["heard"] for t in parent.completes):
                self.complain(f"{job.payload} was delivered before {parent.payload} was done")

    def check_lanes(self):
        lanes = collections.defaultdict(list)
        for job in self.jobs.values():
            if job.lane and job.leases:
                lanes[job.queue, job.lane].append(job)
        for name, jobs in lanes.items():
            leases = sorted((x["token"], i) for i, job in enumerate(jobs) for x in job.leases)
            for (a, i), (b, k) in zip(leases, leases[1:]):
                first = next(x for x in jobs[i].leases if x["token"] == a)
                second = next(x for x in jobs[k].leases if x["token"] == b)
                if i == k or a >> EPOCH_SHIFT != b >> EPOCH_SHIFT:
                    continue  # what a crash took is seen in the order below
                if first["until"] > second["heard"] and not self.may_have_ended(jobs[i], second["heard"]):
                    self.complain(f"{name}: {jobs[k].payload} was delivered while {jobs[i].payload} was out")
            self.check_order(name, jobs)
        return len(lanes), sum(len(jobs) for jobs in lanes.values())

    def check_order(self, name, jobs):
        """A job is delivered for the first time only when those before it have ended."""
        jobs.sort(key=lambda job: (job.due, sequence(job.id)))
        for k, job in enumerate(jobs):
            first = job.leases[0]
            for earlier in jobs[max(0, k - 200):k]:
                known = earlier.acked if earlier.acked is not None else float("inf")
                if known < first["asked"] and earlier.due < first["asked"] and \
                        not self.may_have_ended(earlier, first["heard"]):
                    self.complain(f"{name}: {job.payload} was delivered before {earlier.payload} had ended")

    def check_ends(self, states):
        """`states`: of all jobs after everything was drained."""
        for job in self.jobs.values():
            state = states.get(job.id)
            if job.acked is not None and state is None:
                self.complain(f"{job.payload} was acknowledged and is lost")
            if job.done_token is not None and state not in ("done", None):
                self.complain(f"{job.payload} was completed and is {state}")
            if state not in ("done", "dead", "cancelled", None):
                self.complain(f"{job.payload} is {state} though everything was drained")

    def check_ticks(self, name, period, start, entries, upto):
        """Every nominal time of a recurrence is in its ledger once."""
        expected, seen = start, {}
        for entry in entries:
            if entry["by_hand"]:
                continue
            for i in range(entry["count"]):
                nominal = entry["nominal_ms"] + i * period
                if nominal in seen:
                    self.complain(f"{name}: {nominal} is in the ledger twice")
                seen[nominal] = entry["outcome"]
        for nominal in sorted(seen):
            while expected < nominal:
                self.complain(f"{name}: {expected} is missing")
                expected += period
            expected = nominal + period
        if expected < upto:
            self.complain(f"{name}: nothing after {expected}")
        return collections.Counter(seen.values())
