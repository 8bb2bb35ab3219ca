# SPDX-License-Identifier: MIT
"""The soak test of tests/soak, short; ten minutes with BELFRY_LONG=1."""
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import BUILD, ENV, LONG

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "soak"))
from checker import Checker  # noqa: E402

SECONDS = 600 if LONG else 20


@pytest.mark.limit(SECONDS + 240)
def test_every_history_is_as_promised():
    script = pathlib.Path(__file__).resolve().parents[1] / "soak" / "run"
    done = subprocess.run([str(script), str(SECONDS)], capture_output=True, text=True, timeout=SECONDS + 220,
                          env={**ENV, "BELFRY_BUILD": str(BUILD)})
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def notes(path, *lines):
    (path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Checker(path, 4)


def job(name, id, t, lane=None, parent=None):
    return [{"e": "schedule", "t": t, "p": name, "q": "mail", "lane": lane, "parent": parent},
            {"e": "scheduled", "t": t + 1, "p": name, "id": id}]


def lease(name, id, t, token, due=0, attempt=1, asked=None, until=None):
    return {"e": "lease", "t": t, "id": id, "token": str(token), "p": name, "q": "mail", "a": attempt, "due": due,
            "until": until or t + 1000, "asked": asked or t - 1}


def completed(id, t, token):
    return [{"e": "complete", "t": t, "id": id, "token": str(token)},
            {"e": "ok", "t": t + 1, "of": "complete", "id": id, "token": str(token), "answer": "OK"}]


A, B = "0" * 25 + "1", "0" * 25 + "2"


@pytest.mark.parametrize("complaint, lines", [
    ("early", [*job("a", A, 1), lease("a", A, 10, 1, due=20)]),
    ("after it had been completed", [*job("a", A, 1), lease("a", A, 10, 1), *completed(A, 11, 1), lease("a", A, 20, 2)]),
    ("after it had been cancelled", [*job("a", A, 1), {"e": "cancel", "t": 5, "id": A},
                                     {"e": "cancelled", "t": 6, "id": A, "outcome": "cancelled"}, lease("a", A, 20, 2)]),
    ("is lost", [*job("a", A, 1)]),
    ("times, 4 are allowed", [*job("a", A, 1), lease("a", A, 10, 1, attempt=5)]),
    ("a token was given twice", [*job("a", A, 1), lease("a", A, 10, 1), lease("a", A, 2000, 1)]),
    ("was done", [*job("a", A, 1), *job("b", B, 3, parent=A), lease("b", B, 10, 1)]),
    ("was out", [*job("a", A, 1, "k"), *job("b", B, 3, "k"), lease("a", A, 10, 1), lease("b", B, 20, 2)]),
    ("had ended", [*job("a", A, 1, "k"), *job("b", B, 3, "k"), lease("b", B, 10, 1), *completed(B, 11, 1),
                   lease("a", A, 20, 2), *completed(A, 21, 2)]),
])
def test_the_checker_sees_what_must_not_be(tmp_path, complaint, lines):
    checker = notes(tmp_path, *lines)
    checker.check_jobs()
    checker.check_parents()
    checker.check_lanes()
    checker.check_ends({B: "done"} if complaint != "is lost" else {})
    assert any(complaint in text for text in checker.complaints), checker.complaints


def test_the_checker_sees_a_gap_in_a_ledger(tmp_path):
    checker = notes(tmp_path)
    entry = {"count": 1, "outcome": "ran", "by_hand": False}
    checker.check_ticks("t", 10, 0, [{**entry, "nominal_ms": 0}, {**entry, "nominal_ms": 20}], 30)
    assert checker.complaints == ["t: 10 is missing"]
    checker.check_ticks("t", 10, 0, [{**entry, "nominal_ms": 0}, {**entry, "nominal_ms": 0}], 0)
    assert "twice" in checker.complaints[1]
