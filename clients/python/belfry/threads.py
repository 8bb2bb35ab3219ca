# SPDX-License-Identifier: MIT
"""Threads that run functions for an event loop. A thread that a function never gives back holds up no other one, and
not the end of the process."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any, Callable, List, Optional, Tuple

Work = Tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Threads:
    """An idle thread takes the next function; without one, a thread is begun."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._idle: List[queue.SimpleQueue[Optional[Work]]] = []
        self._closed = False

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Begins the function. The future has its value or what it raised."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._idle:
            inbox = self._idle.pop()
        else:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._live, args=(inbox,), name="belfry-task", daemon=True).start()
        inbox.put((function, future))
        return future

    def close(self) -> None:
        """Ends the idle threads, and each other one when its function is over."""
        self._closed = True
        for inbox in self._idle:
            inbox.put(None)
        self._idle.clear()

    def _live(self, inbox: queue.SimpleQueue[Optional[Work]]) -> None:
        for work in iter(inbox.get, None):
            assert work is not None
            function, future = work
            value: Any = None
            error: Optional[BaseException] = None
            try:
                value = function()
            except BaseException as raised:
                error = raised
            try:
                self._loop.call_soon_threadsafe(self._over, inbox, future, value, error)
            except RuntimeError:
                return  # the loop has ended meanwhile
            del work, function, future, value, error

    def _over(self, inbox: Any, future: asyncio.Future[Any], value: Any, error: Optional[BaseException]) -> None:
        if self._closed:
            inbox.put(None)
        else:
            self._idle.append(inbox)
        if future.done():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:
            future.set_exception(RuntimeError(f"the task raised {type(error).__name__}: {error}"))
