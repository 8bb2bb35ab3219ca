# SPDX-License-Identifier: MIT
"""Data directories that servers before this one wrote (tests/golden) are opened, whole, and written on."""
import pytest

import conftest
import golden
from conftest import Server, wait_for
from wire import Refused

MINUTE, DAY = 60_000, 86_400_000
ARCHIVES = sorted(golden.GOLDEN.glob("*/*.tar.xz"))
DIRECTORIES = [f"{path.parent.name}/{path.name.split('.')[0]}" for path in ARCHIVES]


class Opened:
    """A copy of a directory, and a server on it whose clock begins at a moment that the test says."""

    def __init__(self, name, tmp_path):
        self.manifest = golden.read_manifest(golden.GOLDEN / f"{name}.json")
        self.server = Server(tmp_path / "server", **self.manifest["options"])
        golden.unpack(golden.GOLDEN / f"{name}.tar.xz", self.server.dir)

    def at(self, moment_ms):
        golden.set_clock(conftest.ENV, moment_ms)
        return self

    def start(self):
        self.server.start()

    def wire(self):
        w = self.server.wire()
        w.call("AUTH", self.manifest["token"])
        return w


@pytest.fixture(params=DIRECTORIES)
def opened(request, tmp_path, monkeypatch):
    monkeypatch.setattr(conftest, "ENV", dict(conftest.ENV))
    golden.preload_clock(conftest.ENV, tmp_path)
    o = Opened(request.param, tmp_path)
    yield o
    o.server.kill()


def agrees(expected, seen):
    """A later server may show more fields than the one that wrote the directory, never fewer."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        return all(name in seen and agrees(value, seen[name]) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(seen, list):
        return len(expected) == len(seen) and all(map(agrees, expected, seen))
    return expected == seen


def differences(expected, seen):
    return {name: (value, seen.get(name)) for name, value in expected.items()
            if name not in seen or not agrees(value, seen[name])}


def same_jobs(expected, seen):
    assert set(seen) == set(expected), f"gone: {set(expected) - set(seen)}, new: {set(seen) - set(expected)}"
    changed = {id: differences(job, seen[id]) for id, job in expected.items() if not agrees(job, seen[id])}
    assert not changed, f"{len(changed)} jobs are otherwise, such as {dict(list(changed.items())[:3])}"


def same_settings(expected, seen):
    for name, rows in seen.items():
        assert len(rows) == len(expected[name]), name
        for before, now in zip(expected[name], rows):
            assert not differences(before, now), f"{name}: {differences(before, now)} in {now}"


def bulks_end(w):
    wait_for(lambda: all(bulk["state"] == "done" for bulk in w.call("BULKS")), what="bulks end")


def find(jobs, **fields):
    """The jobs of these fields, by due time."""
    rows = [job for job in jobs.values() if all(job[name] == value for name, value in fields.items())]
    return sorted(rows, key=lambda job: (job["due_ms"], job["id"][-16:]))


# ---- Writing on: each answers the jobs that it changed, with the state that they are to have ----


def complete_leased(w, jobs):
    """Tokens of the leases of then are good."""
    rows = [job for job in find(jobs, state="leased") if not job["replacing"]]
    for job in rows:
        assert w.call("COMPLETE", job["id"], job["token"], "RESULT", "late", "TENANT", job["tenant"]) == "OK"
    return {job["id"]: "done" for job in rows}


def lease_in_order(w, jobs):
    """The lane that was stuck goes on with the first of those behind."""
    first = find(jobs, queue="lanes", order="stuck", state="ready")[0]
    (job,) = w.lease("lanes", "COUNT", 10, "WAIT", "10s", "FOR", "1d")
    assert job["id"] == first["id"], (first, job)
    return {job["id"]: "leased"}


def keys_are_taken(w, jobs):
    for job in jobs.values():
        if job["key"] and (job["queue"] == "keyed" or job["state"] in ("scheduled", "ready", "leased", "waiting")):
            order = ("ORDER", encoded(job["order"])) if job["order"] else ()
            with pytest.raises(Refused, match="KEYEXISTS"):
                w.call("SCHEDULE", job["queue"], "other", "KEY", encoded(job["key"]), "IFEXISTS", "reject", *order)
    return {}


def encoded(text):
    return text.encode("utf-8", "surrogateescape")


def change_scheduled(w, jobs, at_ms):
    """By id and by key, in memory and on disk."""
    rows = find(jobs, queue="future", state="scheduled")
    wanted = {}
    for i, job in enumerate(rows):
        if i % 4 == 0:
            assert w.call("CANCEL", job["id"]) == "cancelled"
            wanted[job["id"]] = "cancelled"
        elif i % 4 == 1:
            assert w.call("RESCHEDULE", job["id"], "AT", at_ms + 900 * DAY + i) == "OK"
            wanted[job["id"]] = "scheduled"
        elif i % 4 == 2 and job["key"]:
            new = w.call("SCHEDULE", "future", f"new {i}", "KEY", job["key"], "IFEXISTS", "replace", "AT", at_ms + 901 * DAY)
            assert new == job["id"]
            wanted[new] = "scheduled"
    assert len(set(wanted.values())) == 2
    return wanted


def end_parents(w, jobs):
    """Those that wait for them are told, wherever they are."""
    parents = [job["id"] for job in find(jobs, tags=["parent"])]
    wanted = {}
    for id in parents:
        assert w.call("CANCEL", id) == "cancelled"
        wanted[id] = "cancelled"
    for job in find(jobs, state="waiting"):
        wanted[job["id"]] = "scheduled" if job["payload"] == "child that runs anyhow" else "cancelled"
    for id, state in wanted.items():
        wait_for(lambda id=id, state=state: w.call("GET", id)["state"] == state, what=f"{id} is {state}")
    return wanted


def redrive_dead(w, jobs):
    rows = find(jobs, queue="mail", state="dead")
    for job in rows:
        assert w.call("REDRIVE", job["id"]) == 1
    assert rows
    return {job["id"]: "ready" for job in rows}


def fill_memory(w, at_ms):
    """So much that jobs go to disk, beside what is there."""
    before = w.call("STATS")["fed_batches"]
    ids = [w.call("SCHEDULE", "after", f"{n:09}" * 10_000, "AT", at_ms + 500 * DAY + n, "KEY", n) for n in range(120)]
    wait_for(lambda: w.call("STATS")["fed_batches"] > before, what="jobs go to disk")
    return {id: "scheduled" for id in ids}


def write_on(w, jobs, at_ms):
    """All of the above; answers the jobs as they are then."""
    wanted = {**keys_are_taken(w, jobs), **complete_leased(w, jobs), **lease_in_order(w, jobs), **redrive_dead(w, jobs),
              **change_scheduled(w, jobs, at_ms), **end_parents(w, jobs), **fill_memory(w, at_ms)}
    w.call("TOKENCREATE", "later", "worker")
    w.call("TENANT", "acme", "WEIGHT", 9)
    hand = w.call("RECURRUN", "often")
    seen = golden.jobs(w)
    new = set(seen) - set(jobs)
    assert new - {hand} == {id for id in wanted if id not in jobs}
    for id, state in wanted.items():
        assert seen[id]["state"] == state, f"{state} was expected: {seen[id]}"
    untouched = {id: job for id, job in jobs.items() if id not in wanted and not job["replacing"]}
    assert len(untouched) > len(jobs) // 2
    same_jobs(untouched, {id: seen[id] for id in untouched})
    return seen


# ---- Tests ----


def test_it_is_whole(opened):
    partition = golden.check(opened.at(opened.manifest["at_ms"]).server.data)["partitions"][0]
    assert not differences(opened.manifest["check"], partition)
    assert len(partition["runs"]) == 6 and not partition["damage"] and not partition["run_damage"]


def test_every_job_is_there_and_the_server_writes_on(opened):
    m = opened.manifest
    opened.at(m["at_ms"]).start()
    with opened.wire() as w:
        bulks_end(w)
        same_jobs(m["jobs"], golden.jobs(w))
        same_settings(m, golden.settings(w))
        jobs = write_on(w, m["jobs"], m["at_ms"])
        settings = golden.settings(w)
    opened.server.stop()
    for minutes, end in ((5, opened.server.kill), (10, opened.server.stop)):
        golden.check(opened.server.data)
        opened.at(m["at_ms"] + minutes * MINUTE).start()
        with opened.wire() as w:
            same_jobs(jobs, golden.jobs(w))
            same_settings(settings, golden.settings(w))
        end()


def test_ten_years_later_nothing_that_waited_is_lost(opened):
    m = opened.manifest
    opened.at(m["at_ms"] + 3650 * DAY).start()
    with opened.wire() as w:
        bulks_end(w)
        waited = [job for job in m["jobs"].values() if job["state"] in ("scheduled", "ready")]
        assert len(waited) > len(m["jobs"]) // 2
        for job in waited:
            seen = golden.show(w, job["id"])
            assert seen["state"] in ("scheduled", "ready") and seen["payload"] == job["payload"], (job, seen)
        wait_for(lambda: w.call("QUEUE", "future")["scheduled"] == 0, what="all of them are due")
        left = {job["id"] for job in waited if job["queue"] == "future"}
        while left:
            jobs = w.lease("future", "COUNT", 5, "WAIT", "10s")
            assert jobs, f"{left} do not come"
            for job in jobs:
                w.call("COMPLETE", job["id"], job["token"])
                left.remove(job["id"])
