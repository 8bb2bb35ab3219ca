# SPDX-License-Identifier: MIT
"""The end of an attempt: the words that tell the server, and telling it until it answers."""

from __future__ import annotations

import asyncio
import random
import traceback
from typing import Any, List, NamedTuple, Optional

from .attempt import Attempt, cut
from .connection import FOREVER, Connection
from .errors import BelfryError, ClosedError, NotFoundError, StaleError
from .outcome import Again, Final, Postpone, RetryLater
from .payload import to_bytes

ERROR_BYTES = 16384  # the server keeps the beginning
RESULT_BYTES = 65536
RETRY_MIN_S = 0.1
RETRY_MAX_S = 10.0
# Answers that ask for patience.
LATER = frozenset(("BUSY", "FULL", "RATE", "LIMIT", "IO", "NOMEM", "INDOUBT", "TIMEOUT", "UNREACHABLE", "LOST"))
_OUTCOMES = {"COMPLETE": ("done", "again"), "FAIL": ("failed",), "RELEASE": ("released",)}


class End(NamedTuple):
    words: List[Any]
    outcome: str  # completed, failed or released
    value: Any = None  # the result, or what was raised
    left_out: bool = False  # the result was too large


def jittered(pause: float) -> float:
    return pause * (0.5 + random.random() / 2)


def completed(attempt: Attempt, value: Any) -> End:
    """TypeError if JSON has no such value."""
    words: List[Any] = ["COMPLETE", attempt.id, attempt.token]
    if isinstance(value, Again):
        return End([*words, "AGAIN", value.pause], "completed", value)
    data = to_bytes(value, "the result")
    if not data:
        return End(words, "completed", value)
    if len(data) > RESULT_BYTES:
        return End(words, "completed", value, True)
    return End([*words, "RESULT", data], "completed", value)


def failed(attempt: Attempt, error: BaseException) -> End:
    if isinstance(error, Postpone):
        return End(["RELEASE", attempt.id, attempt.token, "IN", error.pause], "released", error)
    words = ["FAIL", attempt.id, attempt.token, "ERROR", cut(text_of(error), ERROR_BYTES)]
    if isinstance(error, RetryLater):
        words += ("RETRY", error.pause)
    if isinstance(error, Final):
        words += ("FINAL", "yes")
    return End(words, "failed", error)


def released(attempt: Attempt) -> End:
    return End(["RELEASE", attempt.id, attempt.token], "released")


def text_of(error: BaseException) -> str:
    """What the history of a job shows of an error: its type, its message, and where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/belfry/" not in frame.filename]
    return f"{type(error).__name__}: {error}\n" + "".join(traceback.format_list(frames))


class Settler:
    """Tells the server how attempts ended, over breaks of the connection, too."""

    def __init__(self, connection: Connection, worker: str) -> None:
        self._connection = connection
        self._worker = worker

    async def tell(self, attempt: Attempt, end: End) -> str:
        """Answers the outcome: that of `end`, or stalled if the server takes no word about the lease. After a STALE, no
        further word is sent. BelfryError if the server refuses the words for good."""
        twice = False  # the server may have been told before
        pause = RETRY_MIN_S
        while twice or not attempt.lost:
            try:
                await self._connection.call(end.words, again=True, connect_timeout=FOREVER)
                return end.outcome
            except BelfryError as error:
                twice = twice or getattr(error, "resent", False) or error.code == "TIMEOUT"
                if isinstance(error, (StaleError, NotFoundError)):
                    taken = twice and await self._was_taken(attempt, end.words[0])
                    return end.outcome if taken else "stalled"
                if isinstance(error, ClosedError) or error.code not in LATER:
                    raise
            await asyncio.sleep(jittered(pause))
            pause = min(RETRY_MAX_S, pause * 2)
        return "stalled"

    async def _was_taken(self, attempt: Attempt, verb: str) -> bool:
        """Whether the server did what it was told before the connection broke: then the second time it says STALE."""
        job: Optional[Any] = None
        try:
            job = await self._connection.call(["GET", attempt.id, "TENANT", attempt.tenant], again=True)
        except BelfryError:
            pass
        if job is None:
            return False
        # A crash may have undone the LEASE. Another lease of the job has its number then, but not its beginning.
        start_ms = attempt.until_ms - round(attempt.lease_s * 1000)
        for one in job["history"]:
            if one["attempt"] == attempt.attempt and one["start_ms"] == start_ms and one["worker"] == self._worker:
                return one["outcome"] in _OUTCOMES[verb]
        return False
