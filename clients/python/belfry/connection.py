# SPDX-License-Identifier: MIT
"""One connection to the server, which comes back by itself. It belongs to one event loop.

Requests are pipelined: those of one turn of the loop leave in one write. While there is no server they wait, up to the
connect timeout. A request that was sent when the connection broke fails, because the server may have done it; with
`again` it is sent a second time instead."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections import deque
from typing import Any, Callable, Deque, Optional, Sequence

from .errors import AuthError, BelfryError, ClosedError, ConnectionLostError, TimeoutError, UnreachableError
from .resp import Parser, ProtocolError, Word, encode
from .url import Config

_RETRY_MIN_S = 0.05
_RETRY_MAX_S = 1.0
_ATTEMPT_S = 5.0  # for a socket and its greeting
_SWEEP_S = 0.2
FOREVER = float("inf")


class _Sent:
    """A request and its answer."""

    __slots__ = ("verb", "data", "again", "made", "deadline", "connect_by", "sent", "resent", "future")

    def __init__(self, words: Sequence[Word], again: bool, now: float, future: asyncio.Future[Any]) -> None:
        self.verb = str(words[0])
        self.data = encode(words)
        self.again = again
        self.made = now
        self.deadline = self.connect_by = now
        self.sent = 0.0  # when; 0: not yet
        self.resent = False
        self.future = future

    def fail(self, error: BaseException) -> None:
        if self.future.done():
            return
        if isinstance(error, BelfryError) and getattr(error, "verb", None) == "":
            error.verb = self.verb  # type: ignore[attr-defined]
        if self.resent:
            error.resent = True  # type: ignore[attr-defined]
        self.future.set_exception(error)


class _Wire(asyncio.Protocol):
    """One socket of a connection."""

    def __init__(self, owner: Connection) -> None:
        self._owner = owner
        self._parser = Parser(self._reply)
        self.transport: Any = None
        self.greeted = False
        self.why: Optional[BaseException] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.write(self._owner.hello())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._owner.heard()
        try:
            self._parser.push(data)
        except ProtocolError as error:
            self.end(error)

    def _reply(self, reply: Any) -> None:
        if self.greeted:
            self._owner.answered(self, reply)
        else:
            self.greeted = True
            self._owner.greeted(self, reply)

    def end(self, why: BaseException) -> None:
        self.why = self.why or why
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._owner.lost(self, self.why or exc or ConnectionError("the server closed the connection"))


class Connection:
    """With `held` it connects at once and stays connected; otherwise it connects with a request."""

    def __init__(
        self,
        config: Config,
        *,
        held: bool = False,
        on_up: Callable[[], None] = lambda: None,
        on_down: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._config = config
        self._held = held
        self._on_up = on_up
        self._on_down = on_down
        self._loop = asyncio.get_running_loop()
        self._wire: Optional[_Wire] = None
        self._opening: Optional[asyncio.Task[None]] = None
        self._retry: Optional[asyncio.TimerHandle] = None
        self._sweep: Optional[asyncio.TimerHandle] = None
        self._waiting: Deque[_Sent] = deque()  # not sent
        self._sent: Deque[_Sent] = deque()  # sent, not answered
        self._flushing = False
        self._tries = 0
        self._heard = 0.0
        self._why: Optional[BaseException] = None  # the last failure
        self._closed = False
        self.id: Optional[int] = None  # at the server, for CLIENT UNBLOCK; None while the connection is down
        if held:
            self._open()

    @property
    def where(self) -> str:
        return self._config.where

    def call(
        self,
        words: Sequence[Word],
        *,
        again: bool = False,
        timeout: Optional[float] = None,
        connect_timeout: Optional[float] = None,
    ) -> asyncio.Future[Any]:
        """Sends a request. The future has the reply as the parser made it."""
        if self._closed:
            raise ClosedError()
        now = self._loop.time()
        request = _Sent(words, again, now, self._loop.create_future())
        request.deadline = now + (self._config.timeout_s if timeout is None else timeout)
        request.connect_by = now + (self._config.connect_timeout_s if connect_timeout is None else connect_timeout)
        self._waiting.append(request)
        if self._sweep is None:
            self._sweep = self._loop.call_later(_SWEEP_S, self._overdue)
        if self.id is not None:
            if not self._flushing:
                self._flushing = True
                self._loop.call_soon(self._flush)
        elif self._wire is None and self._opening is None and self._retry is None:
            self._open()
        return request.future

    def close(self) -> None:
        """Ends the connection. Requests without an answer fail."""
        self._closed = True
        for handle in (self._retry, self._sweep):
            if handle is not None:
                handle.cancel()
        if self._opening is not None:
            self._opening.cancel()
        wire, self._wire, self.id = self._wire, None, None
        if wire is not None and wire.transport is not None:
            wire.transport.abort()
        for request in (*self._sent, *self._waiting):
            request.fail(ClosedError())
        self._sent.clear()
        self._waiting.clear()

    def drop(self, why: str = "dropped") -> None:
        """Breaks the connection: it comes back, and requests with `again` are sent again."""
        if self._wire is not None:
            self._wire.end(ConnectionError(why))

    # ---- The socket ----

    def _open(self) -> None:
        self._retry = None
        self._opening = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        config = self._config
        secure = ssl.create_default_context() if config.tls is True else (config.tls or None)
        wire = _Wire(self)
        self._wire = wire
        try:
            name = config.host if secure else None
            made = self._loop.create_connection(
                lambda: wire, config.host, config.port, ssl=secure, server_hostname=name
            )
            await asyncio.wait_for(made, _ATTEMPT_S)
        except (OSError, asyncio.TimeoutError) as error:
            self._opening = None
            self.lost(wire, error if str(error) else ConnectionError("it does not answer"))
            return
        self._opening = None
        self._loop.call_later(_ATTEMPT_S, self._impatient, wire)

    def _impatient(self, wire: _Wire) -> None:
        if not wire.greeted:
            wire.end(ConnectionError("it does not answer"))

    def hello(self) -> bytes:
        words = ["HELLO", "3"]
        if self._config.token:
            words += ("AUTH", "default", self._config.token)
        if self._config.name:
            words += ("SETNAME", self._config.name)
        return encode(words)

    def heard(self) -> None:
        self._heard = self._loop.time()

    def greeted(self, wire: _Wire, reply: Any) -> None:
        if wire is not self._wire:
            return
        if not isinstance(reply, dict) or "id" not in reply:
            wire.end(reply if isinstance(reply, Exception) else ProtocolError("is this a Belfry server?"))
            return
        self.id = reply["id"]
        self._tries = 0
        self._why = None
        self._on_up()
        self._flush()

    def _flush(self) -> None:
        self._flushing = False
        if self.id is None or self._wire is None:
            return
        now = self._loop.time()
        parts = []
        while self._waiting:
            request = self._waiting.popleft()
            if request.future.done():
                continue
            request.sent = now
            self._sent.append(request)
            parts.append(request.data)
        if parts:
            self._wire.transport.write(b"".join(parts))

    def answered(self, wire: _Wire, reply: Any) -> None:
        if wire is not self._wire:
            return
        if not self._sent:
            # The server says why it closes the connection.
            wire.end(reply if isinstance(reply, Exception) else ProtocolError("an answer without a request"))
            return
        request = self._sent.popleft()
        if request.future.done():
            return
        if isinstance(reply, Exception):
            request.fail(reply)
        else:
            request.future.set_result(reply)

    def lost(self, wire: _Wire, error: BaseException) -> None:
        if wire is not self._wire or self._closed:
            return
        self._wire = self.id = None
        self._why = error
        requests = (*self._sent, *self._waiting)
        self._sent.clear()
        self._waiting.clear()
        refused = isinstance(error, AuthError)  # it will not change by asking again
        for request in requests:
            if request.future.done():
                continue
            if refused and not self._held:
                request.fail(error)
            elif request.sent and not request.again:
                request.fail(ConnectionLostError(request.verb, error))
            else:
                request.resent = request.resent or request.sent > 0
                if request.sent:
                    request.connect_by = max(
                        request.connect_by, self._loop.time() + self._config.connect_timeout_s
                    )
                request.sent = 0.0
                self._waiting.append(request)
        self._on_down(error)
        if self._closed or not (self._held or self._waiting):
            return
        # The first attempt after a connection that worked comes at once.
        pause = min(_RETRY_MAX_S, _RETRY_MIN_S * 2 ** min(self._tries, 10)) * (0.5 + random.random() / 2)
        self._tries += 1
        self._retry = self._loop.call_later(pause, self._open)

    def _overdue(self) -> None:
        """Ends requests whose time is over. If nothing at all was heard since one was sent, the connection is dead."""
        now = self._loop.time()
        dead = False
        for request in self._sent:
            if request.future.done() or now < request.deadline:
                continue
            dead = dead or self._heard < request.sent
            request.fail(TimeoutError(f"{request.verb} was not answered within {request.deadline - request.made:g} s"))
        for request in self._waiting:
            if not request.future.done() and now >= min(request.deadline, request.connect_by):
                request.fail(UnreachableError(self._config.where, self._why))
        if self.id is None:
            self._waiting = deque(request for request in self._waiting if not request.future.done())
        self._sweep = self._loop.call_later(_SWEEP_S, self._overdue) if self._sent or self._waiting else None
        if dead:
            self.drop("the server does not answer")
        elif not self._waiting and self._retry is not None and not self._held:
            self._retry.cancel()
            self._retry = None
