# SPDX-License-Identifier: MIT
"""The client for asyncio: schedules jobs, looks at them and changes them."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, List, Mapping, Optional, Union

from . import options as o
from . import verbs
from .connection import Connection
from .times import Duration, Moment, seconds
from .url import Config, config_of
from .verbs import NOT_GIVEN, Request, T, Target
from .view import Job, Record, Scheduled
from .wait import Waits, end_of
from .words import id_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BULK_POLL_S = 0.1


class Client:
    """Speaks to one server over one connection, which it opens with its first request. Calls that wait for a job have
    connections of their own. In another event loop, or in a process made by fork, it connects anew."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        host: Optional[str] = None,
        port: Optional[int] = None,
        token: Optional[str] = None,
        tls: Union[bool, ssl.SSLContext, None] = None,
        tenant: Optional[str] = None,
        timeout: Duration = 30,
        connect_timeout: Duration = 10,
        name: Optional[str] = None,
    ) -> None:
        self.config: Config = config_of(
            url,
            host=host,
            port=port,
            token=token,
            tls=tls,
            tenant=tenant,
            timeout=timeout,
            connect_timeout=connect_timeout,
            name=name,
        )
        self._place: Any = None  # the process and the loop of the connections
        self._connection: Optional[Connection] = None
        self._waits: Optional[Waits] = None

    @property
    def tenant(self) -> Optional[str]:
        return self.config.tenant

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    # ---- Requests ----

    def connect(self) -> Connection:
        """The connection of this loop."""
        place = (os.getpid(), asyncio.get_running_loop())
        if self._connection is None or self._place != place:
            self._place = place
            self._connection = Connection(self.config)
            self._waits = Waits(lambda: Connection(self.config))
        return self._connection

    async def ask(self, request: Request[T]) -> T:
        connection = self.connect()
        request.of(None, self.tenant)
        if request.wait_s > 0 and self._waits is not None:
            return request.see(await self._waits.ask(request))
        return request.see(await connection.call(request.words, again=request.again))

    async def call(self, *words: Any) -> Any:
        """Any request, as words; the answer as the server gave it."""
        return await self.connect().call(words)

    async def ping(self) -> bool:
        return bool(await self.ask(Request(["PING"], lambda reply: reply == "PONG", again=True)))

    async def close(self) -> None:
        """Ends the connections. Requests without an answer fail with a ClosedError. A later request connects anew."""
        if self._place == (os.getpid(), asyncio.get_running_loop()):
            if self._connection is not None:
                self._connection.close()
            if self._waits is not None:
                self._waits.close()
            await asyncio.sleep(0)  # the sockets are closed in the next turn of the loop
        self._connection = self._waits = None

    # ---- Jobs ----

    async def schedule(self, queue: str, data: Any = None, **options: Unpack[o.JobOptions]) -> Scheduled:
        """Schedules a job; without `in_` and `at` it is due at once."""
        return await self.ask(verbs.schedule(queue, data, options, self.tenant))

    async def batch(self, items: Iterable[Mapping[str, Any]], *, mode: str = "all") -> List[Any]:
        """Schedules several jobs: items are {"queue": …, "data": …, **options}. With mode "all", the default, all of
        them or none; with "each", an error stands in the place of a refused item."""
        answers = await asyncio.gather(*(self.ask(one) for one in verbs.batch(items, mode, self.tenant)))
        return [one for answer in answers for one in answer]

    async def get(
        self, target: Target, *, wait: Optional[Duration] = None, log: bool = False, tenant: Optional[str] = None
    ) -> Optional[Job]:
        """A job with all that is known of it; None if there is none. With `wait`, as soon as it has ended, or when that
        time is over."""
        return await self.ask(verbs.get(target, tenant, 0.0 if wait is None else seconds(wait, "wait"), log))

    async def result(
        self, target: Target, *, timeout: Optional[Duration] = None, tenant: Optional[str] = None
    ) -> Any:
        """Waits until a job has ended; answers its result."""

        async def get(wait_s: float) -> Optional[Job]:
            return await self.ask(verbs.get(target, tenant, wait_s, False))

        def full() -> bool:
            return self._waits is not None and self._waits.full

        id = target if isinstance(target, Mapping) else id_of(target)
        return await end_of(str(id), get, full, None if timeout is None else seconds(timeout, "timeout"))

    async def list_page(self, **options: Unpack[o.ListOptions]) -> Record:
        """One page of jobs: `jobs` and `cursor`; the cursor of the last page is None."""
        return await self.ask(verbs.list_page(options))

    async def list(self, **options: Unpack[o.ListOptions]) -> AsyncIterator[Job]:
        """All jobs of a filter, page by page."""
        filter = dict(options)
        while True:
            page = await self.ask(verbs.list_page(filter))
            for job in page.jobs:
                yield job
            if page.cursor is None:
                return
            filter["cursor"] = page.cursor

    async def explain(self, target: Target, *, tenant: Optional[str] = None) -> Optional[Record]:
        """Why a job has not run, and what it waits for; None if there is no such job."""
        return await self.ask(verbs.explain(target, tenant))

    async def cancel(self, target: Target, *, tenant: Optional[str] = None) -> str:
        """Answers cancelled, running (its worker learns of it) or notfound."""
        return await self.ask(verbs.cancel(target, tenant))

    async def delete(self, target: Target, *, tenant: Optional[str] = None) -> None:
        """Forgets a job that is not running."""
        await self.ask(verbs.delete(target, tenant))

    async def reschedule(
        self,
        target: Target,
        *,
        in_: Optional[Duration] = None,
        at: Optional[Moment] = None,
        tenant: Optional[str] = None,
    ) -> None:
        """Moves a job that is not running; without `in_` and `at` it is due at once."""
        await self.ask(verbs.reschedule(target, {"in_": in_, "at": at, "tenant": tenant}))

    async def edit(self, target: Target, data: Any = NOT_GIVEN, **options: Unpack[o.EditOptions]) -> None:
        """Changes the payload and options of a job that no worker has and that has not ended."""
        await self.ask(verbs.edit(target, data, options))

    async def clone(self, target: Target, data: Any = NOT_GIVEN, **options: Unpack[o.CloneOptions]) -> Scheduled:
        """Schedules a job with the payload and options of another one, which may have ended."""
        return await self.ask(verbs.clone(target, data, options))

    async def redrive(
        self,
        target: Target = None,
        *,
        queue: Optional[str] = None,
        limit: Optional[int] = None,
        tenant: Optional[str] = None,
    ) -> int:
        """Puts dead jobs back: one, or those of a queue; without a limit, all of them. Answers how many."""
        options = {"queue": queue, "limit": limit, "tenant": tenant}
        count = await self.ask(verbs.redrive(target, options))
        total = count
        while target is None and limit is None and count > 0:
            count = await self.ask(verbs.redrive(target, options))
            total += count
        return total

    async def bulk(self, action: str, *, wait: bool = False, **options: Unpack[o.BulkOptions]) -> Record:
        """Changes all jobs of a filter, in the background: cancel, reschedule, redrive or delete. With wait=True the
        answer comes when that is over."""
        bulk = await self.ask(verbs.bulk(action, options))
        while wait and bulk.state == "running":
            await asyncio.sleep(_BULK_POLL_S)
            bulk = (await self.ask(verbs.bulk_of(bulk.id, options.get("tenant"))) or [bulk])[0]
        return bulk

    # ---- Recurrences ----

    async def recur(self, name: str, queue: str, data: Any = None, **options: Unpack[o.RecurOptions]) -> Record:
        """Makes a recurrence, or changes the one of that name. Exactly one of cron, every and rrule."""
        return await self.ask(verbs.recur(name, queue, data, options))

    async def recurrence(self, name: str, *, tenant: Optional[str] = None) -> Optional[Record]:
        """A recurrence with its ledger, or None."""
        found: Optional[Record] = await self.ask(verbs.about_recurrence("RECURRENCE", name, tenant))
        return found

    async def recurrences(self, *, tenant: Optional[str] = None) -> AsyncIterator[Record]:
        """All recurrences, page by page."""
        cursor = None
        while True:
            page = await self.ask(verbs.recurrence_page({"cursor": cursor, "tenant": tenant}))
            for one in page.recurrences:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def pause_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        await self.ask(verbs.about_recurrence("RECURPAUSE", name, tenant))

    async def resume_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        await self.ask(verbs.about_recurrence("RECURRESUME", name, tenant))

    async def run_recurrence(self, name: str, *, tenant: Optional[str] = None) -> str:
        """Makes a job of a recurrence now; answers its id."""
        return str(await self.ask(verbs.about_recurrence("RECURRUN", name, tenant)))

    async def delete_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        await self.ask(verbs.about_recurrence("RECURDELETE", name, tenant))

    async def preview(self, **rule: Unpack[o.PreviewOptions]) -> List[Record]:
        """The next times of a rule, without making a recurrence."""
        return await self.ask(verbs.preview(rule))

    # ---- The server ----

    async def queue_settings(self, queue: str, **change: Unpack[o.QueueSettings]) -> Optional[Record]:
        """The counts and settings of a queue, or None. With settings, after changing them."""
        return await self.ask(verbs.queue_settings(queue, change))

    async def pause(self, queue: str, *, tenant: Optional[str] = None) -> None:
        await self.ask(verbs.about_queue("PAUSE", queue, tenant))

    async def resume(self, queue: str, *, tenant: Optional[str] = None) -> None:
        await self.ask(verbs.about_queue("RESUME", queue, tenant))

    async def delete_queue(self, queue: str, *, tenant: Optional[str] = None) -> None:
        """Forgets a queue, which must have no jobs."""
        await self.ask(verbs.about_queue("QUEUEDELETE", queue, tenant))

    async def queues(self, *, tenant: Optional[str] = None) -> AsyncIterator[Record]:
        """All queues with their counts and settings."""
        after = None
        while True:
            page = await self.ask(verbs.queue_page(after, tenant))
            for one in page:
                yield one
            after = verbs.after_page(page, tenant or self.tenant)
            if after is None:
                return

    async def tenant_settings(self, name: str, **change: Unpack[o.TenantSettings]) -> Optional[Record]:
        """The counts and settings of a tenant, or None. With settings, after changing them."""
        return await self.ask(verbs.tenant_settings(name, change))

    async def stats(self, *, tenant: Optional[str] = None) -> Record:
        """The server's figures, or those of a tenant."""
        return await self.ask(verbs.stats(tenant))

    async def forecast(self, **options: Unpack[o.ForecastOptions]) -> List[Record]:
        """How many jobs become due in each coming step of time."""
        return await self.ask(verbs.forecast(options))

    async def workers(self, *, tenant: Optional[str] = None) -> List[Record]:
        """Workers of the last hour."""
        return await self.ask(verbs.workers(tenant))
