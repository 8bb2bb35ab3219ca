# SPDX-License-Identifier: MIT
"""The soak test of tests/soak, short; ten minutes with BELFRY_LONG=1."""
import pathlib
import subprocess

import pytest

from conftest import BUILD, ENV, LONG

SECONDS = 600 if LONG else 20


@pytest.mark.limit(SECONDS + 240)
def test_every_history_is_as_promised():
    script = pathlib.Path(__file__).resolve().parents[1] / "soak" / "run"
    done = subprocess.run([str(script), str(SECONDS)], capture_output=True, text=True, timeout=SECONDS + 220,
                          env={**ENV, "BELFRY_BUILD": str(BUILD)})
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
