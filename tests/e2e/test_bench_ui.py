# SPDX-License-Identifier: MIT
"""bench/ui in small: its parts run, without the demands that depend on how fast the machine is."""
import sys

import pytest

from conftest import BUILD, ROOT

sys.path.append(str(ROOT / "bench"))
import dashboards


@pytest.mark.limit(300)
def test_the_parts_run(tmp_path):
    found = dashboards.measure(dashboards.Lab(BUILD, str(tmp_path), 0.001, seconds=2, rounds=1), ("screens", "cost"))
    for demands in found.values():
        for d in demands:
            print(f"{'PASS' if d.ok else 'fail'}  {d.text}: {d.found} (at most: {d.bound})")
    assert len(found["screens"]) == len(dashboards.requests()) and len(found["cost"]) == 2
