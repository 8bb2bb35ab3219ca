# SPDX-License-Identifier: MIT
"""Workers against the real server: in threads of this process, and as the command."""

import asyncio
import contextlib
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import belfry
from belfry import settle
from server import OURS, Server, until

HOME = pathlib.Path(belfry.__file__).resolve().parents[1]
logging.getLogger("belfry").setLevel(logging.CRITICAL)


class Work(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.addClassCleanup(cls.server.stop)
        cls.b = belfry.Client(cls.server.url)
        cls.addClassCleanup(cls.b.close)

    def setUp(self):
        self.app = belfry.App(self.server.url)
        self.addCleanup(self.app.close)
        self.ended = []

    @contextlib.contextmanager
    def working(self, app=None, grace=None, **options):
        options.setdefault("concurrency", 4)
        worker = belfry.Worker(app or self.app, ended=lambda *told: self.ended.append(told), **options)
        failures = []

        def serve():
            try:
                asyncio.run(worker.serve())
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            until(lambda: worker.waiting or failures, "the worker waits")
            yield worker
        finally:
            worker.stop(grace)
            thread.join(30)
            self.assertFalse(thread.is_alive(), "the worker has ended")
            self.assertEqual(failures, [])

    def outcomes(self):
        return [outcome for _, outcome, _ in self.ended]

    def test_results_of_both_kinds_of_tasks(self):
        @self.app.task(queue="add", tags="sums")
        def add(a, b=1, **more):
            """Adds."""
            return {"sum": a + b, "more": more, "queue": belfry.current().queue}

        @self.app.task
        async def aadd(a, b):
            await asyncio.sleep(0.01)
            await belfry.current().alog("added")
            await belfry.current().aprogress(50, "half")
            return a + b

        @self.app.task(queue="raw", raw=True)
        def raw(data):
            return data

        with self.working():
            made = add.schedule(1, b=2, c=3, in_=0.05, key="k")
            self.assertEqual(made.result(timeout=10), {"sum": 3, "more": {"c": 3}, "queue": "add"})
            self.assertEqual((made.get().tags, made.get().key, made.created), (["sums"], "k", True))
            other = aadd.schedule(1, 2)
            self.assertEqual(other.result(timeout=10), 3)
            job = self.b.get(other, log=True)
            self.assertEqual((job.log[0].text, job.note), ("added", "half"))
            self.assertEqual(raw.schedule(b"\xff").result(timeout=10), b"\xff")
            self.assertEqual(raw.schedule([1]).result(timeout=10), [1])
            self.assertEqual(self.b.result(self.b.schedule("add", {"a": 5}), timeout=10)["sum"], 6)

            async def main():
                handle = await aadd.aschedule(3, b=4)
                told = await handle.aresult(timeout=10), (await handle.aget()).state
                await self.app.aio.close()
                return told

            self.assertEqual(asyncio.run(main()), (7, "done"))
        self.assertEqual(add.__doc__, "Adds.")

    def test_arguments_that_do_not_fit(self):
        @self.app.task(queue="fit", attempts=1)
        def fit(order, key=None):
            return [order, key]

        for call in (lambda: fit.schedule(), lambda: fit.schedule(1, 2, 3), lambda: fit.schedule(1, colour=2)):
            with self.assertRaisesRegex(TypeError, r"fit\(order, key=None\)"):
                call()
        with self.assertRaises(TypeError):
            self.app.task(queue="star")(lambda *args: args)
        with self.assertRaisesRegex(ValueError, "has a task"):
            self.app.task(queue="fit")(print_nothing)
        with self.assertRaisesRegex(TypeError, "unknown option colour"):
            self.app.task(queue="other", colour=1)(print_nothing)
        with self.working():
            self.assertEqual(fit.schedule(order=7, key="mine").result(timeout=10), [7, "mine"])
            made = fit.with_options(key="k", order="lane").schedule(order=8)
            self.assertEqual(made.result(timeout=10), [8, None])
            self.assertEqual((made.get().key, made.get().order), ("k", "lane"))
            for data in ([1], {"colour": 1}, b"\xff"):
                with self.assertRaisesRegex(belfry.JobEndedError, r"TypeError: fit\(order, key=None\)"):
                    self.b.result(self.b.schedule("fit", data, attempts=1), timeout=10)

    def test_what_a_task_raises_or_returns(self):
        tries = []

        @self.app.task(queue="says", backoff="fixed:1ms")
        def says(what):
            attempt = belfry.current().attempt
            tries.append((what, attempt))
            if what == "fail" and attempt < 3:
                raise ValueError("not yet")
            if what == "final":
                raise belfry.Final("no such user")
            if what == "later" and attempt == 1:
                raise belfry.RetryLater(0.2, "busy")
            if what == "postpone" and tries.count((what, 1)) == 1:
                raise belfry.Postpone(0.1)
            if what == "again" and [one for one, _ in tries].count("again") < 3:
                return belfry.Again("10ms")
            if what == "exit":
                sys.exit(3)
            if what == "odd":
                return object()
            return what

        with self.working():
            self.assertEqual(says.schedule("fail").result(timeout=10), "fail")
            with self.assertRaisesRegex(belfry.JobEndedError, "dead: Final: no such user"):
                says.schedule("final").result(timeout=10)
            begun = time.monotonic()
            later = says.schedule("later")
            self.assertEqual(later.result(timeout=10), "later")
            self.assertGreaterEqual(time.monotonic() - begun, 0.2)
            self.assertIn("RetryLater: busy", later.get().history[0].error)
            self.assertEqual(says.schedule("postpone").result(timeout=10), "postpone")
            self.assertEqual(says.schedule("again").result(timeout=10), "again")
            with self.assertRaisesRegex(belfry.JobEndedError, "SystemExit: 3"):
                says.schedule("exit", attempts=1).result(timeout=10)
            with self.assertRaisesRegex(belfry.JobEndedError, "the result: .*not JSON serializable"):
                says.schedule("odd", attempts=1).result(timeout=10)
        self.assertEqual([n for what, n in tries if what == "fail"], [1, 2, 3])
        self.assertEqual([n for what, n in tries if what == "postpone"], [1, 1])

    def test_the_error_says_where(self):
        @self.app.task(queue="where", attempts=1)
        def where():
            print_nothing(1 // 0)

        with self.working():
            made = where.schedule()
            with self.assertRaises(belfry.JobEndedError) as caught:
                made.result(timeout=10)
        error = caught.exception.job.error
        self.assertTrue(error.startswith("ZeroDivisionError: "), error)
        self.assertIn("test_worker.py", error)
        self.assertNotIn("belfry/task.py", error)

    def test_heartbeats_keep_a_lease_that_is_shorter_than_the_task(self):
        @self.app.task(queue="slow", lease="300ms")
        def slow():
            time.sleep(1.2)
            return belfry.current().attempt

        with self.working():
            self.assertEqual([one.result(timeout=20) for one in [slow.schedule() for _ in range(4)]], [1] * 4)
        self.assertEqual(self.outcomes(), ["completed"] * 4)

    def test_a_lease_that_was_lost_is_not_completed(self):
        go = threading.Event()
        seen = []

        @self.app.task(queue="lost", lease="400ms", backoff="fixed:1ms")
        def lost():
            if belfry.current().attempt == 1:
                seen.append(belfry.current())
                go.wait(10)
                return "old"
            return "new"

        with self.working():
            made = lost.schedule()
            attempt = until(lambda: seen and seen[0])
            self.b.call("RELEASE", made.id, attempt.token)  # behind the back of the worker
            until(lambda: attempt.lost)
            self.assertTrue(attempt.stopping)
            with self.assertRaises(belfry.LeaseLostError):
                attempt.check()
            go.set()
        self.assertIn("stalled", self.outcomes())
        self.assertEqual(len([1 for one in made.get().history if one.outcome == "done"]),
                         self.outcomes().count("completed"))

    def test_cancellation_is_seen_by_the_task(self):
        ends = []

        @self.app.task(queue="cancel", lease="300ms")
        def cancel():
            until(lambda: belfry.current().cancelled)
            ends.append("thread")
            belfry.current().check()

        @self.app.task(queue="acancel", lease="300ms")
        async def acancel():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ends.append("async")
                raise

        with self.working() as worker:
            for task in (cancel, acancel):
                made = task.schedule()
                until(lambda: worker.running == 1)
                self.assertEqual(made.cancel(), "running")
                with self.assertRaises(belfry.JobEndedError) as caught:
                    made.result(timeout=10)
                self.assertEqual(caught.exception.state, "cancelled")
        self.assertEqual(ends, ["thread", "async"])

    def test_a_task_that_takes_too_long(self):
        @self.app.task(queue="long", timeout=0.2, attempts=1)
        def long():
            until(lambda: belfry.current().stopping)
            time.sleep(0.3)

        @self.app.task(queue="along", timeout="200ms", attempts=1)
        async def along():
            await asyncio.sleep(60)

        with self.working(concurrency=1):
            for task in (long, along):
                begun = time.monotonic()
                with self.assertRaisesRegex(belfry.JobEndedError, "TimeoutError: timed out after 0.2 s"):
                    task.schedule().result(timeout=10)
                self.assertLess(time.monotonic() - begun, 5)

    def test_stop_waits_for_tasks(self):
        go = threading.Event()

        @self.app.task(queue="drain")
        def drain():
            go.wait(10)
            return 1

        with self.working(concurrency=2) as worker:
            made = [drain.schedule() for _ in range(3)]
            until(lambda: worker.running == 2)
            worker.stop()
            time.sleep(0.2)
            self.assertEqual(worker.running, 2)
            go.set()
        self.assertEqual(sorted(one.get().state for one in made), ["done", "done", "ready"])

    def test_stop_with_a_grace_gives_jobs_back(self):
        @self.app.task(queue="grace")
        def grace():
            until(lambda: belfry.current().stopping, seconds=20)
            time.sleep(1)

        @self.app.task(queue="agrace")
        async def agrace():
            await asyncio.sleep(60)

        with self.working(grace=0.1) as worker:
            made = [grace.schedule(), agrace.schedule()]
            until(lambda: worker.running == 2)
        for one in made:
            self.assertEqual((one.get().state, one.get().history[0].outcome), ("ready", "released"))

    def test_jobs_that_come_while_it_stops_go_back(self):
        @self.app.task(queue="flood")
        def flood(n):
            pass

        for _ in range(5):
            with self.working(concurrency=50):
                self.b.batch([flood.item(n) for n in range(200)])
        self.assertEqual(self.b.queue_settings("flood").leased, 0)

    def test_a_completion_over_a_restart_of_the_server(self):
        server = Server().start()
        self.addCleanup(server.stop)
        app = belfry.App(server.url)
        begun, go = threading.Event(), threading.Event()

        @app.task(queue="away")
        def away():
            begun.set()
            go.wait(10)
            return "kept"

        with self.working(app):
            made = away.schedule()
            begun.wait(10)
            server.kill()
            go.set()
            time.sleep(0.5)
            self.assertEqual(self.ended, [])
            server.start()
            self.assertEqual(made.result(timeout=10), "kept")
        self.assertEqual(self.outcomes(), ["completed"])
        self.assertEqual(made.get().attempt, 1)

    def test_stop_while_the_server_is_away(self):
        server = Server().start()
        self.addCleanup(server.stop)
        app = belfry.App(server.url)
        app.task(queue="none")(print_nothing_at_all)
        with self.working(app) as worker:
            server.kill()
            until(lambda: worker._leases.id is None)
            begun = time.monotonic()
            worker.stop()
            until(lambda: worker._loop is None)
            self.assertLess(time.monotonic() - begun, 1.5)

    def test_a_result_that_is_too_large_is_left_out(self):
        @self.app.task(queue="large")
        def large(n):
            return "x" * n

        with self.working():
            self.assertIsNone(large.schedule(settle.RESULT_BYTES).result(timeout=10))
            self.assertEqual(len(large.schedule(60000).result(timeout=10)), 60000)

    def test_around_each_task_in_its_thread(self):
        told = []

        @contextlib.contextmanager
        def around():
            told.append(("begin", threading.current_thread().name))
            yield
            told.append(("end", threading.current_thread().name))

        app = belfry.App(self.server.url, around=around)

        @app.task(queue="around")
        def inside():
            told.append(("task", threading.current_thread().name))

        with self.working(app):
            inside.schedule().result(timeout=10)
        self.assertEqual([what for what, _ in told], ["begin", "task", "end"])
        self.assertEqual({name for _, name in told}, {"belfry-task"})

    def test_all_tenants(self):
        @self.app.task(queue="tenants")
        def whose():
            return belfry.current().tenant

        with self.working(tenant="*"):
            self.assertEqual([whose.schedule(tenant=name).result(timeout=10) for name in ("acme", "zeta")],
                             ["acme", "zeta"])


def print_nothing(*_):
    pass


def print_nothing_at_all():
    pass


APP = '''
import os, time, belfry
app = belfry.App()

@app.task(queue="pid")
def pid(seconds=0):
    time.sleep(seconds)
    return os.getpid()

@app.task(queue="die")
def die():
    if belfry.current().attempt == 1:
        os._exit(7)
    return "alive"

@app.task(queue="spin")
def spin(path):
    with open(path, "a") as file:
        file.write("begun")
    time.sleep(60)
'''


class Command(unittest.TestCase):
    def setUp(self):
        self.server = Server().start()
        self.addCleanup(self.server.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "shop.py").write_text(APP)
        self.b = belfry.Client(self.server.url)
        self.addCleanup(self.b.close)

    def command(self, *args):
        env = {**OURS, "PYTHONPATH": str(HOME), "PYTHONDONTWRITEBYTECODE": "1", "BELFRY_URL": self.server.url}
        return subprocess.Popen([sys.executable, "-m", "belfry", *args], cwd=self.folder, env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def works(self, *args):
        process = self.command("work", "shop:app", *args)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ends(self, process, number=signal.SIGTERM, code=0):
        process.send_signal(number)
        said = process.communicate(timeout=30)[0]
        self.assertEqual(process.returncode, code, said)
        return said

    def test_threads(self):
        process = self.works("-j", "4")
        results = [self.b.result(self.b.schedule("pid"), timeout=20) for _ in range(3)]
        self.assertEqual(set(results), {process.pid})
        made = self.b.schedule("pid", {"seconds": 1})
        until(lambda: self.b.get(made).state == "leased")
        said = self.ends(process)
        self.assertEqual(self.b.get(made).state, "done")
        self.assertIn("takes jobs of pid, die, spin from 127.0.0.1", said)

    def test_a_second_signal_gives_back(self):
        process = self.works("-j", "4")
        path = self.folder / "begun"
        made = self.b.schedule("spin", {"path": str(path)})
        until(path.exists, seconds=20)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        self.ends(process, signal.SIGINT)
        self.assertEqual(self.b.get(made).history[0].outcome, "released")

    def test_a_grace(self):
        process = self.works("--grace", "300ms")
        path = self.folder / "begun"
        made = self.b.schedule("spin", {"path": str(path)})
        until(path.exists, seconds=20)
        self.ends(process)
        self.assertEqual(self.b.get(made).history[0].outcome, "released")

    def test_processes(self):
        process = self.works("-j", "3", "--processes")
        until(lambda: self.b.stats().waiting_workers == 3, seconds=20)
        made = self.b.batch([{"queue": "pid", "data": {"seconds": 0.3}} for _ in range(6)])
        pids = {self.b.result(one, timeout=20) for one in made}
        self.assertEqual(len(pids), 3)
        self.assertNotIn(process.pid, pids)
        made = self.b.schedule("die", lease="1s", backoff="fixed:1ms")
        self.assertEqual(self.b.result(made, timeout=20), "alive")
        until(lambda: self.b.stats().waiting_workers == 3, "the process is replaced", seconds=20)
        last = self.b.schedule("pid", {"seconds": 1})
        until(lambda: self.b.get(last).state == "leased")
        self.assertIn("ended with 7", self.ends(process))
        self.assertEqual(self.b.get(last).state, "done")

    def test_processes_end_with_the_one_that_began_them(self):
        process = self.works("-j", "4", "--processes", "2")
        until(lambda: self.b.stats().waiting_workers == 2, seconds=20)
        process.kill()
        until(lambda: self.b.stats().waiting_workers == 0, seconds=20)

    def test_wrong_use(self):
        for args, text in (
            (("work", "shop"), "expected module:name"),
            (("work", "nope:app"), "there is no module nope"),
            (("work", "shop:os"), "is no belfry.App"),
            (("work", "shop:app", "--queues", "nope"), "no task has the queue nope; there are pid, die, spin"),
            (("work", "shop:app", "-j", "0"), "expected a whole number from 1"),
            (("work", "shop:app", "--lease", "soon"), "expected a timedelta, seconds"),
            (("work", "nope:app", "--processes", "2"), "there is no module nope"),
            ((), "required"),
        ):
            process = self.command(*args)
            said = process.communicate(timeout=30)[0]
            self.assertEqual((process.returncode, text in said), (2, True), said)


if __name__ == "__main__":
    unittest.main()
