# SPDX-License-Identifier: MIT
"""METRICS: what Prometheus reads, by Prometheus's own checker."""
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: scripts/setup test")


def series(text):
    return dict(re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.M))


def test_promtool_accepts_them(make_server):
    server = make_server()
    with server.wire() as w:
        for i in range(3):
            w.call("SCHEDULE", "mail", "x", "TENANT", f"t{i}")
        job, = w.lease("mail", "TENANT", "t1")
        w.call("COMPLETE", job["id"], job["token"])
        text = w.call("METRICS")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stdout + checked.stderr
    found = series(text)
    assert found['belfry_jobs{tenant="t0",queue="mail",state="ready"}'] == "1"
    assert found['belfry_jobs{tenant="t1",queue="mail",state="done"}'] == "1"
    assert found['belfry_jobs_succeeded_total{tenant="t1",queue="mail"}'] == "1"
    assert found['belfry_lateness_seconds_count{tenant="t1",queue="mail"}'] == "1"
    assert found['belfry_lateness_seconds_bucket{tenant="t1",queue="mail",le="+Inf"}'] == "1"
    assert int(found["belfry_journal_commits_total"]) > 0
    assert int(found["belfry_commit_seconds_count"]) > 0


def test_their_number_is_bounded(make_server):
    server = make_server()
    with server.wire() as w:
        w.pipeline([("SCHEDULE", f"q{i:04}", "x") for i in range(300)])
        text = w.call("METRICS")
        assert w.call("STATS")["ready"] == 300
    found = series(text)
    ready = {name: int(n) for name, n in found.items() if name.startswith("belfry_jobs{") and 'state="ready"' in name}
    assert len(ready) == 101 and sum(ready.values()) == 300
    assert ready['belfry_jobs{tenant="_other",queue="_other",state="ready"}'] == 200
    assert len(text.splitlines()) < 20_000
