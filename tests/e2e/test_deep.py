# SPDX-License-Identifier: MIT
"""Many more jobs than memory has room for: the scenarios of bench/deep in small, without the demands that depend on
how fast the machine is; all of it at full scale with BELFRY_LONG=1."""
import pathlib
import sys

import pytest

from conftest import BUILD, LONG, ROOT

sys.path.append(str(ROOT / "bench"))
import scenarios
from harness import MIB

SMALL = 0.01  # 200,000 jobs over months, a herd of 50,000, a backlog of 100,000; 16 MiB of memory


@pytest.fixture
def lab(request, tmp_path_factory):
    base = pathlib.Path("/var/tmp") if LONG else tmp_path_factory.mktemp("deep")
    return scenarios.Lab(BUILD, base, 1.0) if LONG else \
        scenarios.Lab(BUILD, base, SMALL, memory=16 * MIB, herd_lead_s=8, settle_s=1.0)


def judge(demands):
    for d in demands:
        print(f"{'PASS' if d.ok else 'fail' if d.timing and not LONG else 'FAIL'}  {d.text}: {d.found} (demanded: {d.bound})")
    assert len(demands) > 5
    failed = [d for d in demands if not d.ok and (LONG or not d.timing)]
    assert not failed, "\n".join(f"{d.text}: {d.found} (demanded: {d.bound})" for d in failed)


@pytest.mark.limit(1200 if LONG else 180)
@pytest.mark.parametrize("name", ["wide", "herd", "backlog"])
def test_deep(name, lab):
    judge(scenarios.SCENARIOS[name](lab))
