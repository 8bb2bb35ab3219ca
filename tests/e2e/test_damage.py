# SPDX-License-Identifier: MIT
"""A disk that has changed what was written: it is found, named and repaired."""
import json
import os
import random
import re
import threading

import pytest

from conftest import belfry, flip, used_end, wait_for
from wire import Refused, encode, now_ms

DAY = 86_400_000
TORN = re.compile(r"\btorn\b")
LOG_START = 4160  # of a log's first element


# ---- The journal ----

@pytest.fixture
def filled(make_server):
    """A stopped server's directory with 300 jobs, each a commit of its own, over several segments."""
    server = make_server(segment_size="64KiB")
    with server.wire() as w:
        ids = [w.call("SCHEDULE", "q", f"job {i}".ljust(1000, "."), "IN", "1h") for i in range(300)]
    server.stop()
    assert len(server.segments()) >= 4
    return server, ids


def present(server, ids):
    with server.wire() as w:
        return [id for id, job in zip(ids, w.pipeline([("GET", id) for id in ids])) if job]


def names_place(text, path):
    return path.name in text and re.search(r"offset \d+", text)


def test_check_of_a_good_directory(filled):
    server, ids = filled
    done = belfry("check", server.data)
    assert done.returncode == 0, done.stdout + done.stderr
    server.start()
    assert present(server, ids) == ids
    server.kill()
    assert belfry("check", server.data).returncode == 0


def test_check_of_what_is_no_data_directory(tmp_path):
    done = belfry("check", tmp_path / "nowhere")
    assert done.returncode not in (0,) and "nowhere" in done.stdout + done.stderr


def test_damage_in_an_old_segment_is_refused_named_and_repaired(filled):
    server, ids = filled
    victim = server.segments()[1]
    flip(victim, LOG_START + (used_end(victim) - LOG_START) // 2)
    code, said = server.refused()
    assert code != 0 and names_place(said, victim), said
    code, said = server.refused()  # and nothing was changed by trying
    assert code != 0 and names_place(said, victim), said
    done = belfry("check", server.data)
    assert done.returncode == 2 and names_place(done.stdout + done.stderr, victim), done
    done = belfry("repair", server.data)
    assert done.returncode == 0, done.stdout + done.stderr
    assert belfry("check", server.data).returncode == 0
    server.start()
    left = present(server, ids)
    assert len(left) >= len(ids) - 1, f"{len(ids) - len(left)} jobs went with one damaged commit"
    with server.wire() as w:
        assert w.call("SCHEDULE", "q", "after")
    server.restart()
    assert present(server, ids) == left


def test_a_damaged_header_of_a_segment(filled):
    server, ids = filled
    victim = server.segments()[1]
    flip(victim, 20)
    code, said = server.refused()
    if code != 0:
        assert victim.name in said, said
        assert belfry("check", server.data).returncode == 2
        assert belfry("repair", server.data).returncode == 0
    server.kill()
    server.start()
    assert present(server, ids) == ids, "the header is there twice"


def test_a_missing_old_segment_is_refused(filled):
    server, _ = filled
    victim = server.segments()[1]
    victim.unlink()
    code, said = server.refused()
    assert code != 0 and f"segment {int(victim.stem)} is missing" in said, said


def test_the_last_commit_of_an_old_segment_cannot_vanish(filled):
    """At the end of the newest file that would be a torn tail; here it is damage."""
    server, _ = filled
    victim = server.segments()[1]
    flip(victim, used_end(victim) - 100)
    code, said = server.refused()
    assert code != 0 and victim.name in said, said
    assert belfry("check", server.data).returncode == 2


@pytest.mark.parametrize("how", ["flip", "truncate", "half"])
def test_a_torn_last_commit_is_reported_and_cut(make_server, how):
    server = make_server(segment_size="1MiB")
    with server.wire() as w:
        ids = [w.call("SCHEDULE", "q", f"job {i}".ljust(500, "."), "IN", "1h") for i in range(100)]
    server.kill()
    last = server.segments()[-1]
    end = used_end(last)
    if how == "flip":
        flip(last, end - 50)
    elif how == "truncate":
        os.truncate(last, end - 100)
    else:
        with open(last, "r+b") as f:
            f.seek(end - 200)
            f.write(b"\0" * 200)
    server.start()
    said = server.log(this_run=True)
    line = next((s for s in said.splitlines() if TORN.search(s)), "")
    assert names_place(line, last) or (last.name in line and re.search(r"offset\W+\d+", line)), said
    left = present(server, ids)
    assert left in (ids[:-1], ids), f"{100 - len(left)} jobs are gone"
    with server.wire() as w:
        more = [w.call("SCHEDULE", "q", "more", "IN", "1h") for _ in range(10)]
    server.kill()
    server.start()
    assert not TORN.search(server.log(this_run=True))
    assert present(server, left + more) == left + more


# ---- Runs ----

def schedule_cold(w, count, first=0):
    """Jobs that go to disk; answers id -> payload. Every fifth has a key."""
    rng, start, jobs = random.Random(first + 1), now_ms() + DAY, {}
    for i in range(first, first + count, 2000):
        names = [f"job {k}".ljust(400, ".") for k in range(i, i + 2000)]
        data = b"".join(encode("SCHEDULE", "q", name, "AT", start + rng.randrange(30 * DAY),
                               *(("KEY", name[:12]) if n % 5 == 0 else ())) for n, name in enumerate(names))
        ids = w.exchange(data, len(names), timeout=60)
        jobs.update((id, name) for id, name in zip(ids, names) if not isinstance(id, Refused))
    return jobs


def wait_until_cold(w, more_than):
    last = [None]

    def still():
        s = w.call("STATS")
        last[0], before = (s["cold_jobs"], s["runs"]), last[0]
        return last[0] == before and s["cold_jobs"] > more_than

    wait_for(still, 60, "jobs have gone to disk", step=0.5)


@pytest.fixture
def cold(make_server):
    """A stopped server's directory with most of 40,000 jobs in runs, and the jobs."""
    server = make_server(memory="16MiB")
    with server.wire(timeout=60) as w:
        jobs = schedule_cold(w, 40_000)
        wait_until_cold(w, len(jobs) // 2)
    server.stop()
    return server, jobs


def check_json(server):
    done = belfry("check", server.data, "--json")
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)["partitions"][0]


def run_of(server, family):
    """The largest run of a family, by its key's first letter in the first data block."""
    runs = [path for path in (server.data / "logs/p0000/run").glob("*.log")
            if family in path.read_bytes()[LOG_START + 16:LOG_START + 32]]
    return max(runs, key=lambda path: path.stat().st_size)


def listed(w):
    jobs, cursor = [], None
    while True:
        page = w.call("LIST", "LIMIT", 1000, *(("CURSOR", cursor) if cursor else ()))
        jobs += [job["id"] for job in page["jobs"]]
        cursor = page["cursor"]
        if cursor is None:
            return set(jobs)


def expect_all(w, jobs, ids):
    for id, job in zip(ids, w.pipeline([("GET", id) for id in ids], timeout=60)):
        assert job and not isinstance(job, Refused), f"{id}: {job}"
        assert job["payload"] == jobs[id]


def test_check_reads_the_runs_of_a_good_directory(cold):
    server, jobs = cold
    done = belfry("check", server.data)
    assert done.returncode == 0 and "fine" in done.stdout, done.stdout + done.stderr
    assert re.search(r"scheduled jobs: \d+ runs?, [\d,]+ entries", done.stdout), done.stdout
    code, said = check_json(server)
    assert code == 0 and said["jobs"]["scheduled"] == len(jobs)
    assert said["runs"]["due"]["entries"] > len(jobs) // 2 and said["runs"]["locator"]["entries"] > len(jobs) // 10
    assert belfry("repair", server.data).returncode == 0


def test_a_damaged_block_of_a_run_costs_its_jobs_alone(cold):
    server, jobs = cold
    victim = run_of(server, b"D")
    flip(victim, LOG_START + 5000)
    damaged = victim.read_bytes()
    done = belfry("check", server.data)
    assert done.returncode == 2 and names_place(done.stdout, victim), done.stdout + done.stderr
    assert "a server starts on it" in done.stdout
    code, said = check_json(server)
    (found,) = said["run_damage"]
    lost = found["entries"] - found["readable"]
    assert found["family"] == "due" and found["damaged_blocks"] == 1 and 0 < lost < 200, found

    server.start()
    with server.wire(timeout=60) as w:
        there = listed(w)
        gone = set(jobs) - there
        assert len(gone) == lost and there <= set(jobs)
        # What the block holds of other runs' jobs that are due between its own nobody can tell: those may be refused.
        beside = [id for id in there if min(gone) < id < max(gone)]
        expect_all(w, jobs, random.Random(1).sample(sorted(there - set(beside)), 3000))
        for id, job in zip(beside, w.pipeline([("GET", id) for id in beside])):
            assert job.code == "CORRUPT" if isinstance(job, Refused) else job["payload"] == jobs[id]
        assert len(beside) < len(jobs) // 50
        w.send("GET", min(gone))
        refused = w.recv()
        assert isinstance(refused, Refused) and refused.code == "CORRUPT", refused
        line = next((s for s in server.log(this_run=True).splitlines() if victim.name in s), "")
        assert names_place(line, victim) and "belfry check" in line, server.log(this_run=True)
        assert w.call("SCHEDULE", "q", "more") and w.lease("q")[0]["payload"] == "more"
    assert check_json(server)[1]["run_damage"] == [found], "while a server is running, too"
    server.restart()
    server.stop()
    assert check_json(server)[1]["run_damage"] == [found]

    done = belfry("repair", server.data)
    assert done.returncode == 2 and victim.name in done.stdout and "stays as it is" in done.stdout, done
    assert victim.read_bytes() == damaged and not (server.data / "damaged").exists()
    flip(victim, LOG_START + 5000)  # as if it had come from a backup
    assert belfry("check", server.data).returncode == 0
    server.start()
    with server.wire(timeout=60) as w:
        assert listed(w) >= set(jobs)


@pytest.mark.parametrize("how", ["root", "cut", "header", "locator"])
def test_a_run_that_lost_its_index_is_repaired(cold, how):
    server, jobs = cold
    victim = run_of(server, b"L" if how == "locator" else b"D")
    if how == "cut":
        os.truncate(victim, used_end(victim) - 30)
    else:
        flip(victim, 20 if how == "header" else used_end(victim) - 3)
    code, said = check_json(server)
    (found,) = said["run_damage"]
    assert code == 2 and found["repairable"] and found["entries"] == found["whole_in_file"], found
    server.start()
    with server.wire(timeout=60) as w:  # as far as it goes
        assert w.call("SCHEDULE", "other", "x") and w.call("STATS")["scheduled"] == len(jobs)
    server.stop()
    done = belfry("repair", server.data)
    assert done.returncode == 0 and "nothing is lost" in done.stdout, done.stdout + done.stderr
    assert list((server.data / "damaged").glob(f"*{victim.stem}*"))
    assert belfry("check", server.data).returncode == 0
    server.start()
    with server.wire(timeout=60) as w:
        assert listed(w) >= set(jobs)
        expect_all(w, jobs, random.Random(2).sample(sorted(jobs), 3000))
        for name in random.Random(3).sample(sorted(jobs.values()), 500):
            if int(name[4:].rstrip(".")) % 5 == 0:
                assert w.call("GET", "KEY", name[:12], "QUEUE", "q")["payload"] == name


def test_a_missing_run_is_told_and_the_rest_is_served(cold):
    server, jobs = cold
    victim = run_of(server, b"D")
    victim.unlink()
    done = belfry("check", server.data)
    assert done.returncode == 2 and f"{victim}: the file is missing" in done.stdout, done.stdout + done.stderr
    assert belfry("repair", server.data).returncode == 2
    server.start()
    with server.wire(timeout=60) as w:
        replies = w.pipeline([("GET", id) for id in random.Random(4).sample(sorted(jobs), 3000)], timeout=60)
        there = [job for job in replies if job and not isinstance(job, Refused)]
        assert 0 < len(there) < 3000
        assert all(job["payload"] == jobs[job["id"]] for job in there)
        assert w.call("SCHEDULE", "q", "more") and w.lease("q")[0]["payload"] == "more"
    assert belfry("check", server.data).returncode == 2


@pytest.mark.limit(120)
def test_check_of_runs_that_come_and_go(make_server):
    """A server that feeds and merges removes what is being read: that is no damage."""
    server = make_server(memory="16MiB")
    said = []

    def look():
        while not said or not said[-1].startswith("stop"):
            done = belfry("check", server.data)
            said.append(f"{done.returncode}: {done.stdout}{done.stderr}")
            if done.returncode != 0 or stop.is_set():
                said.append("stop")

    stop = threading.Event()
    looking = threading.Thread(target=look)
    with server.wire(timeout=60) as w:
        looking.start()
        try:
            jobs = schedule_cold(w, 300_000)
            wait_for(lambda: w.call("STATS")["merged_runs"] > 0, timeout=30, what="runs are merged")
        finally:
            stop.set()
            looking.join()
        print(f"{len(said) - 1} checks of {len(jobs)} jobs")
    assert [s for s in said if s != "stop" and not s.startswith("0:")] == []
