# SPDX-License-Identifier: MIT
"""METRICS: what Prometheus reads, by Prometheus's own checker."""
import json
import re
import shutil
import socket
import subprocess
import time
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


def test_waiting_jobs_have_an_age_and_queues_a_last_success(server):
    with server.wire() as w:
        w.call("SCHEDULE", "old", "x")
        w.call("SCHEDULE", "later", "x", "IN", "1h")
        w.call("SCHEDULE", "done", "x")
        job, = w.lease("done")
        before = time.time()
        w.call("COMPLETE", job["id"], job["token"])
        time.sleep(1.1)
        found = series(w.call("METRICS"))

    def of(name, queue):
        value = found.get(f'belfry_queue_{name}{{tenant="default",queue="{queue}"}}')
        return value and float(value)

    assert 1 <= of("oldest_ready_seconds", "old") < 100
    assert of("oldest_ready_seconds", "later") == of("oldest_ready_seconds", "done") == 0
    assert abs(of("last_success_timestamp_seconds", "done") - before) < 100
    assert of("last_success_timestamp_seconds", "old") is None


def test_occurrences_are_counted_made_skipped_and_missed(make_server):
    server = make_server()
    with server.wire() as w:
        w.call("RECUR", "often", "cron", "x", "EVERY", "100ms")  # OVERLAP skip: the first is never leased
        w.call("RECUR", "late", "cron2", "x", "EVERY", "500ms", "EXPIRE", "1ms", "OVERLAP", "allow")
        wait_for(lambda: (w.call("QUEUE", "cron") or {}).get("total_skipped", 0) > 2)
        found = series(w.call("METRICS"))
        assert found['belfry_jobs_recurred_total{tenant="default",queue="cron"}'] == "1"
        assert int(found['belfry_jobs_skipped_total{tenant="default",queue="cron"}']) > 2
        assert found['belfry_jobs_missed_total{tenant="default",queue="cron"}'] == "0"
    server.stop()
    time.sleep(1)
    server.start()
    with server.wire() as w:  # those of the time in between were not started in time
        wait_for(lambda: (w.call("QUEUE", "cron2") or {}).get("total_missed", 0) > 0)


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
