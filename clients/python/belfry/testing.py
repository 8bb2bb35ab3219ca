# SPDX-License-Identifier: MIT
"""Tests without a server: in the context, schedule() runs the task at once, with all its attempts."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

from .attempt import Attempt, enter
from .errors import JobEndedError, TimeoutError
from .handle import Handle
from .outcome import Again, Final, Postpone
from .payload import from_bytes, to_bytes
from .settle import text_of
from .times import Duration
from .view import Job
from .words import option_words

if TYPE_CHECKING:
    from .app import App
    from .task import Task

ATTEMPTS = 5  # of a job that says nothing, as the server has it
_DAY_MS = 86400000


class Ran(Handle):
    """A job that has run: its options, what its task said last, and how often it ran."""

    def __init__(self, app: App, id: str, queue: str, data: Any, options: Mapping[str, Any]) -> None:
        super().__init__(app, id, True, "created", options.get("tenant"))
        self.queue = queue
        self.data = data
        self.options = dict(options)
        self.attempts = 0
        self.state = "ready"
        self.value: Any = None
        self.error: Optional[BaseException] = None
        self.lines: List[str] = []  # of log()
        self.percent: Optional[int] = None  # of progress()

    def result(self, timeout: Optional[Duration] = None) -> Any:
        if self.state == "done":
            return self.value
        if self.state == "scheduled":
            raise TimeoutError(f"job {self.id} runs again later, which testing() does not do")
        raise JobEndedError(self.id, self.state, self.get()) from self.error

    async def aresult(self, timeout: Optional[Duration] = None) -> Any:
        return self.result(timeout)

    def get(self) -> Job:
        error = None if self.error is None else text_of(self.error)
        return Job(
            id=self.id,
            queue=self.queue,
            state=self.state,
            data=self.data,
            result=self.value,
            attempt=self.attempts,
            error=error,
            key=self.options.get("key"),
        )

    async def aget(self) -> Job:
        return self.get()

    def cancel(self) -> str:
        raise NotImplementedError("in testing() each job has ended when schedule() answers")

    async def acancel(self) -> str:
        return self.cancel()

    async def _hear(self, words: List[Any]) -> Any:
        """As the server answers a running job."""
        if words[0] == "LOG":
            self.lines.append(words[3].decode())
        if "PROGRESS" in words:
            self.percent = words[words.index("PROGRESS") + 1]
        return {"until_ms": int(time.time() * 1000) + _DAY_MS, "cancelled": False}


def _within(context: contextvars.Context, task: Task[Any], attempt: Attempt) -> Any:
    return context.run(task.run_in_thread, attempt, None)


class Testing:
    """`jobs` has the jobs of the context, oldest first."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._numbers = itertools.count(1)
        self.jobs: List[Ran] = []

    def __enter__(self) -> Testing:
        if self._app._testing is not None:
            raise RuntimeError("the app is in testing() already")
        self._app._testing = self
        return self

    def __exit__(self, *_: Any) -> None:
        self._app._testing = None

    def schedule(self, task: Task[Any], data: Any, options: Mapping[str, Any]) -> Ran:
        ran = self._ran(task, data, options)
        while ran.state == "ready":
            attempt, context = self._attempt(ran)
            if task.is_async:
                self._settle(ran, lambda: context.run(asyncio.run, task.run(attempt)))
            else:
                self._settle(ran, lambda: context.run(task.run_in_thread, attempt, None))
        return ran

    async def aschedule(self, task: Task[Any], data: Any, options: Mapping[str, Any]) -> Ran:
        loop = asyncio.get_running_loop()
        ran = self._ran(task, data, options)
        while ran.state == "ready":
            attempt, context = self._attempt(ran)
            run: asyncio.Future[Any]
            if task.is_async:
                run = context.run(loop.create_task, task.run(attempt))
            else:
                run = loop.run_in_executor(None, _within, context, task, attempt)
            await asyncio.wait((run,))
            self._settle(ran, run.result)
        return ran

    def _ran(self, task: Task[Any], data: Any, options: Mapping[str, Any]) -> Ran:
        option_words("SCHEDULE", options)
        number = next(self._numbers)
        ran = Ran(self._app, f"{number:026d}", task.queue, from_bytes(to_bytes(data)), options)
        self.jobs.append(ran)
        return ran

    def _attempt(self, ran: Ran) -> Tuple[Attempt, contextvars.Context]:
        ran.attempts += 1
        now = int(time.time() * 1000)
        options = ran.options
        tags = options.get("tags") or []
        map: Dict[str, Any] = {
            "id": ran.id,
            "token": ran.attempts,
            "tenant": options.get("tenant") or self._app.client.tenant or "default",
            "queue": ran.queue,
            "payload": to_bytes(ran.data),
            "attempt": ran.attempts,
            "priority": options.get("priority") or 3,
            "due_ms": now,
            "lease_ms": _DAY_MS,
            "until_ms": now + _DAY_MS,
            "key": options.get("key"),
            "tags": [tags] if isinstance(tags, str) else list(tags),
            "meta": dict(options.get("meta") or {}),
            "order": options.get("order"),
            "recurrence": None,
            "nominal_ms": None,
        }
        attempt = Attempt(map, ran._hear)
        context = contextvars.copy_context()
        context.run(enter, attempt)
        return attempt, context

    def _settle(self, ran: Ran, run: Callable[[], Any]) -> None:
        """Notes what the task said. The state stays ready if there is one more attempt."""
        try:
            value = run()
            if isinstance(value, Again):
                ran.state = "scheduled"
            else:
                ran.value = from_bytes(to_bytes(value, "the result"))
                ran.state = "done"
            ran.error = None
        except Postpone as error:
            ran.state, ran.error = "scheduled", error
        except Exception as error:
            ran.error = error
            if isinstance(error, Final) or ran.attempts >= (ran.options.get("attempts") or ATTEMPTS):
                ran.state = "dead"
