# SPDX-License-Identifier: MIT
"""METRICS: what Prometheus reads, by Prometheus's own checker."""
import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest

from conftest import wait_for

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


def test_prometheus_scrapes_them(make_server, tmp_path):
    """Prometheus itself reads /metrics, and a query for lateness gives a number."""
    server = make_server()
    with server.wire() as w:
        for i in range(20):
            w.call("SCHEDULE", "mail", "x")
            job, = w.lease("mail")
            w.call("COMPLETE", job["id"], job["token"])
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = tmp_path / "prometheus.yml"
    config.write_text("scrape_configs:\n- job_name: belfry\n  scrape_interval: 1s\n  static_configs:\n"
                      f"  - targets: ['127.0.0.1:{server.port}']\n")
    process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb",
                                f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])
    try:
        query = urllib.parse.quote("histogram_quantile(0.99, sum by (le) (belfry_lateness_seconds_bucket))")
        found = wait_for(lambda: asked(f"http://127.0.0.1:{port}/api/v1/query?query={query}"), timeout=60)
        assert 0 <= float(found[0]["value"][1]) < 60, found
    finally:
        process.kill()
        process.wait()


def asked(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return None


def test_their_number_is_bounded(make_server):
    server = make_server()
    with server.wire() as w:
        w.pipeline([("SCHEDULE", f"q{i:04}", "x") for i in range(300)])
        text = w.call("METRICS")
        assert w.call("STATS")["ready"] == 300
    found = series(text)
    ready = {name: int(n) for name, n in found.items() if name.startswith("belfry_jobs{") and 'state="ready"' in name}
    assert len(ready) == 101 and sum(ready.values()) == 300
    assert ready['belfry_jobs{tenant="~other",queue="~other",state="ready"}'] == 200
    assert len(text.splitlines()) < 20_000
