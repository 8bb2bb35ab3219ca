# SPDX-License-Identifier: MIT
"""Files of the journal that are gone: a start says what is missing and changes nothing, `belfry check` agrees, and
`belfry repair` gets going what is left."""
import os
import re
import shutil
import time

import pytest

from conftest import _factory, belfry, flip, used_end, wait_for
from wire import Refused, encode, now_ms

DAY = 86_400_000
JOBS = 6000
LOG_START = 4160  # of a log's first element


def schedule(w, count):
    """Jobs for later days, most of which go to disk; answers their ids."""
    ids = []
    for start in range(0, count, 500):
        data = b"".join(encode("SCHEDULE", "q", f"job {i}".ljust(3000, "."), "AT", now_ms() + DAY + i * 1000)
                        for i in range(start, start + 500))
        ids += w.exchange(data, 500, timeout=60)
    assert not [id for id in ids if isinstance(id, Refused)]
    return ids


@pytest.fixture(scope="module")
def written(request, tmp_path_factory):
    """Two directories with the same jobs, in many segments and some runs: of a server that was killed, and of one that
    was stopped. Each has one commit more, of a single job."""
    base = tmp_path_factory.mktemp("written")
    make, finish = _factory(request, base)
    server = make("killed", memory="16MiB", segment_size="64KiB")
    with server.wire(timeout=60) as w:
        ids = schedule(w, JOBS)
        wait_for(lambda: w.call("STATS")["cold_jobs"] > JOBS // 3, 60, "jobs have gone to disk")
        last = w.call("SCHEDULE", "q", "the last", "IN", "1h")
    server.kill()
    shutil.copytree(server.data, base / "killed.data")
    server.start()
    server.stop()
    shutil.copytree(server.data, base / "stopped.data")
    finish()
    yield {"killed": base / "killed.data", "stopped": base / "stopped.data", "ids": ids + [last]}
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def directory(make_server, written):
    """A server that is not running, on a copy of one of them."""
    def copy(which):
        server = make_server(start=False, memory="16MiB", segment_size="64KiB")
        shutil.copytree(written[which], server.data)
        return server
    return copy


def files(server):
    """All logs with what is in them, as (name, size, time of the last change)."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in (server.data / "logs").rglob("*.log")}


def runs(server):
    return sorted((server.data / "logs/p0000/run").glob("*.log"))


def expect_refused(server, said):
    """Each try says the same, changes nothing, and check agrees."""
    before = files(server)
    for _ in range(2):
        code, log = server.refused()
        assert code != 0 and re.search(said, log), log
        assert "belfry repair" in log
        assert files(server) == before, "a start that is refused leaves everything as it is"
    done = belfry("check", server.data)
    assert done.returncode == 2 and "a server will not start" in done.stdout, done.stdout + done.stderr
    assert "DAMAGE" in done.stdout
    return done.stdout


def expect_repaired(server, ids):
    """Repair keeps what is left, says what is lost, and a server goes on; answers how many jobs there are."""
    strays = len(runs(server))
    done = belfry("repair", server.data)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    print(done.stdout)
    kept = [path for path in (server.data / "damaged").glob("*run*")] if (server.data / "damaged").exists() else []
    assert len(runs(server)) + len(kept) == strays, "no run is thrown away"
    assert "will not start" not in belfry("check", server.data).stdout
    server.start()
    with server.wire(timeout=60) as w:
        there = [job for job in w.pipeline([("GET", id) for id in ids], timeout=60) if job and not isinstance(job, Refused)]
        new = w.call("SCHEDULE", "new", "x")
        (job,) = w.lease("new")
        assert job["id"] == new
    server.stop()
    server.start()
    server.stop()
    return len(there), int(job["token"]) >> 40, done.stdout


def cut(server, how):
    segments = server.segments()
    assert len(segments) >= 12 and len(runs(server)) >= 2
    if how.startswith("first"):
        n = {"first 2": 2, "first half": len(segments) // 2, "first all but one": len(segments) - 1}[how]
        for path in segments[:n]:
            path.unlink()
        first = "|".join(str(int(path.stem)) for path in segments[:2])  # the first may have been about to go
        return rf"segment ({first}) is missing: the journal begins with it"
    if how == "last":
        segments[-1].unlink()
        return rf"segment {int(segments[-1].stem)} is missing: the journal goes on to segment {int(segments[-1].stem)}"
    if how == "last truncated":
        os.truncate(segments[-1], 100)
        return rf"segment {int(segments[-1].stem)} has no whole commit, though it had one"
    if how == "all":
        for path in segments:
            path.unlink()
    else:
        shutil.rmtree(segments[0].parent)
    return r"the journal is missing"


@pytest.mark.parametrize("which", ["killed", "stopped"])
@pytest.mark.parametrize("how", ["first 2", "first half", "first all but one", "last", "last truncated", "all",
                                 "directory"])
def test_missing_segments_are_refused_and_repaired(directory, written, which, how):
    server = directory(which)
    said = cut(server, how)
    shown = expect_refused(server, said)
    assert "missing" in shown or "commit 0 is lost" in shown
    left, _, told = expect_repaired(server, written["ids"])
    print(f"{how}: {left} of {len(written['ids'])} jobs are left")
    assert left < len(written["ids"]) or how == "first 2", "all of the first ones may be in runs by now"
    assert "What a lost commit can mean" in told
    assert left > 0 or how in ("all", "directory", "first all but one")


@pytest.mark.parametrize("which", ["killed", "stopped"])
@pytest.mark.parametrize("what", ["record", "directory"])
def test_without_its_owner_record_a_journal_is_refused(directory, written, which, what):
    server = directory(which)
    record = server.data / "records/p0000+owner"
    shutil.rmtree(record.parent) if what == "directory" else record.unlink()
    shown = belfry("check", server.data)
    assert shown.returncode == 2, shown
    assert "tokens would be given twice" in expect_refused(server, r"record p0000/owner is missing, though there is")
    left, epoch, _ = expect_repaired(server, written["ids"])
    assert left == len(written["ids"]), "nothing of the journal is lost"
    assert epoch > 500, "no token is given twice"


def test_an_old_owner_record_is_refused_however_often_it_is_tried(directory, written):
    server = directory("killed")
    record = server.data / "records/p0000+owner"
    old = record.read_bytes()
    for _ in range(3):
        server.start()
        with server.wire() as w:
            w.call("SCHEDULE", "q", "newer", "IN", "1h")
        server.stop()
    record.write_bytes(old)
    for _ in range(3):
        expect_refused(server, r"segment \d+ is missing|record p0000/owner is older than the journal")
    left, _, _ = expect_repaired(server, written["ids"])
    assert left == len(written["ids"])


def rests(w):
    """Whether the server has no work of its own: it writes nothing for a moment."""
    before = w.call("STATS")["commits"]
    time.sleep(0.3)
    return w.call("STATS")["commits"] == before


def end_of(path, payload):
    """Where the commit ends that has this payload, if it is the last; else None. Sixteen zeros are written behind the
    last commit. What is further behind may be of an earlier use of the file."""
    data = path.read_bytes()
    at = data.rfind(payload)
    end = data.find(bytes(16), at)
    return end if at >= 0 and 0 <= end < at + 200 else None


def schedule_last(server, stop):
    """A job in the last commit of a server that was stopped or killed: its id, the segment, where the commit ends. The
    job may make the server reclaim, and so write behind it: then another is tried."""
    for i in range(20):
        payload = f"the very last of try {i:02}"
        server.start()
        with server.wire() as w:
            wait_for(lambda: rests(w), 30, "the journal is reclaimed")
            last = w.call("SCHEDULE", "q", payload, "IN", "1h")
        stop()
        victim = server.segments()[-1]
        end = end_of(victim, payload.encode())
        if end:
            return last, victim, end
    raise AssertionError("there is always a commit behind the last job's")


@pytest.mark.parametrize("how", ["flip", "cut"])
def test_the_last_commit_after_a_clean_stop_cannot_be_torn(directory, written, how):
    server = directory("stopped")
    last, victim, end = schedule_last(server, server.stop)
    flip(victim, end - 20) if how == "flip" else os.truncate(victim, end - 40)
    shown = expect_refused(server, rf"when it was closed; damage at \S*{victim.name}: offset \d+")
    assert re.search(rf"{victim.name}: offset \d+, \d+ bytes: .*; commits? [\d to]+ (is|are) lost", shown), shown
    left, _, _ = expect_repaired(server, written["ids"])
    assert left == len(written["ids"])
    server.start()
    with server.wire() as w:
        assert w.call("GET", last) is None


def test_a_bad_last_commit_after_a_kill_is_told_as_what_it_may_be(directory, written):
    server = directory("killed")
    _, victim, end = schedule_last(server, server.kill)
    flip(victim, end - 20)
    done = belfry("check", server.data)
    assert done.returncode == 0 and "torn end" in done.stdout and "or is damaged" in done.stdout, done.stdout
    server.start()
    line = next(s for s in server.log(this_run=True).splitlines() if "torn" in s)
    assert "never acknowledged" not in line and "or it is damaged and was" in line, line


def test_a_directory_whose_last_bytes_are_no_commit_after_a_clean_stop_is_whole(directory, written):
    server = directory("stopped")
    victim = server.segments()[-1]
    with open(victim, "r+b") as f:
        f.seek((used_end(victim) + 7) // 8 * 8 + 8)
        f.write(b"\x40")
    assert belfry("check", server.data).returncode == 0
    server.start()
    with server.wire(timeout=60) as w:
        assert all(w.pipeline([("GET", id) for id in written["ids"]], timeout=60))
