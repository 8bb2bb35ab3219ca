# SPDX-License-Identifier: MIT
"""The torture of tests/torture, short; minutes of each mix with BELFRY_LONG=1. And its judges: what they must see."""
import pathlib
import subprocess
import sys

import pytest

from conftest import BUILD, ENV, LONG

TORTURE = pathlib.Path(__file__).resolve().parents[1] / "torture"
sys.path.insert(0, str(TORTURE))
from doubt import settle  # noqa: E402
from pipe import Refusal  # noqa: E402
from player import Player, Request, now_ms  # noqa: E402

RUNS = [("--mix", "moves", "--requests", "40000"), ("--mix", "all", "--requests", "20000", "--kills", "2")]
if LONG:
    RUNS = [("--mix", mix, "--memory", memory, "--seconds", "60", "--kills", "4", "--tenants", tenants)
            for mix in ("after", "replace", "reschedule", "moves", "redrive", "bulk", "all")
            for memory, tenants in (("16MiB", "1"), ("64MiB", "3"))]
    RUNS += [("--mix", "parents", "--jobs", "30000"), ("--mix", "parents", "--memory", "256MiB", "--jobs", "400000")]


@pytest.mark.limit(900)
@pytest.mark.parametrize("args", RUNS, ids=lambda args: "-".join(args[1:4:2]))
def test_every_job_is_as_the_model_says(args):
    done = subprocess.run([str(TORTURE / "run"), *args], capture_output=True, text=True, timeout=880,
                          env={**ENV, "BELFRY_BUILD": str(BUILD)})
    print(done.stdout[-3000:], done.stderr)
    assert done.returncode == 0, done.stdout[:6000] + done.stderr[-2000:]


class Server:
    """Answers GET with views, as a server that has done some requests and not others."""

    def __init__(self):
        self.views = {}

    def exchange(self, requests, **_):
        return [self.views.get(words[1]) for words in requests]

    def does(self, job, shape=None):
        shape = shape or job.shape
        self.views[job.id] = {"id": job.id, "state": shape.state.encode(), "queue": job.queue.name.encode(), "due_ms": shape.due,
                              "at_ms": shape.at, "payload": job.payload(shape), "key": job.key, "order": job.order,
                              "tags": [job.tag], "attempt": shape.attempt, "cancelling": shape.cancelling,
                              "replacing": bool(shape.later)}


class Stage:
    """A player with one job of each of these keys, an hour from now."""

    def __init__(self, keys=(b"a", b"b")):
        self.wrong = []
        self.player = Player("default", 1, "all", 1000, lambda text, jobs: self.wrong.append(text))
        self.model, self.server, self.jobs, self.at = self.player.model, Server(), [], now_ms() + 3_600_000
        for i, key in enumerate(keys):
            self.model.request((1, i))
            job = self.model.add(self.player.queues[0], self.at, self.at, (0, 50), key=key, tag=b"t0")
            self.player.learn(job, b"%026d" % i)
            self.server.does(job)
            self.jobs.append(job)

    def request(self, change, *args):
        """One that is not answered; `change` tells it to the model."""
        request = Request(("RESCHEDULE",), b"OK")
        request.undo = self.model.request((2, 0))
        change(*args)
        return request

    def judged(self, expect, reply, job):
        self.player.judge(Request(("GET", "x"), expect, job), reply, now_ms())
        return self.wrong


@pytest.mark.parametrize("done", range(4))
def test_what_was_done_before_a_kill_is_found_out(done):
    stage = Stage()
    a, b = stage.jobs
    doubted = []
    for i, job in enumerate((a, b, a)):
        doubted.append(stage.request(stage.model.reschedule, job, stage.at + 1 + i, stage.at + 1 + i))
        if i < done:
            stage.server.does(job)
    assert settle(stage.player, stage.server, doubted, {}) == done
    assert not stage.wrong
    assert a.shape.due == stage.at + (3 if done == 3 else 1 if done else 0)


def test_a_later_request_is_not_done_without_an_earlier_one():
    stage = Stage()
    doubted = [stage.request(stage.model.reschedule, job, stage.at + 1, stage.at + 1) for job in stage.jobs]
    stage.server.does(stage.jobs[1])
    settle(stage.player, stage.server, doubted, {})
    assert any("no part of what was not answered explains it" in text for text in stage.wrong), stage.wrong


@pytest.mark.parametrize("asked", [True, False])
def test_a_lease_that_was_not_answered_is_found(asked):
    stage = Stage()
    job, past = stage.jobs[0], now_ms() - 10_000
    stage.request(stage.model.reschedule, job, past, past)
    stage.server.does(job, job.shape._replace(state="leased", attempt=1))
    stage.server.views[job.id]["token"] = b"7"
    doubted = [Request(("LEASE", "mail"), stage.player.see_leases)] if asked else []
    settle(stage.player, stage.server, doubted, {job.id: {"state": b"leased", "queue": b"mail"}})
    assert (not stage.wrong and job.token == b"7") if asked else "it is leased" in stage.wrong[0]


@pytest.mark.parametrize("how", ["each", "all"])
def test_half_a_batch_is_wrong_if_it_is_to_be_all_or_none(how):
    stage = Stage()
    request = None
    while request is None or request.words[1] != how or len(request.job) < 4:
        undo = stage.model.request((2, 0))
        request = stage.player.do_batch()
        request.undo = undo
    made = request.job[:len(request.job) // 2]
    for i, job in enumerate(made):
        job.id = b"%026d" % (100 + i)
        stage.server.does(job)
        job.id = None
    rows = {id: {"state": b"scheduled", "queue": b"mail"} for id in stage.server.views}
    done = settle(stage.player, stage.server, [request], rows)
    if how == "each":
        assert done == len(made) and not stage.wrong
    else:
        assert "no part of what was not answered explains it" in stage.wrong[0]


def test_a_job_is_lost():
    stage = Stage()
    assert "GET shows nothing" in stage.judged(stage.player.see_view, None, stage.jobs[0])[0]


@pytest.mark.parametrize("field, value, says", [
    ("state", b"cancelled", "it is cancelled"), ("due_ms", 5, "it is due at 5"), ("payload", b"other", "has the payload"),
    ("key", b"other", "has the key"), ("attempt", 1, "1 attempts")])
def test_a_job_is_not_as_it_should_be(field, value, says):
    stage = Stage()
    view = {**stage.server.views[stage.jobs[0].id], field: value}
    assert says in stage.judged(stage.player.see_view, view, stage.jobs[0])[0]


def test_a_key_makes_a_second_job():
    stage = Stage()
    assert "the id is" in stage.judged(stage.player.see_id, b"%026d" % 7, stage.jobs[0])[0]


def test_a_key_is_refused_with_another_id():
    stage = Stage()
    reply = Refusal(b"KEYEXISTS " + b"%026d" % 7)
    assert "not KEYEXISTS" in stage.judged(stage.player.see_key_exists, reply, stage.jobs[0])[0]


@pytest.mark.parametrize("early, token, says", [(True, 9, "though it is"), (False, 9, None), (False, 3, "after 5")])
def test_a_lease_is_early_or_has_an_old_token(early, token, says):
    stage = Stage()
    job = stage.jobs[0]
    job.top = 5
    if not early:
        stage.request(stage.model.reschedule, job, now_ms() - 10, now_ms() - 10)
    stage.player.see_lease({"id": job.id, "payload": job.payload(), "due_ms": job.shape.due, "token": b"%d" % token,
                            "attempt": 1}, now_ms())
    assert (says in stage.wrong[0]) if says else (not stage.wrong and job.shape.state == "leased")


def test_counts_have_a_job_in_its_state_only():
    stage = Stage()
    least, most = stage.model.counts(now_ms(), now_ms())
    assert least == most and most == {("mail", "unstarted"): 2, ("mail", "scheduled"): 2}
    stage.request(stage.model.cancel, stage.jobs[0])
    least, most = stage.model.counts(now_ms(), now_ms())
    assert least == most and most == {("mail", "unstarted"): 1, ("mail", "scheduled"): 1, ("mail", "cancelled"): 1}


def test_a_parent_ends_its_children():
    stage = Stage()
    parent, other = stage.jobs
    stage.model.request((2, 0))
    queue = stage.player.queues[0]
    first = stage.model.add(queue, stage.at, stage.at, (0, 50), tag=b"t0", parents=[parent])
    second = stage.model.add(queue, stage.at, stage.at, (0, 50), tag=b"t0", parents=[parent, other], run_anyway=True)
    undo = stage.model.request((2, 1))
    assert stage.model.cancel(parent) == b"cancelled"
    assert (first.shape.state, second.shape.state, second.shape.open) == ("cancelled", "waiting", 1)
    stage.model.take_back(undo)
    assert (parent.shape.state, first.shape.state, second.shape.open) == ("scheduled", "waiting", 2)
    assert stage.model.holder(parent) is parent and parent.children == (first, second)
