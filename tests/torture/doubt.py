# SPDX-License-Identifier: MIT
"""After a kill: which of the requests that were not answered were carried out? The journal is
written in the order of the requests of a connection, so it is a first part of them. It is found by
asking for every job that one of them is about, and taking them back, the last one first, until the
model says the same."""
import time

from pipe import Refusal
from player import Request, now_ms


def _number(view):
    head = view["payload"].split(b".", 1)[0]
    return int(head) if head.isdigit() else -1


def settle(player, pipe, doubted, listed):
    """`doubted`: requests in the order in which they were sent. `listed`: rows of LIST by id. Answers how many of
    them turned out to be done."""
    model, doubted = player.model, list(_single(doubted))
    _find_new(player, pipe, listed)
    jobs = {entry[0] for request in doubted for entry in request.undo if entry[0] is not None}
    jobs.update(_taken(player, listed))
    known = [job for job in jobs if job.id is not None]
    lo = now_ms()
    views = dict.fromkeys(jobs)
    views.update(zip(known, pipe.exchange([("GET", job.id, *player.words) for job in known])))
    hi = now_ms()

    def differs(job):
        return not job.bad and not job.frozen and model.differs(job, views[job], lo, hi)

    model.where = (player.number, 99999)
    done, wrong = _best_part(model, jobs, doubted, differs)
    _adopt_leases(player, doubted, wrong, views)
    for job in sorted(wrong, key=lambda job: job.n):
        if not job.telling:  # else it is asked for until it has heard
            player.complain(f"after a kill: {differs(job)}; no part of what was not answered explains it", job)
    return done


def _single(doubted):
    """Each by itself what a request does item by item."""
    for request in doubted:
        for undo in request.parts or (request.undo,):
            one = Request(request.words, request.expect)
            one.undo = undo
            yield one


def _best_part(model, jobs, doubted, differs):
    """Takes requests back such that the fewest jobs differ; answers how many are left, and those that differ."""
    wrong = {job for job in jobs if differs(job)}
    best, fewest, redo = len(doubted), len(wrong), []
    for done in range(len(doubted) - 1, -1, -1):
        redo.append(model.take_back(doubted[done].undo))
        for job in {entry[0] for entry in doubted[done].undo if entry[0] is not None}:
            (wrong.add if differs(job) else wrong.discard)(job)
        if len(wrong) < fewest:
            best, fewest = done, len(wrong)
    for _ in range(best):
        model.take_back(redo.pop())
    for request in doubted[best:]:
        for job in {entry[0] for entry in request.undo if entry[0] is not None}:
            job.log.append((model.where, f"a kill came before {request.words[0]}", job.shape))
    return best, {job for job in jobs if differs(job)}


def _find_new(player, pipe, listed):
    """Jobs whose id was not answered are known by their payloads."""
    model = player.model
    ids = [id for id, row in listed.items() if id not in model.by_id and row["queue"] != b"ticks"]
    for id, view in zip(ids, pipe.exchange([("GET", id, *player.words) for id in ids])):
        if view is None or isinstance(view, Refusal):
            player.complain(f"after a kill: LIST shows {listed[id]}, GET {view}")
            continue
        n = _number(view)
        job = model.jobs[n] if 0 <= n < len(model.jobs) else None
        if job is None or job.id is not None:
            player.complain(f"after a kill: there is a second {id.decode()} of", *([job] if job else []))
        else:
            player.learn(job, id)


def _taken(player, listed):
    """Jobs that are leased, though the model does not know of it."""
    for id, row in listed.items():
        job = player.model.by_id.get(id)
        if job and row["state"] == b"leased" and job.shape.state == "scheduled":
            yield job


def _adopt_leases(player, doubted, wrong, views):
    """A LEASE that was not answered, so that it is about no job yet, may have been carried out: GET tells the token."""
    queues = {request.words[1] for request in doubted if request.words[0] == "LEASE" and request.undo == ()}
    for job in list(wrong):
        view = views[job]
        if view and view["state"] == b"leased" and job.shape.state == "scheduled" and job.queue.name in queues:
            if view["payload"] == job.payload() and view["attempt"] == job.shape.attempt + 1:
                player.model.request((player.number, 99999))
                player.model.lease(job, view["token"], view["attempt"])
                wrong.discard(job)


_MOVES = ("cold_jobs", "loaded_jobs", "runs", "fed_batches", "merged_runs")


def listing(player, pipe):
    """All that LIST shows, by id. A job may be shown again if jobs move meanwhile; if none does that is wrong."""
    for _ in range(20):
        before = pipe.call("STATS")
        rows = {}
        for row in pipe.pages(*player.words):
            rows.setdefault(row["id"], []).append(row)
        after = pipe.call("STATS")
        again = [id for id, several in rows.items() if len(several) > 1 and several[0]["queue"] not in (b"stall", b"ticks")]
        moved = any(before[name] != after[name] for name in _MOVES)
        if not again or not moved:
            break
    for id in again if not moved else ():
        job = player.model.by_id.get(id)
        player.complain(f"LIST shows {id.decode()} {len(rows[id])} times", *([job] if job else []))
    return {id: several[-1] for id, several in rows.items()}


def quiet(pipe, timeout=30):
    """Waits until nothing moves between memory and disk."""
    end, last = time.monotonic() + timeout, None
    while time.monotonic() < end:
        stats = pipe.call("STATS")
        state = [stats[name] for name in ("cold_jobs", "runs", "merged_runs", "fed_batches", "cancelled", "waiting")]
        if state == last:
            return
        last = state
        time.sleep(0.3)
