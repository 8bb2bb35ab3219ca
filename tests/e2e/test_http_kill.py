# SPDX-License-Identifier: MIT
"""What was answered over HTTP is there after kill -9."""
import http.client
import os
import threading
import time

import pytest

from conftest import LONG, wait_for
from web import Web

ROUNDS = int(os.environ.get("BELFRY_ROUNDS", 20 if LONG else 3))


class Player(threading.Thread):
    """Schedules, takes and completes over one connection until that ends; notes what was answered."""

    def __init__(self, port, name):
        super().__init__(daemon=True)
        self.port, self.prefix = port, name
        self.made, self.done, self.asked = {}, set(), set()
        self.start()

    def run(self):
        n = 0
        try:
            with Web(self.port) as w:
                while True:
                    payload = f"{self.prefix}-{n}"
                    n += 1
                    body = {"queue": "kill", "payload": payload, "key": payload, "retain": "1h"}
                    answer = w.ask("POST", "/v1/jobs", body, {} if n % 2 else {"X-Nothing": "1"})
                    assert answer.status == 201, answer
                    self.made[answer.json["id"]] = payload
                    if n % 3 == 0:
                        for job in w.post("/v1/leases", {"queues": "kill", "count": 2, "for": "1h"})["jobs"]:
                            self.asked.add(job["id"])
                            assert w.ask("POST", f"/v1/jobs/{job['id']}/complete", {"token": job["token"]}).status == 204
                            self.done.add(job["id"])
        except (OSError, http.client.HTTPException):
            pass


@pytest.mark.limit(120 + 20 * ROUNDS)
def test_nothing_answered_over_http_is_lost_by_kill_9(make_server):
    server = make_server(segment_size="64KiB")
    made, done, asked = {}, set(), set()
    for number in range(ROUNDS):
        players = [Player(server.port, f"r{number}p{i}") for i in range(6)]
        time.sleep(0.7)
        wait_for(lambda: sum(len(p.made) for p in players) > 30 and sum(len(p.done) for p in players) > 10,
                 what="enough happened in this round")
        server.kill()
        for p in players:
            p.join(60)
            assert not p.is_alive(), "a client hangs"
            made.update(p.made)
            done |= p.done
            asked |= p.asked
        server.start(sync_delay=("0ms", "10ms")[number % 2])
        with Web(server.port) as w:
            for id, payload in made.items():
                job = w.get(f"/v1/jobs/{id}")
                assert job["payload"] == payload
                if id in done:
                    assert job["state"] == "done", f"completed, but {job}"
                elif id not in asked:
                    assert job["state"] in ("ready", "leased", "scheduled"), job
    assert len(made) > 30 * ROUNDS and len(done) > 10 * ROUNDS, "too little happened to show anything"
