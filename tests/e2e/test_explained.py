# SPDX-License-Identifier: MIT
"""What EXPLAIN says of many tenants with odd settings, compared with what happens to their jobs later."""
import contextlib
import random
import threading
import time

import pytest

from wire import Closed, Refused, now_ms

TENANTS = 40


def settings_of(rng):
    """Some of the things that can hold a job, each with an end or with an end that the test makes."""
    has = lambda chance: rng.random() < chance
    return {
        "rate": f"{rng.choice([1, 2, 5, 10])}/{rng.choice([300, 700, 1000])}ms" if has(0.5) else None,
        "tenant_rate": f"{rng.choice([2, 4])}/{rng.choice([500, 900])}ms" if has(0.3) else None,
        "max_running": rng.choice([1, 3]) if has(0.3) else None,
        "paused": has(0.25),
        "tenant_paused": has(0.15),
        "maintenance": rng.choice([None, "open", 1500, 2500]) if has(0.4) else None,
        "quiet": has(0.2),
        "order": has(0.3), "after": has(0.3), "priority": has(0.3), "slow": has(0.3),
    }


def apply(w, tenant, s, now):
    options = [o for name in ("rate", "max_running") if s[name] for o in (name, s[name])]
    w.call("QUEUE", "q", "LEASE", "60s", "TENANT", tenant, *options)
    options = ["RATE", s["tenant_rate"]] if s["tenant_rate"] else []
    options += ["PAUSED", "yes"] if s["tenant_paused"] else []
    if s["maintenance"] == "open":
        options += ["MAINTENANCE", "yes"]
    elif s["maintenance"]:
        options += ["MAINTENANCE", "yes", "UNTIL", now + s["maintenance"]]
    if s["quiet"]:
        hour = time.gmtime().tm_hour
        options += ["QUIET", f"{(hour - 1) % 24:02d}:00-{(hour + 2) % 24:02d}:00", "TZ", "UTC"]
    if options:
        w.call("TENANT", tenant, *options)
    if s["paused"]:
        w.call("PAUSE", "q", "TENANT", tenant)


def schedule(w, rng, tenant, s):
    jobs = []
    for k in range(rng.choice([1, 3, 8])):
        words = ["SCHEDULE", "q", ("slow" if s["slow"] else "quick") + str(k), "TENANT", tenant]
        words += ["IN", f"{rng.choice([300, 1000, 2000])}ms"] if rng.random() < 0.5 else []
        words += ["ORDER", rng.choice("ab")] if s["order"] else []
        words += ["AFTER", jobs[-1]["id"]] if s["after"] and jobs and rng.random() < 0.5 else []
        words += ["PRIORITY", rng.randint(1, 5)] if s["priority"] else []
        words += ["NOTIFY", "yes"] if s["quiet"] and rng.random() < 0.5 else []
        words += ["GATES", "pass"] if rng.random() < 0.1 else []
        jobs.append({"id": w.call(*words), "tenant": tenant, "words": words, "settings": s})
    return jobs


class EagerWorker(threading.Thread):
    """Takes all that it may, at once, and has jobs with a slow payload for a while."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ends, self.held = server, False, []
        self.start()

    def run(self):
        while not self.ends:
            try:
                with self.server.wire(3) as w:
                    while not self.ends:
                        self.turn(w)
            except (OSError, Closed):
                time.sleep(0.02)  # the server is being started

    def turn(self, w):
        jobs = w.call("LEASE", "q", "TENANT", "*", "COUNT", 200, "WAIT", "50ms")
        now = time.monotonic()
        self.held += [(now + (0.15 if job["payload"].startswith("slow") else 0), job) for job in jobs]
        for at, job in [h for h in self.held if h[0] <= now]:
            with contextlib.suppress(Refused):  # the kill may have undone the lease; the job comes again
                w.call("COMPLETE", job["id"], job["token"])
            self.held.remove((at, job))


def reasons(x):
    return [x["reason"], *(c["reason"] for c in x["then"])]


def complaint(x, at, job, start, resumed):
    """Why the answer is wrong, or None."""
    s, passes = job["settings"], "GATES" in job["words"]
    if x["state"] in ("done", "leased"):
        return None
    if start is None:
        return None if s["quiet"] or s["after"] or s["order"] else "it never ran"
    if x["at_ms"] is not None and start < x["at_ms"] - 1:
        return f"it ran {x['at_ms'] - start} ms earlier"
    if len({c["why"] for c in x["then"]} | {x["why"]}) != len(reasons(x)):
        return "a cause is told twice"
    if x["ahead"] is not None and x["ahead"] > x["ahead_most"]:
        return "more are ahead than may be"
    if passes and "maintenance" in reasons(x):
        return "maintenance does not hold it"
    if at >= resumed - 50:
        return None
    for name, reason in (("paused", "paused"), ("tenant_paused", "tenant_paused")):
        if s[name] and reason not in reasons(x):
            return f"{reason} is missing"
    if s["maintenance"] == "open" and not passes and "maintenance" not in reasons(x):
        return "maintenance is missing"
    return None


@pytest.mark.parametrize("seed, memory, kill", [(1, None, True), (2, "16MiB", False)], ids=["kill -9", "on disk"])
def test_what_explain_says_comes_true(make_server, seed, memory, kill):
    rng, server, looks = random.Random(seed), make_server(**({"memory": memory} if memory else {})), []
    with server.wire(3) as w:
        if memory:
            for _ in range(8):
                w.pipeline([("SCHEDULE", "fill", "x" * 400, "IN", "3h")] * 5000)
        worker, now = EagerWorker(server), now_ms()
        tenants = {f"t{i}": settings_of(rng) for i in range(TENANTS)}
        for tenant, s in tenants.items():
            apply(w, tenant, s, now)
        jobs = [job for tenant, s in tenants.items() for job in schedule(w, rng, tenant, s)]
    if kill:
        server.kill()
        server.start()
    with server.wire(3) as w:
        for pause in (0, 0.9, 0.8, 1.3):
            time.sleep(pause)
            looks += [(now_ms(), job, w.call("EXPLAIN", job["id"], "TENANT", job["tenant"])) for job in jobs]
        resumed = now_ms()
        for tenant, s in tenants.items():
            w.call("RESUME", "q", "TENANT", tenant)
            w.call("TENANT", tenant, "PAUSED", "no", *(["MAINTENANCE", "no"] if s["maintenance"] == "open" else []))
        looks += [(now_ms(), job, w.call("EXPLAIN", job["id"], "TENANT", job["tenant"])) for job in jobs]
        end = time.monotonic() + 30
        waits = [job for job in jobs if not any(job["settings"][name] for name in ("quiet", "after", "order"))]
        while time.monotonic() < end and any(
                w.call("GET", job["id"], "TENANT", job["tenant"])["state"] != "done" for job in waits):
            time.sleep(0.2)
        worker.ends = True
        worker.join(10)
        start = {}
        for job in jobs:
            history = w.call("GET", job["id"], "TENANT", job["tenant"])["history"]
            start[job["id"]] = history[0]["start_ms"] if history else None
    wrong = [(why, job["words"], {k: v for k, v in job["settings"].items() if v}, x, start[job["id"]])
             for at, job, x in looks if (why := complaint(x, at, job, start[job["id"]], resumed))]
    known = [x for _, _, x in looks if x["at_ms"] is not None and x["state"] in ("ready", "scheduled")]
    assert not wrong, f"{len(wrong)} of {len(looks)} answers, such as {wrong[0]}"
    assert len(known) > 50, "so few that the test would see no fault"
