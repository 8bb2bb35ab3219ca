# SPDX-License-Identifier: MIT
"""No request holds up others, whatever it asks for: bench/worst in small, or whole with BELFRY_LONG=1. And a tenant is
served as promised while another one and strangers do their worst: tests/soak/siege, ten minutes with BELFRY_LONG=1."""
import json
import subprocess
import sys

import pytest

from conftest import BUILD, ENV, LONG, ROOT

sys.path.append(str(ROOT / "tests/soak"))
SECONDS = 600 if LONG else 12
ONLY_TIMES = 3  # what tests/soak/siege answers if nothing but times was wrong


def run(*command, timeout):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                          env={**ENV, "BELFRY_BUILD": str(BUILD)})
    print(done.stdout, done.stderr)
    return done


@pytest.mark.quiet
@pytest.mark.limit(3000 if LONG else 180)
def test_no_request_holds_the_loop(tmp_path):
    """Up to three tries of each request, of which the best counts."""
    done = run(ROOT / "bench/worst", *(() if LONG else ("--quick",)), "--out", tmp_path, "--scratch", tmp_path, timeout=2900)
    assert done.returncode == 0, done.stderr[-6000:]
    assert "above 50 ms" in (tmp_path / "worst.md").read_text()


@pytest.mark.quiet
@pytest.mark.limit(3 * SECONDS + 300)
def test_a_siege_takes_nothing_from_another_tenant():
    for _ in range(3):
        done = run(ROOT / "tests/soak/siege", "--seconds", SECONDS, timeout=SECONDS + 120)
        if done.returncode != ONLY_TIMES:
            break
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def report(tmp_path, worker=None, pinger=None, rss=50 << 20):
    """What a siege of ten seconds makes of these reports."""
    import importlib.machinery
    import importlib.util
    loader = importlib.machinery.SourceFileLoader("siege", str(ROOT / "tests/soak/siege"))
    siege = importlib.util.module_from_spec(importlib.util.spec_from_loader("siege", loader))
    loader.exec_module(siege)
    fine = {"jobs": 10, "extends": 50, "interrupted": 0, "late_ms": [5] * 10, "slow_ms": [1], "complaints": []}
    pings = {"pings_ms": [1.0] * 500, "connects_ms": [5.0] * 10, "complaints": []}
    (tmp_path / "worker").write_text(json.dumps([{**fine, **(worker or {})}]))
    (tmp_path / "pinger").write_text(json.dumps([{**pings, **(pinger or {})}]))
    for i in range(siege.PARTIES):
        (tmp_path / f"attacks{i}").write_text(json.dumps({"C1": {"rounds": 1, "broken": 0, "refused": {}}}))
    s = siege.Siege(tmp_path, 10)
    s.rss = [rss]
    s.judge()
    return s.complaints + s.timing


def test_a_siege_without_complaints(tmp_path):
    assert report(tmp_path) == []


@pytest.mark.parametrize("text, seen", [
    ("PING, p99: 60.0 ms", {"pinger": {"pings_ms": [1.0] * 480 + [60.0] * 20}}),
    ("lateness of 2 jobs, worst: 1001.0 ms", {"worker": {"late_ms": [3, 1001]}}),
    ("the lease was lost", {"worker": {"complaints": ["good1: EXTEND was answered STALE: the lease was lost"]}}),
    ("resident memory: 113.0 MiB", {"rss": 113 << 20}),
    ("only 1 jobs were done", {"worker": {"jobs": 1}}),
    ("only 20 pings", {"pinger": {"pings_ms": [1.0] * 20}}),
    ("with a right token was refused", {"pinger": {"complaints": ["a new connection with a right token was refused: BUSY"]}}),
])
def test_a_siege_sees_what_must_not_be(tmp_path, text, seen):
    complaints = report(tmp_path, **seen)
    assert len(complaints) == 1 and text in complaints[0], complaints
