# SPDX-License-Identifier: MIT
"""contrib/: alerts and the dashboard are about figures that there are."""
import json
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

ALERTS = ROOT / "contrib/prometheus/alerts.yml"
DASHBOARD = ROOT / "contrib/grafana/belfry.json"
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: scripts/setup test")


def figures(server):
    """The names of all series, and of the labels of each."""
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x")
        job, = w.lease("q")
        w.call("COMPLETE", id, job["token"])
        text = w.call("METRICS")
    out = {}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", text, re.M):
        out.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return out


def check(expr, known):
    names = set(re.findall(r"\b(?:belfry|process)_\w+", expr))
    for name in names:
        assert name in known, f"{name} is not in METRICS: {expr}"
    for name, selector in re.findall(r"\b((?:belfry|process)_\w+)\{([^}]*)\}", expr):
        for label in re.findall(r"(\w+)\s*[=!]", selector):
            assert label in known[name] | {"instance", "job"}, f"{name} has no label {label}: {expr}"
    return names


def test_every_figure_of_the_alerts_exists(server):
    known = figures(server)
    exprs = re.findall(r"expr: (?:\|\n)?((?:.*\n)(?:      .*\n)*)", ALERTS.read_text())
    assert len(exprs) >= 10
    named = set()
    for expr in exprs:
        used = check(expr, known)
        assert used or "up{" in expr, expr
        named |= used
    assert {"belfry_jobs_dead_total", "belfry_jobs_stalled_total", "belfry_lateness_seconds_bucket",
            "belfry_disk_free_bytes", "belfry_memory_bytes"} <= named


def test_every_figure_of_the_dashboard_exists(server):
    known = figures(server)
    board = json.loads(DASHBOARD.read_text())
    named, ids = set(), [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        assert panel["type"] in ("row", "stat", "timeseries")
        for target in panel.get("targets", []):
            used = check(target["expr"], known)
            assert used, target
            named |= used
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            check(variable["definition"], known)
    assert {"belfry_jobs", "belfry_lateness_seconds_bucket", "belfry_jobs_failed_total", "belfry_jobs_dead_total",
            "belfry_memory_bytes", "belfry_disk_free_bytes", "belfry_commit_seconds_bucket"} <= named


def test_panels_do_not_overlap():
    places = [p["gridPos"] for p in json.loads(DASHBOARD.read_text())["panels"]]
    taken = set()
    for g in places:
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not cells & taken and g["x"] + g["w"] <= 24, g
        taken |= cells


@needs_promtool
def test_promtool_accepts_every_expression_of_the_dashboard(tmp_path):
    exprs = [t["expr"].replace("$__rate_interval", "5m") for p in json.loads(DASHBOARD.read_text())["panels"]
             for t in p.get("targets", [])]
    rules = tmp_path / "rules.yml"
    rules.write_text(json.dumps({"groups": [{"name": "g", "rules": [
        {"record": f"r{i}", "expr": e} for i, e in enumerate(exprs)]}]}))
    done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_accepts_the_alerts_and_their_tests():
    for command in ("check", "test"):
        path = ALERTS if command == "check" else ALERTS.with_name("alerts_test.yml")
        done = subprocess.run(["promtool", command, "rules", path.name], cwd=path.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_unit_has_limits_and_leaves_no_core():
    unit = (ROOT / "contrib/systemd/belfryd.service").read_text().splitlines()
    assert "LimitCORE=0" in unit
    assert {"MemoryMax", "TasksMax", "LimitNOFILE"} <= {line.split("=")[0] for line in unit}
