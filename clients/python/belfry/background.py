# SPDX-License-Identifier: MIT
"""The event loop of blocking clients: one thread for each process, begun with the first request."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, Coroutine, List, Optional, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: Optional[asyncio.AbstractEventLoop] = None
_parents: List[asyncio.AbstractEventLoop] = []


def _reset() -> None:
    """In a process made by fork, the thread is gone, and nobody holds the lock. The sockets belong to the parent, so its
    loop is kept as it is."""
    global _lock, _loop
    _lock = threading.Lock()
    if _loop is not None:
        _parents.append(_loop)
    _loop = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


def _get() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="belfry", daemon=True).start()
        return _loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on the loop, and waits for it. An interrupt of the wait cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _get())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
