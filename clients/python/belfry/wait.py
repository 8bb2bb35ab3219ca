# SPDX-License-Identifier: MIT
"""Waiting for ends of jobs. A GET that waits holds up its connection, so each has one of its own, up to a bound.

Waiters beyond the bound ask again and again over the ordinary connection, until a connection is free."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List, Optional

from .connection import Connection
from .errors import JobEndedError, NotFoundError, TimeoutError
from .verbs import Request
from .view import Job

CONNECTIONS_MAX = 16
ENDED = ("done", "dead", "cancelled", "expired")
_SLICE_S = 20.0  # of one GET
_GRACE_S = 10.0  # how much longer than its wait an answer may take
_POLL_MIN_S = 0.05
_POLL_MAX_S = 1.0


class Waits:
    """The connections of one client that are for waiting."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._idle: List[Connection] = []
        self._busy: List[Connection] = []

    @property
    def full(self) -> bool:
        return len(self._busy) >= CONNECTIONS_MAX

    async def ask(self, request: Request[Any]) -> Any:
        connection = self._idle.pop() if self._idle else self._connect()
        self._busy.append(connection)
        over = False
        try:
            timeout = request.wait_s + _GRACE_S
            reply = await connection.call(request.words, again=request.again, timeout=timeout)
            over = True
            return reply
        finally:
            if connection in self._busy:
                self._busy.remove(connection)
                if over:
                    self._idle.append(connection)
                else:
                    connection.close()  # the server still waits on it

    def close(self) -> None:
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()
        self._busy.clear()


async def end_of(id: str, get: Callable[[float], Awaitable[Optional[Job]]], full: Callable[[], bool],
                 timeout_s: Optional[float]) -> Any:
    """The result of a job, once it has ended. JobEndedError if it ended otherwise than done."""
    loop = asyncio.get_running_loop()
    end = None if timeout_s is None else loop.time() + timeout_s
    pause = _POLL_MIN_S
    while True:
        left = _SLICE_S if end is None else max(0.0, end - loop.time())
        polls = full()
        job = await get(0.0 if polls else min(left, _SLICE_S))
        if job is None:
            raise NotFoundError("NOTFOUND", f"there is no job {id}")
        if job.state == "done":
            return job.result
        if job.state in ENDED:
            raise JobEndedError(id, job.state, job)
        if end is not None and loop.time() >= end:
            raise TimeoutError(f"job {id} did not end within {timeout_s:g} s")
        if polls:
            await asyncio.sleep(min(pause, left))
            pause = min(_POLL_MAX_S, pause * 1.5)
