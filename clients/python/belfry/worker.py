# SPDX-License-Identifier: MIT
"""A worker: takes jobs, runs the task of each, and tells the server how it ended.

It has two connections. On one, a LEASE waits for work; on the other go all words about jobs. A job stands in one or two
of these sets: `_running`, while its task runs; `_held`, from its LEASE until the server has answered its end. Only
`_running` counts against the concurrency."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
import socket
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Set

from . import settle
from .attempt import Attempt, enter
from .connection import FOREVER, Connection
from .errors import BelfryError, ClosedError, ConnectionLostError, TimeoutError
from .heartbeat import Heartbeat
from .threads import Threads
from .times import Duration, duration_word, seconds

if TYPE_CHECKING:
    from .app import App
    from .task import Task

_UNSETTLED_MIN = 2000  # ended jobs without the server's answer, before no more are taken; or the concurrency
_LEASE_GRACE_S = 10.0  # how much longer than WAIT the answer to LEASE may take
_UNBLOCK_S = 0.05
_UNPARK_S = 2.0
_CLEANUP_S = 5.0  # for an async task that was stopped
_COUNT_MAX = 1000

log = logging.getLogger("belfry")
Ended = Callable[[Attempt, str, Any], None]


class Worker:
    """Runs the tasks of an app. `ended` is called after each job with the attempt, its outcome (completed, failed,
    released or stalled) and the result or the error; the server has answered then."""

    def __init__(
        self,
        app: App,
        *,
        concurrency: int = 1,
        queues: Optional[Iterable[str]] = None,
        name: Optional[str] = None,
        lease: Optional[Duration] = None,
        tenant: Optional[str] = None,
        wait: Duration = 20,
        ended: Optional[Ended] = None,
    ) -> None:
        if not isinstance(concurrency, int) or not 1 <= concurrency <= 100000:
            raise ValueError(f"concurrency: expected a whole number from 1 to 100000, not {concurrency!r}")
        self._tasks: Dict[str, Task[Any]] = dict(app.tasks)
        self.queues: List[str] = list(self._tasks) if queues is None else list(queues)
        missing = [queue for queue in self.queues if queue not in self._tasks]
        if missing:
            raise ValueError(f"no task has the queue {missing[0]}; there are {', '.join(self._tasks) or 'no tasks'}")
        if not self.queues:
            raise ValueError("the app has no tasks; decorate functions with @app.task")
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.concurrency = concurrency
        self._config = app.client.config
        self._wait_s = seconds(wait, "wait")
        tenant = tenant or self._config.tenant
        self._options: List[Any] = ["WAIT", duration_word(wait, "wait"), "WORKER", self.name]
        self._options += [] if lease is None else ["FOR", duration_word(lease, "lease")]
        self._options += [] if tenant is None else ["TENANT", tenant]
        self._around = app.around
        self._ended = ended
        self._running: Set[Attempt] = set()
        self._held: Set[Attempt] = set()
        self._works: Set[asyncio.Task[None]] = set()
        self._abandon: Dict[Attempt, Callable[[Exception], None]] = {}
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._closing = False
        self._down = False
        self._parked: Optional[asyncio.Future[Any]] = None  # the LEASE under way

    @property
    def running(self) -> int:
        """How many tasks run."""
        return len(self._running)

    @property
    def waiting(self) -> bool:
        """Whether the server has been asked for jobs and has none."""
        return self._parked is not None

    def run(self) -> None:
        """Serves until SIGTERM or SIGINT; a second one gives back the jobs whose tasks still run."""
        asyncio.run(self.serve(signals=True))

    def stop(self, grace: Optional[Duration] = None) -> None:
        """Takes no more jobs, gives back those that have not begun, and lets the tasks end. After `grace`, tasks that
        still run are left alone, and their jobs go back. Any thread may call it."""
        if self._loop is None:
            self._closing = True
            return
        self._loop.call_soon_threadsafe(self._stop, None if grace is None else seconds(grace, "grace"))

    async def serve(self, *, signals: bool = False, grace: Optional[Duration] = None) -> None:
        """Takes jobs and runs them, until stop(). With `signals`, SIGTERM and SIGINT stop it with that grace."""
        self._loop = loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        if self._closing:
            self._stopping.set()
        grace_s = None if grace is None else seconds(grace, "grace")
        self._leases = Connection(self._config, held=True, on_up=self._on_up, on_down=self._on_down)
        self._commands = Connection(self._config, held=True)
        self._settler = settle.Settler(self._commands, self.name)
        self._heartbeat = Heartbeat(lambda: self._running)
        self._threads = Threads(loop)
        numbers = (signal.SIGTERM, signal.SIGINT) if signals else ()
        for number in numbers:
            loop.add_signal_handler(number, lambda: self._stop(0.0 if self._closing else grace_s))
        taking = loop.create_task(self._take())
        try:
            await self._stopping.wait()
            await self._unpark()
            await taking
            if self._held:
                self._idle.clear()
                await self._idle.wait()
        finally:
            taking.cancel()
            for number in numbers:
                loop.remove_signal_handler(number)
            for work in self._works:
                work.cancel()
            self._heartbeat.stop()
            self._leases.close()
            self._commands.close()
            self._threads.close()
            self._loop = None

    # ---- Taking jobs ----

    async def _take(self) -> None:
        pause = settle.RETRY_MIN_S
        while not self._closing:
            self._wake.clear()
            free = min(self.concurrency - len(self._running), self._room(), _COUNT_MAX)
            if free <= 0:
                await self._wake.wait()
                continue
            try:
                words = ["LEASE", ",".join(self.queues), "COUNT", free, *self._options]
                self._parked = self._leases.call(
                    words, timeout=self._wait_s + _LEASE_GRACE_S, connect_timeout=FOREVER
                )
                jobs = await self._parked
                pause = settle.RETRY_MIN_S
            except BelfryError as error:
                if self._closing or isinstance(error, ConnectionLostError):
                    continue  # _on_down has told of it
                log.warning("no jobs are taken for a while: %s", error)
                try:
                    await asyncio.wait_for(self._wake.wait(), settle.jittered(pause))
                except asyncio.TimeoutError:
                    pass
                pause = min(settle.RETRY_MAX_S, pause * 2)
                continue
            finally:
                self._parked = None
            for map in jobs:
                self._begin(map)

    def _room(self) -> int:
        """How many jobs more may be without an answer to their end."""
        return max(_UNSETTLED_MIN, self.concurrency) + self.concurrency - len(self._held)

    async def _unpark(self) -> None:
        """Ends the LEASE that waits. One that is on its way to the server is asked to end again."""
        loop = asyncio.get_running_loop()
        self._wake.set()
        end = loop.time() + min(self._wait_s, _UNPARK_S)
        while self._parked is not None and self._leases.id is not None and loop.time() < end:
            words = ["CLIENT", "UNBLOCK", self._leases.id]
            try:
                await self._commands.call(words, timeout=1.0, connect_timeout=0.1)
            except BelfryError:
                pass
            await asyncio.sleep(0 if self._parked is None else _UNBLOCK_S)
        if self._parked is None:
            return
        # The server is away or slow. A job that it still gives is offered again when its lease ends.
        self._leases.close()

    def _begin(self, map: Any) -> None:
        attempt = Attempt(map, self._send)
        self._held.add(attempt)
        if not self._closing:
            self._running.add(attempt)
            self._heartbeat.include(attempt)
        work = asyncio.get_running_loop().create_task(self._work(attempt))
        self._works.add(work)
        work.add_done_callback(self._works.discard)

    def _send(self, words: List[Any]) -> Any:
        return self._commands.call(words)

    # ---- One job ----

    async def _work(self, attempt: Attempt) -> None:
        end = settle.released(attempt)
        if attempt in self._running:
            try:
                end = settle.completed(attempt, await self._outcome(attempt))
            except _GivenUp:
                pass
            except Exception as error:
                end = settle.failed(attempt, error)
            self._running.discard(attempt)
            self._wake.set()
        if end.left_out:
            log.warning("job %s: the result is left out: it has more than %d bytes", attempt.id, settle.RESULT_BYTES)
        try:
            self._tell(attempt, await self._settler.tell(attempt, end), end.value)
        except ClosedError:
            pass
        except BelfryError as error:
            log.error("job %s: the server refuses its end: %s", attempt.id, error)
        finally:
            self._held.discard(attempt)
            self._wake.set()
            if not self._running:
                self._heartbeat.stop()
            if not self._held:
                self._idle.set()

    async def _outcome(self, attempt: Attempt) -> Any:
        """What the task returns or raises. A task that takes longer than it may, or than the worker lives, is left."""
        loop = asyncio.get_running_loop()
        task = self._tasks[attempt.queue]
        given_up: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        context.run(enter, attempt)
        if task.is_async:
            run: asyncio.Future[Any] = context.run(loop.create_task, task.run(attempt))
            attempt.begin(loop, run.cancel)
        else:
            attempt.begin(loop, None)
            run = self._threads.run(lambda: context.run(task.run_in_thread, attempt, self._around))

        def abandon(error: Exception) -> None:
            if not given_up.done():
                attempt.stop(error)
                given_up.set_result(error)

        timer = None
        if task.timeout_s is not None:
            timer = loop.call_later(task.timeout_s, abandon, TimeoutError(f"timed out after {task.timeout_s:g} s"))
        self._abandon[attempt] = abandon
        try:
            await asyncio.wait((run, given_up), return_when=asyncio.FIRST_COMPLETED)
            if not run.done() and task.is_async:
                await asyncio.wait((run,), timeout=_CLEANUP_S)
            if given_up.done():
                run.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else looks at it
                raise given_up.result()
            if run.cancelled():
                raise attempt.reason or asyncio.InvalidStateError("the task was cancelled")
            return run.result()
        finally:
            if timer is not None:
                timer.cancel()
            del self._abandon[attempt]

    def _tell(self, attempt: Attempt, outcome: str, value: Any) -> None:
        if outcome == "failed":
            log.warning("job %s of %s failed: %s: %s", attempt.id, attempt.queue, type(value).__name__, value)
        elif outcome == "stalled":
            log.warning("job %s of %s: its lease ended before its task did", attempt.id, attempt.queue)
        else:
            log.info("job %s of %s is %s", attempt.id, attempt.queue, outcome)
        if self._ended is None:
            return
        try:
            self._ended(attempt, outcome, value)
        except Exception:
            log.exception("the function of ended= raised")

    # ---- The connection, and the end ----

    def _on_up(self) -> None:
        if self._down:
            log.warning("the server at %s is back", self._leases.where)
        self._down = False

    def _on_down(self, error: BaseException) -> None:
        if not self._down and not self._closing:
            log.warning("no Belfry server at %s: %s; it is asked again", self._leases.where, error)
        self._down = True

    def _stop(self, grace_s: Optional[float]) -> None:
        assert self._loop is not None
        if not self._closing:
            log.info("no more jobs are taken; %d tasks run", len(self._running))
        self._closing = True
        self._stopping.set()
        self._wake.set()
        if grace_s is not None:
            self._loop.call_later(grace_s, self._give_up)
            # The server may be away. Then the leases of the jobs will end by themselves.
            self._loop.call_later(grace_s + _LEASE_GRACE_S, self._idle.set)

    def _give_up(self) -> None:
        for abandon in list(self._abandon.values()):
            abandon(_GivenUp())


class _GivenUp(ClosedError):
    """The worker ends at once: the job goes back."""

    def __init__(self) -> None:
        super().__init__("the worker is closed")
