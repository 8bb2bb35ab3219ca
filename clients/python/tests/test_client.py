# SPDX-License-Identifier: MIT
"""Both clients against the real server."""

import asyncio
import datetime as dt
import http.client
import json
import os
import threading
import time
import unittest

import belfry
from belfry import view
from server import Server, until

UTC = dt.timezone.utc


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.addClassCleanup(cls.server.stop)
        cls.b = belfry.Client(cls.server.url)
        cls.addClassCleanup(cls.b.close)

    def lease(self, queue):
        return self.b.call("LEASE", queue, "WAIT", "5s")[0]


class Jobs(WithServer):
    def test_a_job_from_its_schedule_to_its_end(self):
        due = dt.datetime.now(UTC) + dt.timedelta(hours=1)
        made = self.b.schedule("life", {"to": "änn"}, at=due, key="k", tags=["a", "b"], meta={"m": "1"},
                               lease=dt.timedelta(seconds=20), priority=1)
        self.assertEqual((made.created, made.outcome), (True, "created"))
        job = self.b.get(made)
        self.assertEqual((job.state, job.data, job.payload, job.tags, job.meta),
                         ("scheduled", {"to": "änn"}, '{"to":"änn"}'.encode(), ["a", "b"], {"m": "1"}))
        self.assertLess(abs(job.due - due), dt.timedelta(milliseconds=2))
        self.assertEqual(self.b.get({"queue": "life", "key": "k"}).id, made.id)
        self.assertIn("time", self.b.explain(made).why)
        self.b.reschedule(made)
        got = self.lease("life")
        self.assertEqual((got["lease_ms"], got["priority"]), (20000, 1))
        self.b.call("COMPLETE", got["id"], got["token"], "RESULT", "[1, 2]")
        self.assertEqual(self.b.result(made, timeout=5), [1, 2])
        job = self.b.get(made)
        self.assertEqual((job.state, job.history[0].outcome), ("done", "done"))
        self.assertIsInstance(job.ended, dt.datetime)
        self.b.delete(made)
        self.assertIsNone(self.b.get(made))
        with self.assertRaises(belfry.NotFoundError):
            self.b.result(made)

    def test_values_go_through(self):
        for value in ({"a": [1, None, True, "ü"]}, [], "text", 7, 1.5, None, b"\xff\x00raw", b"not json"):
            self.assertEqual(self.b.get(self.b.schedule("values", value, in_="1h")).data, value)
        for value in (object(), float("nan"), {"at": dt.datetime.now(UTC)}, {"b": b""}):
            with self.assertRaisesRegex(TypeError, "^data: "):
                self.b.schedule("values", value)

    def test_keys(self):
        first = self.b.schedule("keys", 1, in_=3600, key="k")
        kept = self.b.schedule("keys", 2, in_=3600, key="k")
        self.assertEqual((kept.id, kept.created, kept.outcome), (first.id, False, "kept"))
        with self.assertRaises(belfry.KeyExistsError) as caught:
            self.b.schedule("keys", 3, key="k", if_exists="reject")
        self.assertEqual((caught.exception.id, caught.exception.code, caught.exception.verb),
                         (first.id, "KEYEXISTS", "SCHEDULE"))
        self.assertEqual(self.b.schedule("keys", 4, in_=3600, key="k", if_exists="replace").outcome, "replaced")
        self.assertEqual(self.b.cancel({"queue": "keys", "key": "k"}), "cancelled")
        with self.assertRaises(belfry.StateError):
            self.b.cancel(first)
        self.assertEqual(self.b.cancel("01" + "0" * 24), "notfound")

    def test_batches(self):
        made = self.b.batch([{"queue": "batch", "data": n, "in_": 60} for n in range(20)])
        self.assertEqual(len({one.id for one in made}), 20)
        with self.assertRaises(belfry.InvalidError):
            self.b.batch([{"queue": "batch"}, {"queue": "bad name"}])
        self.assertEqual(self.b.queue_settings("batch").scheduled, 20)
        many = self.b.batch([{"queue": "bad name" if n == 1500 else "batch2"} for n in range(2100)], mode="each")
        self.assertEqual([n for n, one in enumerate(many) if isinstance(one, belfry.InvalidError)], [1500])
        self.assertEqual(self.b.queue_settings("batch2").ready, 2099)
        self.assertEqual(self.b.batch([]), [])

    def test_lists_have_all_pages(self):
        self.b.batch([{"queue": "pages", "data": n, "in_": 60 + n} for n in range(250)])
        found = list(self.b.list(queue="pages", state=["scheduled", "ready"], limit=100))
        self.assertEqual(len({job.id for job in found}), 250)
        self.assertLess(found[0].due, found[-1].due)
        self.assertEqual(len(self.b.list_page(queue="pages", limit=7).jobs), 7)

    def test_edit_and_clone(self):
        made = self.b.schedule("edit", 1, in_="1h", expire="5m")
        self.b.edit(made, {"n": 2}, priority=1, clear="expire")
        job = self.b.get(made)
        self.assertEqual((job.data, job.priority, job.expires), ({"n": 2}, 1, None))
        self.b.edit(made, tags="t")
        self.assertEqual(self.b.get(made).data, {"n": 2})
        other = self.b.clone(made, queue="edit2", in_=dt.timedelta(hours=2))
        self.assertTrue(other.created)
        self.assertEqual((self.b.get(other).data, self.b.get(other).queue, self.b.get(other).tags), ({"n": 2}, "edit2", ["t"]))

    def test_dead_jobs_come_back(self):
        made = self.b.batch([{"queue": "dead", "attempts": 1} for _ in range(3)])
        for _ in made:
            got = self.lease("dead")
            self.b.call("FAIL", got["id"], got["token"], "ERROR", "no\nluck")
        with self.assertRaisesRegex(belfry.JobEndedError, "is dead: no$") as caught:
            self.b.result(made[0], timeout=5)
        self.assertEqual((caught.exception.state, caught.exception.job.error), ("dead", "no\nluck"))
        self.assertEqual(self.b.redrive(made[0]), 1)
        self.assertEqual(self.b.redrive(queue="dead"), 2)
        with self.assertRaises(TypeError):
            self.b.redrive()

    def test_bulks(self):
        self.b.batch([{"queue": "bulk", "in_": 60, "tags": "x"} for _ in range(5)])
        self.assertEqual(self.b.bulk("cancel", queue="bulk", dry_run=True, wait=True).matched, 5)
        self.assertEqual(self.b.bulk("cancel", queue="bulk", tag="x", wait=True).changed, 5)

    def test_waits_in_one_request(self):
        made = self.b.schedule("wait", 1)
        begun = time.monotonic()
        self.assertEqual(self.b.get(made, wait=0.2).state, "ready")
        self.assertGreaterEqual(time.monotonic() - begun, 0.19)
        with self.assertRaises(TimeoutError):
            self.b.result(made, timeout=0.1)
        before = self.b.stats().commands
        got = self.lease("wait")
        ends = threading.Timer(0.5, lambda: self.b.call("COMPLETE", got["id"], got["token"], "RESULT", b"\xff"))
        ends.start()
        self.assertEqual(self.b.result(made, timeout=10), b"\xff")
        ends.join()
        self.assertLess(self.b.stats().commands - before, 8)  # nobody polled

    def test_recurrences(self):
        rule = {"cron": "30 2 * * *", "tz": "Europe/Berlin"}
        self.assertEqual(self.b.recur("nightly", "report", {"n": 1}, **rule).data, {"n": 1})
        times = self.b.preview(**rule, from_="2027-03-27T00:00:00Z", count=3)
        self.assertEqual(times[0].at, dt.datetime(2027, 3, 27, 1, 30, tzinfo=UTC))
        self.assertIsInstance(self.b.recurrence("nightly").next, dt.datetime)
        self.b.pause_recurrence("nightly")
        self.assertTrue(self.b.recurrence("nightly").paused)
        self.b.resume_recurrence("nightly")
        self.assertEqual(self.b.get(self.b.run_recurrence("nightly")).recurrence, "nightly")
        self.assertEqual([one.name for one in self.b.recurrences()], ["nightly"])
        self.b.delete_recurrence("nightly")
        self.assertIsNone(self.b.recurrence("nightly"))

    def test_queues_and_tenants(self):
        self.assertEqual(self.b.queue_settings("set", lease="5m", attempts=0, max_running=3).lease, dt.timedelta(minutes=5))
        self.b.pause("set")
        self.assertTrue(self.b.queue_settings("set").paused)
        self.b.resume("set")
        self.b.delete_queue("set")
        self.assertIsNone(self.b.queue_settings("set"))
        self.assertEqual(self.b.tenant_settings("acme", weight=3, until=None).weight, 3)
        acme = belfry.Client(self.server.url, tenant="acme")
        made = acme.schedule("own", 1, in_=60)
        self.assertEqual((acme.get(made).tenant, self.b.get(made), self.b.get(made, tenant="acme").id),
                         ("acme", None, made.id))
        self.assertEqual([queue.queue for queue in acme.queues()], ["own"])
        self.assertEqual(acme.stats().scheduled, 1)
        self.assertGreaterEqual({queue.tenant for queue in self.b.queues(tenant="*")}, {"acme", "default"})
        self.assertEqual(sum(step.jobs for step in acme.forecast(step="1h")), 1)
        acme.batch([{"queue": "own2"}])
        self.assertEqual(acme.queue_settings("own2").ready, 1)
        acme.close()

    def test_queues_of_several_pages(self):
        tenant = belfry.Client(self.server.url, tenant="wide")
        tenant.batch([{"queue": f"q{n}"} for n in range(200)], mode="each")
        self.assertEqual(len(list(tenant.queues())), 200)
        tenant.close()

    def test_moments_are_those_of_the_server(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        connection.request("GET", "/openapi.json")
        moments, others = set(), set()
        for schema in json.loads(connection.getresponse().read())["components"]["schemas"].values():
            for name, field in schema.get("properties", {}).items():
                if name.endswith("_ms"):
                    (moments if "since 1970" in field.get("description", "") else others).add(name)
        connection.close()
        self.assertGreater(len(others), 5)
        self.assertEqual(moments, view.MOMENTS)
        self.assertFalse(others & view.MOMENTS)


class Connections(unittest.TestCase):
    def test_a_server_that_goes_and_comes(self):
        server = Server().start()
        self.addCleanup(server.stop)
        b = belfry.Client(server.url, connect_timeout=0.5)
        made = b.schedule("q", 1)
        server.kill()
        with self.assertRaises(belfry.UnreachableError):
            b.get(made)
        waits = []
        thread = threading.Thread(target=lambda: waits.append(patient.get(made)))
        patient = belfry.Client(server.url, connect_timeout=20)
        thread.start()
        time.sleep(0.3)
        server.start()
        thread.join()
        self.assertEqual(waits[0].id, made.id)
        self.assertEqual(b.get(made).id, made.id)
        parked = []
        thread = threading.Thread(target=lambda: parked.append(self.code(lambda: patient.call("LEASE", "none", "WAIT", "20s"))))
        thread.start()
        until(lambda: b.stats().waiting_workers == 1)
        server.kill()
        thread.join()
        self.assertEqual(parked, ["LOST"])

    def code(self, call):
        try:
            call()
        except belfry.BelfryError as error:
            return error.code

    def test_a_wait_lives_through_a_restart(self):
        server = Server().start()
        self.addCleanup(server.stop)
        b = belfry.Client(server.url)
        made = b.schedule("q", 1)
        results = []
        thread = threading.Thread(target=lambda: results.append(b.result(made, timeout=20)))
        thread.start()
        until(lambda: b.stats().waiting_results == 1)
        server.kill()
        server.start()
        got = b.call("LEASE", "q", "WAIT", "5s")[0]
        b.call("COMPLETE", got["id"], got["token"], "RESULT", "9")
        thread.join(20)
        self.assertEqual(results, [9])

    def test_tokens(self):
        server = Server().start()
        self.addCleanup(server.stop)
        b = belfry.Client(server.url)
        root = b.call("TOKENCREATE", "root", "admin")["token"]
        with self.assertRaises(belfry.AuthError):
            b.stats()
        with self.assertRaises(belfry.AuthError):
            belfry.Client(server.url, token="root.wrong").stats()
        admin = belfry.Client(server.url.replace("//", f"//{root}@"))
        reader = belfry.Client(server.url, token=admin.call("TOKENCREATE", "eyes", "read-only")["token"])
        with self.assertRaises(belfry.PermissionError):
            reader.schedule("q", 1)
        self.assertEqual((admin.stats().total_scheduled, reader.stats().total_scheduled), (0, 0))

    def test_many_threads_and_a_fork_share_a_client(self):
        server = Server().start()
        self.addCleanup(server.stop)
        b = belfry.Client(server.url)
        threads = [threading.Thread(target=lambda: [b.schedule("q", n) for n in range(20)]) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                b.schedule("q", "child")
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(b.queue_settings("q").ready, 201)


class Asyncio(WithServer):
    def test_the_client_for_asyncio(self):
        async def main():
            async with belfry.aio.Client(self.server.url) as b:
                self.assertTrue(await b.ping())
                made = await asyncio.gather(*(b.schedule("aio", n, in_=60) for n in range(50)))
                self.assertEqual(len({one.id for one in made}), 50)
                self.assertEqual(len([job async for job in b.list(queue="aio", limit=20)]), 50)
                waits = [asyncio.create_task(b.result(one, timeout=20)) for one in made]  # more than connections
                await asyncio.sleep(0.1)
                for one in made:
                    await b.reschedule(one)
                for _ in made:
                    got = (await b.call("LEASE", "aio", "WAIT", "5s"))[0]
                    await b.call("COMPLETE", got["id"], got["token"], "RESULT", got["payload"])
                self.assertEqual(await asyncio.gather(*waits), list(range(50)))
                self.assertLess((await b.stats()).connections, 25)
                wait = asyncio.create_task(b.get(await b.schedule("aio2"), wait=60))
                await asyncio.sleep(0.1)
                wait.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await wait
                self.assertTrue(await b.ping())

        asyncio.run(main())

    def test_one_client_in_one_loop_after_another(self):
        b = belfry.aio.Client(self.server.url)

        async def main():
            self.assertTrue(await b.ping())
            await b.close()
            self.assertTrue(await b.ping())  # it connects anew
            await b.close()

        asyncio.run(main())
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
