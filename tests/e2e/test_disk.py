# SPDX-License-Identifier: MIT
"""A disk that is full."""
import json
import os
import random
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import LONG, wait_for
from wire import Refused, now_ms

MIB = 1 << 20
DAY = 86_400_000
TORN = re.compile(r"\btorn\b")
LOG_START = 4160  # of a log's first element


@pytest.fixture
def small_disk(tmp_path, request):
    """A file system of 16 MiB, or as large as is asked."""
    size = getattr(request, "param", "16m")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small tmpfs")
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "belfry-test", str(path)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting a tmpfs is not possible here: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)  # the server may still be ending


def fill(w, prefix, most=100_000, size=1000, options=("RETAIN", "0")):
    """Schedules until the server says FULL; answers payload -> id of what it accepted."""
    accepted = {}
    for start in range(0, most, 50):
        names = [f"{prefix}{i}".ljust(size, ".") for i in range(start, start + 50)]
        replies = w.pipeline([("SCHEDULE", "q", name, *options) for name in names])
        refused = [r for r in replies if isinstance(r, Refused)]
        accepted.update((n, r) for n, r in zip(names, replies) if not isinstance(r, Refused))
        assert all(r.code == "FULL" for r in refused), refused[0]
        if len(refused) == len(names):
            return accepted
    raise AssertionError(f"the disk is still not full after {len(accepted)} jobs")


def fill_for_good(w, prefix="", options=("RETAIN", "0")):
    """Likewise, until no room comes of itself any more; answers how many jobs there are."""
    count, refused_for = 0, 0
    while refused_for < 5:
        more = len(fill(w, f"{prefix}{count}-", options=options))
        count += more
        refused_for = 0 if more else refused_for + 1
        time.sleep(0.5)
    return count


def drain(w, timeout=60):
    """Completes all there is; answers the payloads."""
    seen = []
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        jobs = w.lease("q", "COUNT", 200)
        if not jobs:
            return seen
        seen += [job["payload"] for job in jobs]
        replies = w.pipeline([("COMPLETE", job["id"], job["token"]) for job in jobs])
        assert replies == ["OK"] * len(jobs), [r for r in replies if r != "OK"][0]
    raise AssertionError("not drained")


def accepts(w):
    w.send("SCHEDULE", "later", "x")
    reply = w.recv()
    assert not isinstance(reply, Refused) or reply.code == "FULL", reply
    return not isinstance(reply, Refused)


def test_a_full_disk_refuses_jobs_and_completes_the_others(make_server, small_disk):
    server = make_server(data=small_disk / "data", segment_size="1MiB")
    with server.wire() as w:
        first = [w.call("SCHEDULE", "first", i) for i in range(20)]
        held = w.lease("first", "COUNT", 20)
        accepted = fill(w, "a")
        print(f"{len(accepted)} jobs of 1000 bytes on 16 MiB")
        assert len(accepted) > 5000, "most of the disk is for jobs"
        for job in held:
            assert w.call("COMPLETE", job["id"], job["token"]) == "OK"
        assert all(w.call("GET", id)["state"] == "done" for id in first)
        assert w.call("QUEUE", "q")["ready"] == len(accepted), "what was refused was not applied"
        w.send("SCHEDULE", "q", "x")
        said = w.recv()
        assert said.code == "FULL" and "refused" in str(said)
        server.says("at its reserve")
        assert sorted(drain(w)) == sorted(accepted)
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
        wait_for(lambda: len(server.segments()) <= 6, 30, "the segments of the completed ones are gone")
        again = fill(w, "b")
        assert len(again) > 5000, "the space of the completed ones came back"
    server.kill()
    server.start()
    with server.wire() as w:
        assert sorted(drain(w)) == sorted(again)
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
    server.stop()


@pytest.mark.parametrize("small_disk, segment", [("200m", "8MiB"), ("64m", "1MiB")], indirect=["small_disk"])
def test_all_are_answered_when_memory_and_disk_are_both_full(make_server, small_disk, segment):
    """Jobs for a later day, faster than they can go to disk, until it is full: who was made to wait for
    room in memory is heard when there will be none."""
    server = make_server(data=small_disk / "data", segment_size=segment, memory="16MiB")
    with server.wire() as w:
        ids = [w.call("SCHEDULE", "now", i) for i in range(20)]
        held = w.lease("now", "COUNT", 20, "FOR", "1h")
    accepted, refused = [], []

    def add():
        with server.wire(timeout=60) as w:
            for _ in range(400):
                replies = w.pipeline([("SCHEDULE", "q", "x" * 60_000, "IN", "30d")] * 16)
                accepted.extend(r for r in replies if not isinstance(r, Refused))
                refused.extend(r.code for r in replies if isinstance(r, Refused))
                if isinstance(replies[-1], Refused):
                    break
        done.append(True)

    done = []
    threads = [threading.Thread(target=add) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(done) == 8, "everybody got an answer to everything"
    assert set(refused) == {"FULL"}
    with server.wire(timeout=60) as w:
        assert w.pipeline([("COMPLETE", j["id"], j["token"]) for j in held]) == ["OK"] * 20
        assert {w.call("GET", id)["state"] for id in ids} == {"done"}
        assert w.call("QUEUE", "q")["scheduled"] == len(accepted), "what was refused was not applied"


def bulk(w, *words, timeout=60):
    id = w.call("BULK", *words)["id"]
    return wait_for(lambda: next((b for b in w.call("BULKS", "ID", id) if b["state"] != "running"), None), timeout,
                    "the bulk is done")


def test_bulks_that_make_room_work_on_a_full_disk(make_server, small_disk):
    server = make_server(data=small_disk / "data", segment_size="1MiB")
    with server.wire() as w:
        accepted = fill_for_good(w, "a")
        w.send("BULK", "reschedule", "QUEUE", "q", "IN", "1h")
        said = w.recv()
        assert said.code == "FULL" and "reschedule needs room; cancel and delete make some" in str(said)
        assert bulk(w, "redrive", "QUEUE", "q", "DRYRUN", "yes")["matched"] == 0
        assert bulk(w, "cancel", "QUEUE", "q")["changed"] == accepted
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
        wait_for(lambda: len(server.segments()) <= 6, 30, "the segments of the cancelled ones are gone")
        assert len(fill(w, "b")) > 5000, "the space of the cancelled ones came back"


def test_a_bulk_forgets_done_jobs_on_a_full_disk(make_server, small_disk):
    server = make_server(data=small_disk / "data", segment_size="1MiB")
    with server.wire() as w:
        accepted = fill(w, "a", options=("RETAIN", "1d"))
        assert sorted(drain(w)) == sorted(accepted)
        assert not accepts(w), "done jobs are kept"
        assert bulk(w, "delete", "QUEUE", "q", "STATE", "done")["changed"] == len(accepted)
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
        wait_for(lambda: len(server.segments()) <= 6, 30, "the segments of the deleted ones are gone")
        assert len(fill(w, "b")) > 5000, "the space of the deleted ones came back"


@pytest.mark.parametrize("small_disk", ["64m"], indirect=True)
@pytest.mark.parametrize("state, options", [("scheduled", ("IN", "30d")), ("ready", ())])
def test_a_bulk_cancels_jobs_in_runs_on_a_full_disk(make_server, small_disk, state, options):
    """Each comes to memory through the journal, and leaves a grave: the reserve has to do for all of them."""
    server = make_server(data=small_disk / "data", segment_size="1MiB", memory="16MiB")
    with server.wire(timeout=60) as w:
        w.call("QUEUE", "q", "RETAIN", "0")
        count = fill_for_good(w, options=options)
        assert w.call("QUEUE", "q")[state] == count
        assert bulk(w, "cancel", "QUEUE", "q", timeout=120)["changed"] == count
        wait_for(lambda: w.call("STATS")["run_bytes"] < 4 * MIB, 30, "runs without a living job are gone")
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
        again = fill_for_good(w, options=options)
        print(f"{count} jobs, and then {again}")
        assert again > count // 3, "the space of the cancelled ones came back"


def test_a_disk_filled_by_somebody_else(make_server, small_disk):
    server = make_server(data=small_disk / "data", segment_size="1MiB")
    with server.wire() as w:
        before = {}
        for i in range(40):
            names = [f"a{i}-{k}".ljust(1000, ".") for k in range(50)]
            replies = w.pipeline([("SCHEDULE", "q", n, "RETAIN", "0") for n in names])
            before.update(zip(names, replies))
        with open(small_disk / "filler", "wb") as filler:
            try:
                while True:
                    filler.write(b"x" * 65536)
                    filler.flush()
            except OSError:
                pass
        before.update(fill(w, "b"))
        # Everything can be completed in the reserve, and is not forgotten by a kill.
        jobs = w.lease("q", "COUNT", 500)
        assert w.pipeline([("COMPLETE", j["id"], j["token"]) for j in jobs]) == ["OK"] * 500
        server.kill()
        server.start()
    with server.wire() as w:
        for job in jobs:
            del before[job["payload"]]
        assert sorted(drain(w)) == sorted(before)
        (small_disk / "filler").unlink(missing_ok=True)
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
        assert len(fill(w, "c")) > 5000


def test_restarts_on_a_full_disk(make_server, small_disk):
    """Each start needs a little space: it comes from the reserve, which must not run out."""
    server = make_server(data=small_disk / "data", segment_size="1MiB")
    with server.wire() as w:
        accepted = fill(w, "a")
    for i in range(6):
        server.kill() if i % 2 else server.stop()
        server.start()
        with server.wire() as w:
            (job,) = w.lease("q")
            assert w.call("COMPLETE", job["id"], job["token"]) == "OK"
            del accepted[job["payload"]]
    with server.wire() as w:
        assert sorted(drain(w)) == sorted(accepted)
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")


def fill_later(w, at_ms, most=400_000):
    """Jobs of various sizes that are due at a moment, until the server says FULL; answers payloads of those accepted."""
    rng, accepted = random.Random(at_ms), set()
    for start in range(0, most, 50):
        names = [f"job {at_ms} {i}".ljust(rng.choice((200, 1000, 6000)), ".") for i in range(start, start + 50)]
        replies = w.pipeline([("SCHEDULE", "q", name, "AT", at_ms + rng.randrange(2000), "RETAIN", "0")
                              for name in names], timeout=60)
        accepted.update(n for n, r in zip(names, replies) if not isinstance(r, Refused))
        assert all(r.code == "FULL" for r in replies if isinstance(r, Refused)), replies
        if all(isinstance(r, Refused) for r in replies):
            return accepted
    raise AssertionError(f"the disk is still not full after {len(accepted)} jobs")


@pytest.mark.limit(240)
@pytest.mark.parametrize("small_disk, segment, fill_s",
                         [("24m", "64KiB", 8), ("32m", "256KiB", 8), ("40m", "1MiB", 8)]
                         + [("160m", "8MiB", 20), ("440m", "32MiB", 40)] * LONG, indirect=["small_disk"])
def test_a_full_disk_and_kills_with_segments_of_any_size(make_server, small_disk, segment, fill_s):
    """What comes back from disk is written, too, while there is no room for anything new: with any size of a segment
    the server goes on by itself, and answers all the while."""
    server = make_server(data=small_disk / "data", segment_size=segment, memory="16MiB")
    with server.wire(timeout=60) as w:
        due = now_ms() + 1000 * fill_s
        accepted = fill_later(w, due)
    for _ in range(3):
        server.kill()
        server.start()
    seen = set()
    for kills in range(4):  # in the midst of loading
        time.sleep(max(0, (due + 500 * kills - now_ms()) / 1000))
        with server.wire(timeout=20) as w:
            assert w.call("PING") == "PONG"
            for _ in range(3):
                jobs = w.lease("q", "COUNT", 50, "WAIT", "2s")
                assert w.pipeline([("COMPLETE", job["id"], job["token"]) for job in jobs]) == ["OK"] * len(jobs)
                seen.update(job["payload"] for job in jobs)
        server.kill()
        server.start()
    with server.wire(timeout=30) as w:
        end = time.monotonic() + 100
        while not accepted <= seen and time.monotonic() < end:
            jobs = w.lease("q", "COUNT", 100, "WAIT", "1s")
            assert w.pipeline([("COMPLETE", job["id"], job["token"]) for job in jobs]) == ["OK"] * len(jobs)
            seen.update(job["payload"] for job in jobs)
        print(f"{segment}: {len(accepted)} jobs on a full disk, {len(accepted - seen)} not delivered")
        assert accepted <= seen
        wait_for(lambda: accepts(w), 30, "jobs are accepted again")
    server.stop()


def test_sigterm_on_a_disk_without_any_space(make_server, small_disk):
    """Not even the reserve is left: what is under way cannot be written, but the server still ends."""
    server = make_server(data=small_disk / "data", segment_size="1MiB", drain_timeout="1s")
    with server.wire() as w, open(small_disk / "filler", "wb", buffering=0) as filler:
        for spare in wait_for(lambda: list((server.data / "spare").glob("[0-9]*")), what="spares"):
            spare.unlink()
        with pytest.raises(OSError):
            while True:
                filler.write(b"x" * 4096)
        w.sock.settimeout(2)
        try:
            for i in range(3000):  # more than the current segment holds
                w.send("SCHEDULE", "q", "x" * 1000)
                if isinstance(w.recv(), Refused):
                    break
        except TimeoutError:
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{server.port}/readyz", timeout=10)
            assert refused.value.code == 503 and json.load(refused.value)["code"] == "FULL"
        server.running = False
        server.process.terminate()
        server.process.wait(60)
    (small_disk / "filler").unlink()
    server.start()
    with server.wire() as w:
        assert (w.call("QUEUE", "q") or {"ready": 0})["ready"] >= i
