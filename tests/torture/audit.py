# SPDX-License-Identifier: MIT
"""The end: every job by GET, once in LIST, by its key, and in the counts."""
from doubt import listing, quiet
from model import STATES
from player import TAGS, now_ms

STEP = 1000


def _slices(items):
    return (items[first:first + STEP] for first in range(0, len(items), STEP))


def audit(player, pipe, say, share=1.0):
    """A share of less than 1 asks GET for so many of them only."""
    quiet(pipe)
    lo = now_ms()
    rows = listing(player, pipe)
    hi = now_ms()
    model = player.model
    for id in rows.keys() - model.by_id.keys():
        if rows[id]["queue"] != b"ticks":
            player.complain(f"LIST shows a job that nobody knows: {rows[id]}")
    jobs = [job for job in model.jobs if job.id is not None and not job.bad]
    _by_id(player, pipe, [job for job in jobs if share >= 1 or player.rng.random() < share], rows)
    _by_list(player, jobs, rows, lo, hi)
    _by_key(player, pipe)
    _by_filter(player, pipe)
    _by_count(player, pipe)
    say(f"{player.tenant}: {len(rows)} jobs in LIST, {len(jobs)} that ever were, {model.active} have not ended")


def _by_id(player, pipe, jobs, rows):
    for some in _slices(jobs):
        lo = now_ms()
        views = pipe.exchange([("GET", job.id, *player.words) for job in some])
        hi = now_ms()
        for job, view in zip(some, views):
            wrong = player.model.differs(job, view, lo, hi)
            if wrong:
                player.complain(f"at the end: {wrong}; LIST has {rows.get(job.id)}", job)


def _by_list(player, jobs, rows, lo, hi):
    for job in jobs:
        row = rows.get(job.id)
        states = player.model.states(job, lo, hi)
        if (row and row["state"].decode()) not in states:
            player.complain(f"at the end: LIST has {row}", job)
        elif row and not job.shape.due <= row["due_ms"] <= job.shape.due_max:
            player.complain(f"at the end: LIST has due {row['due_ms']}", job)


def _by_key(player, pipe):
    held = [job for job in player.model.keys.values() if not job.bad and job.id is not None]
    for some in _slices(held):
        replies = pipe.exchange([("SCHEDULE", job.queue.name, "never to be seen", *player._names(job), "IFEXISTS", "reject",
                                  *player.words) for job in some])
        for job, reply in zip(some, replies):
            if getattr(reply, "text", None) != "KEYEXISTS " + job.id.decode():
                player.complain(f"at the end: its key answers {reply!r}", job)


def _by_filter(player, pipe):
    """LIST of a queue and a tag, of jobs whose state does not depend on the time."""
    queue, tag, state = player.rng.choice(player.queues), player.rng.choice(TAGS), player.rng.choice(STATES[3:7])
    words = ("QUEUE", queue.name, "TAG", tag, "STATE", state)
    found = sorted(row["id"] for row in pipe.pages(*words, *player.words))
    there = sorted(job.id for job in player.model.jobs if job.queue is queue and job.tag == tag and not job.shape.gone
                   and job.shape.state == state and not job.bad and job.id is not None)
    known = [id for id in found if id not in player.model.by_id or not player.model.by_id[id].bad]
    if known != there:
        player.complain(f"LIST {words} shows {len(found)}, to be {len(there)}")


def _by_count(player, pipe):
    lo = now_ms()
    rows = {row["queue"].decode(): row for row in pipe.call("QUEUES", *player.words)}
    stats = pipe.call("STATS", "TENANT", player.tenant)
    least, most = player.model.counts(lo, now_ms())
    for queue in (*player.queues, player.stall):
        counts = rows[queue.name]
        counts["unstarted"] = counts["scheduled"] + counts["ready"]
        for state in (*STATES, "unstarted"):
            count, low, high = counts[state], least[queue.name, state], most[queue.name, state]
            if not low <= count <= high:
                player.complain(f"QUEUES counts {count} {state} in {queue.name}, to be {low} to {high}")
    for state in STATES:
        total = sum(row[state] for row in rows.values())
        if stats[state] != total and state not in ("scheduled", "ready", "leased"):
            player.complain(f"STATS counts {stats[state]} {state}, QUEUES {total}")
