# SPDX-License-Identifier: MIT
"""Tests without a server: app.testing()."""

import asyncio
import datetime as dt
import unittest

import belfry


class Testing(unittest.TestCase):
    def setUp(self):
        self.app = belfry.App("belfry://127.0.0.1:1")  # where no server is

    def test_schedule_runs_the_task_at_once(self):
        sent = []

        @self.app.task(queue="mail", attempts=3)
        def mail(to, copies=()):
            belfry.current().log(f"to {to}")
            belfry.current().progress(40)
            sent.append((to, copies, belfry.current().data, belfry.current().key))
            return {"to": to, 1: (1, 2)}

        with self.app.testing() as test:
            made = mail.schedule("ann", copies=("bob",), in_="3d", key="k")
            self.assertEqual(sent, [("ann", ["bob"], {"to": "ann", "copies": ["bob"]}, "k")])
            self.assertEqual(made.result(), {"to": "ann", "1": [1, 2]})  # as JSON has it
            self.assertEqual((test.jobs, made.options["in_"], made.lines, made.percent), ([made], "3d", ["to ann"], 40))
            self.assertEqual((made.get().state, made.created), ("done", True))
            with self.assertRaises(TypeError):
                mail.schedule()
            with self.assertRaises(TypeError):
                mail.schedule("ann", copies={dt.date.today()})
            with self.assertRaises(TypeError):
                mail.schedule("ann", in_="soon")
        with self.assertRaises(belfry.UnreachableError):
            belfry.Client("belfry://127.0.0.1:1", connect_timeout=0.1).ping()

    def test_attempts(self):
        @self.app.task(queue="tries", attempts=3)
        def tries(until):
            if belfry.current().attempt < until:
                raise ValueError("not yet")
            return belfry.current().attempt

        @self.app.task(queue="says")
        def says(what):
            raise belfry.Final(what)

        @self.app.task(queue="again")
        def again():
            return belfry.Again("1h")

        @self.app.task(queue="postpone")
        def postpone():
            raise belfry.Postpone("1h")

        with self.app.testing():
            self.assertEqual(tries.schedule(3).result(), 3)
            dead = tries.schedule(4)
            with self.assertRaisesRegex(belfry.JobEndedError, "is dead: ValueError: not yet") as caught:
                dead.result()
            self.assertIsInstance(caught.exception.__cause__, ValueError)
            self.assertEqual((dead.attempts, says.schedule("final").attempts), (3, 1))
            for task in (again, postpone):
                made = task.schedule()
                self.assertEqual((made.state, made.attempts), ("scheduled", 1))
                with self.assertRaises(belfry.TimeoutError):
                    made.result()

    def test_async_tasks(self):
        @self.app.task(queue="aio")
        async def aio(n):
            await belfry.current().alog("line")
            return n + 1

        @self.app.task(queue="blocking")
        def blocking(n):
            belfry.current().log("line")
            return n + 2

        async def main():
            return [await (await task.aschedule(1)).aresult() for task in (aio, blocking)]

        with self.app.testing() as test:
            self.assertEqual(aio.schedule(1).result(), 2)
            self.assertEqual(asyncio.run(main()), [2, 3])
            self.assertEqual([one.lines for one in test.jobs], [["line"]] * 3)

    def test_outside_of_a_task(self):
        with self.assertRaisesRegex(RuntimeError, "for a task"):
            belfry.current()
        with self.app.testing():
            with self.assertRaisesRegex(RuntimeError, "already"):
                self.app.testing().__enter__()
        self.assertIsNone(self.app._testing)


if __name__ == "__main__":
    unittest.main()
