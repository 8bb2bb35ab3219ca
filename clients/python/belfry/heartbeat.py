# SPDX-License-Identifier: MIT
"""The heartbeat of a worker: at about a third of the shortest lease, it lengthens the leases of all its jobs. The
requests of one beat leave in one write."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Callable, Iterable, Optional, Set

from .attempt import Attempt

_PERIOD_MIN_S = 0.01


def _pause(lease_s: float) -> float:
    """A third of the lease, less up to a fifth of that, so that workers do not beat together."""
    return max(_PERIOD_MIN_S, lease_s / 3 * (0.8 + random.random() * 0.2))


class Heartbeat:
    def __init__(self, attempts: Callable[[], Iterable[Attempt]]) -> None:
        self._attempts = attempts  # those whose tasks run
        self._loop = asyncio.get_running_loop()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._at = float("inf")  # when the timer fires
        self._beats: Set[asyncio.Task[None]] = set()

    def include(self, attempt: Attempt) -> None:
        """A job was taken: the next beat comes in time for it."""
        at = time.monotonic() + _pause(attempt.lease_s)
        if at < self._at:
            self._arm(at)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._at = float("inf")

    def _arm(self, at: float) -> None:
        self.stop()
        self._at = at
        self._timer = self._loop.call_later(max(0.0, at - time.monotonic()), self._beat)

    def _beat(self) -> None:
        now = time.monotonic()
        self._at = shortest = float("inf")
        for attempt in list(self._attempts()):
            if attempt.lost:
                continue
            shortest = min(shortest, attempt.lease_s)
            # The server may have given the job to another worker by now. Only its answer to COMPLETE will say.
            if now >= attempt.leased_until:
                attempt.expire()
            # A job of a longer lease than others need not be told of at each beat.
            if now - attempt.extended >= attempt.lease_s / 5:
                beat = self._loop.create_task(attempt.beat())
                self._beats.add(beat)
                beat.add_done_callback(self._beats.discard)
        if shortest < float("inf"):
            self._arm(now + _pause(shortest))
