# SPDX-License-Identifier: MIT
"""A job in the hands of a task: one attempt, under a lease."""

from __future__ import annotations

import asyncio
import contextvars
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from .errors import BelfryError, CancelledError, ClosedError, LeaseLostError, NotFoundError, StaleError
from .payload import from_bytes
from .times import Duration, duration_of, duration_word, moment_of

NOTE_BYTES = 1024
LINE_BYTES = 1024

_current: contextvars.ContextVar[Attempt] = contextvars.ContextVar("belfry_current")


def current() -> Attempt:
    """The job that the task runs for."""
    try:
        return _current.get()
    except LookupError:
        raise RuntimeError("belfry.current() is for a task that a worker runs, and for testing()") from None


def cut(text: str, most: int) -> bytes:
    """The bytes of a text, at most so many, without half a character at the end."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= most else data[:most].decode("utf-8", "ignore").encode()


class Attempt:
    """The members come from LEASE. A task of any thread may look at them; progress(), log() and extend() wait for the
    server, and aprogress(), alog() and aextend() are for async tasks."""

    def __init__(self, map: Mapping[str, Any], send: Callable[[List[Any]], Any]) -> None:
        now = time.monotonic()
        self.id: str = map["id"]
        self.token: int = map["token"]  # grows with every lease of the job
        self.tenant: str = map["tenant"]
        self.queue: str = map["queue"]
        self.payload: bytes = map["payload"]
        self.attempt: int = map["attempt"]
        self.priority: int = map["priority"]
        self.due = moment_of(map["due_ms"])
        self.lease = duration_of(map["lease_ms"])
        self.until_ms: int = map["until_ms"]
        self.key: Optional[str] = map["key"]
        self.tags: List[str] = map["tags"]
        self.meta: Dict[str, str] = map["meta"]
        self.order: Optional[str] = map["order"]
        self.recurrence: Optional[str] = map["recurrence"]
        self.nominal = None if map["nominal_ms"] is None else moment_of(map["nominal_ms"])
        self.lease_s: float = map["lease_ms"] / 1000
        self.leased_until = now + self.lease_s  # by time.monotonic(), as far as is known
        self.extended = now  # when the lease was lengthened last, by that clock
        self.lost = False  # a STALE was heard: the server takes no word about the job with this token
        self.cancelled = False  # the server said that the job is cancelled
        self.reason: Optional[Exception] = None  # why the task should stop
        self._send = send
        self._loop: Optional[asyncio.AbstractEventLoop] = None  # of the worker
        self._on_stop: Optional[Callable[[], Any]] = None
        self._beating = False

    @property
    def data(self) -> Any:
        """The value of the payload: JSON, or the bytes if it is no JSON."""
        return from_bytes(self.payload)

    @property
    def stopping(self) -> bool:
        """Whether the task should stop: the job is cancelled, its lease is lost, its time is over, or the worker ends."""
        return self.reason is not None

    def check(self) -> None:
        """Raises the reason why the task should stop, if there is one."""
        if self.reason is not None:
            raise self.reason

    def progress(self, percent: Optional[float] = None, note: Optional[str] = None) -> None:
        """Tells how far the job is: percent, and a note for people. It also lengthens the lease."""
        self._wait(self.aprogress(percent, note))

    def log(self, text: str) -> None:
        """Adds a line to the log of the job, which get(id, log=True) shows."""
        self._wait(self.alog(text))

    def extend(self, length: Optional[Duration] = None) -> None:
        """Lengthens the lease; the heartbeat of the worker does this by itself."""
        self._wait(self.aextend(length))

    async def aprogress(self, percent: Optional[float] = None, note: Optional[str] = None) -> None:
        words: List[Any] = []
        if percent is not None:
            words += ("PROGRESS", round(percent))
        if note is not None:
            words += ("NOTE", cut(note, NOTE_BYTES))
        await self._extend(words)

    async def alog(self, text: str) -> None:
        await self._tell(["LOG", self.id, self.token, cut(text, LINE_BYTES)])

    async def aextend(self, length: Optional[Duration] = None) -> None:
        await self._extend([] if length is None else ["FOR", duration_word(length, "length")])

    def _wait(self, work: Any) -> None:
        loop = self._loop
        if loop is None:
            asyncio.run(work)  # in a test, where nothing is sent
            return
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is loop:
            work.close()
            raise RuntimeError("an async task says await current().aprogress(…), alog(…) or aextend(…)")
        try:
            answer = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # the loop of the worker is closed
            work.close()
            raise ClosedError("the worker is closed") from None
        answer.result()

    async def _tell(self, words: List[Any]) -> Any:
        try:
            return await self._send(words)
        except (StaleError, NotFoundError):
            self.lose()
            raise

    async def _extend(self, words: List[Any]) -> None:
        sent = time.monotonic()
        self.extended = sent
        answer = await self._tell(["EXTEND", self.id, self.token, *words])
        # The lease may have another length now: the server says its end by its own clock.
        length = answer["until_ms"] / 1000 - time.time() if words[:1] == ["FOR"] else self.lease_s
        self.leased_until = max(self.leased_until, sent + length)
        if answer["cancelled"]:
            self.cancelled = True
            self.stop(CancelledError(self.id))

    # ---- For the worker ----

    def begin(self, loop: Optional[asyncio.AbstractEventLoop], on_stop: Optional[Callable[[], Any]]) -> None:
        """The task begins: where words are sent, and what stops it besides its own look at `stopping`."""
        self._loop = loop
        self._on_stop = on_stop

    async def beat(self) -> None:
        """The heartbeat. A lost lease is noted; any other failure is answered by the next beat."""
        if self._beating:
            return
        self._beating = True
        try:
            await self._extend([])
        except BelfryError:
            pass
        finally:
            self._beating = False

    def stop(self, reason: Exception) -> None:
        if self.reason is not None:
            return
        self.reason = reason
        if self._on_stop is not None:
            self._on_stop()

    def expire(self) -> None:
        """By our clock the lease has ended, without a word of the server. The task should stop; if it ends well all the
        same, the server decides."""
        self.stop(LeaseLostError(self.id))

    def lose(self) -> None:
        self.lost = True
        self.stop(LeaseLostError(self.id))


def enter(attempt: Attempt) -> None:
    """Makes it the current one of this context."""
    _current.set(attempt)
