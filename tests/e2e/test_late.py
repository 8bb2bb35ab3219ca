# SPDX-License-Identifier: MIT
"""How late jobs are: 10,000 of them over ten seconds, one waiting worker."""
import json

import pytest

from conftest import belfry, best


@pytest.mark.quiet
def test_jobs_are_never_early_and_hardly_late(server):
    def too_late():
        """By how many µs more than they may be; 0 or less if they are in time."""
        done = belfry("bench", "--port", server.port, "--op", "late", "--jobs", 10_000, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        (result,) = json.loads(done.stdout)
        print(result)
        late, timer = result["late_us"], result["timer_us"]
        assert result["jobs"] == 10_000
        assert result["early"] == 0 and result["earliest_us"] >= 0
        return max(late["p50"] - 1000, late["p99"] - timer["p99"] - 5000)

    best(1, too_late)
