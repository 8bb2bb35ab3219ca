# SPDX-License-Identifier: MIT
"""docs/http.md is true: its examples run, and its routes are those there are."""
import re
import subprocess

from conftest import ROOT
from web import Web

TEXT = (ROOT / "docs/http.md").read_text()


def test_the_examples_run(server, tmp_path):
    answers = []
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.S):
        script = "set -eu\n" + re.sub(r"^curl -s ", "curl -sS -m 60 -w '\\\\n%{http_code}\\\\n' ", block, flags=re.M)
        script = script.replace("-w '\\n%{http_code}\\n' --json '{\"queues\"", "--json '{\"queues\"")  # goes to a file
        out = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100,
                             env={"B": f"http://127.0.0.1:{server.port}", "PATH": "/usr/bin:/bin"})
        assert out.returncode == 0, out.stderr
        statuses = re.findall(r"^\d{3}$", out.stdout, re.M)
        assert statuses and all(s in ("200", "201", "202", "204") for s in statuses), out.stdout
        answers.append(out.stdout)
    assert len(answers) == 6 and '"state":"done"' in answers[1] and r'{\"sent\":true}' in answers[1]
    assert len(re.findall(r"^\d{3}$", answers[2], re.M)) == 2 and answers[2].count("\n202\n") == 2
    assert len(re.findall(r"^\d{3}$", answers[3], re.M)) == 11
    assert "retry: 1000\nid: 1-" in answers[4] and "event: scheduled\ndata: {" in answers[4]


def test_the_routes_are_all_there(shared_server):
    with Web(shared_server.port) as w:
        api = w.get("/openapi.json")
    table = TEXT[TEXT.index("## Routes"):TEXT.index("## Requests")]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| `")]
    verbs = {word for row in rows for word in re.findall(r"\b[A-Z]{3,}\b", row[2])}
    for path, methods in api["paths"].items():
        for op in methods.values():
            if "x-verb" in op:
                assert op["x-verb"] in verbs, f"{path}: {op['x-verb']} is missing in docs/http.md"
