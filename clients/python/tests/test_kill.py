# SPDX-License-Identifier: MIT
"""The server is killed under load, again and again. Every acknowledged job is completed once, and every worker is back
within two seconds of the server. BELFRY_LONG=1: 100 workers and ten kills."""

import asyncio
import collections
import logging
import os
import threading
import time
import unittest

import belfry
from server import Server, until

LONG = os.environ.get("BELFRY_LONG", "0") not in ("", "0")
WORKERS = 100 if LONG else 10
KILLS = 10 if LONG else 2
LOAD_S = 3.0 if LONG else 0.8  # between kills
BACK_S = 2.0
logging.getLogger("belfry").setLevel(logging.CRITICAL)


class Kill(unittest.TestCase):
    def test_workers_and_kills(self):
        server = Server().start()
        self.addCleanup(server.stop)
        app = belfry.App(server.url)
        b = app.client
        acknowledged = set()
        completed = collections.Counter()
        outcomes = collections.Counter()
        stop = threading.Event()
        wrong = []

        @app.task(queue="load", backoff="fixed:1ms")
        async def load(n):
            await asyncio.sleep(n % 5 / 1000)

        @app.task(queue="threads", backoff="fixed:1ms")
        def threads(n):
            time.sleep(n % 5 / 1000)

        def ended(attempt, outcome, value):
            outcomes[outcome] += 1
            if outcome == "completed":
                completed[attempt.id] += 1

        workers = [belfry.Worker(app, concurrency=5, lease="4s", name=f"w{n}", ended=ended) for n in range(WORKERS)]

        async def serve():
            await asyncio.gather(*(worker.serve() for worker in workers))

        def produce():
            n = 0
            while not stop.is_set():
                try:
                    items = [(load if n % 2 else threads).item(n + i, in_=(n + i) % 50 / 1000) for i in range(10)]
                    acknowledged.update(one.id for one in b.batch(items))
                except (belfry.ConnectionLostError, belfry.UnreachableError):
                    pass
                except Exception as error:
                    wrong.append(error)
                n += 11
                time.sleep(0.005)

        running = [threading.Thread(target=lambda: asyncio.run(serve())), *(threading.Thread(target=produce) for _ in "ab")]
        for thread in running:
            thread.start()
        backs = []
        try:
            for kill in range(KILLS):
                time.sleep(LOAD_S)
                server.kill()
                until(lambda: all(worker._leases.id is None for worker in workers))
                time.sleep(0.5 * (kill % 2))
                server.start()
                up = time.monotonic()
                until(lambda: all(worker._leases.id is not None for worker in workers), "every worker is back")
                backs.append(time.monotonic() - up)
            time.sleep(LOAD_S)
            stop.set()
            until(lambda: acknowledged <= set(completed), "every acknowledged job is completed", 60)
        finally:
            stop.set()
            for worker in workers:
                worker.stop()
            for thread in running:
                thread.join(60)
        self.assertEqual(wrong, [])
        self.assertGreater(len(acknowledged), 200)
        self.assertEqual({id: times for id, times in completed.items() if times != 1}, {})
        self.assertGreater(max(backs), 0)
        self.assertLess(max(backs), BACK_S)
        counts = [b.queue_settings(name) for name in ("load", "threads")]
        self.assertEqual(sum(one.done for one in counts), len(completed))
        self.assertEqual([one.ready + one.scheduled + one.leased + one.dead for one in counts], [0, 0])
        print(f"{len(acknowledged)} jobs acknowledged, {dict(outcomes)}, back after {[round(back, 2) for back in backs]} s")


if __name__ == "__main__":
    unittest.main()
