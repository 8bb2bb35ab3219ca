# SPDX-License-Identifier: MIT
"""How late jobs are: 10,000 of them over ten seconds, one waiting worker."""
import json

from conftest import belfry


def measure(server):
    done = belfry("bench", "--port", server.port, "--op", "late", "--jobs", 10_000, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads(done.stdout)
    print(result)
    assert result["jobs"] == 10_000
    assert result["early"] == 0 and result["earliest_us"] >= 0
    return result


def test_jobs_are_never_early_and_hardly_late(server):
    """Never early, whatever else the machine does; hardly late in one of three runs, as others may be busy in it."""
    for _ in range(3):
        result = measure(server)
        late, timer = result["late_us"], result["timer_us"]
        if late["p50"] <= 1000 and late["p99"] <= timer["p99"] + 5000:
            return
    assert False, result
