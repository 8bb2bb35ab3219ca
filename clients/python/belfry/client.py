# SPDX-License-Identifier: MIT
"""The blocking client: schedules jobs, looks at them and changes them. Threads may share it."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Mapping, Optional, Union

from . import aio, background, verbs
from . import options as o
from .times import Duration, Moment, seconds
from .url import Config
from .verbs import NOT_GIVEN, Request, T, Target
from .view import Job, Record, Scheduled

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BULK_POLL_S = 0.1


class Client:
    """Speaks to one server. Its connections belong to a thread in the background, which all clients share."""

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
        self._aio = aio.Client(
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

    @property
    def config(self) -> Config:
        return self._aio.config

    @property
    def tenant(self) -> Optional[str]:
        return self._aio.tenant

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- Requests ----

    def ask(self, request: Request[T]) -> T:
        return background.run(self._aio.ask(request))

    def call(self, *words: Any) -> Any:
        """Any request, as words; the answer as the server gave it."""
        return background.run(self._aio.call(*words))

    def ping(self) -> bool:
        return background.run(self._aio.ping())

    def close(self) -> None:
        """Ends the connections. Requests without an answer fail with a ClosedError. A later request connects anew."""
        background.run(self._aio.close())

    # ---- Jobs ----

    def schedule(self, queue: str, data: Any = None, **options: Unpack[o.JobOptions]) -> Scheduled:
        """Schedules a job; without `in_` and `at` it is due at once."""
        return self.ask(verbs.schedule(queue, data, options, self.tenant))

    def batch(self, items: Iterable[Mapping[str, Any]], *, mode: str = "all") -> List[Any]:
        """Schedules several jobs: items are {"queue": …, "data": …, **options}. With mode "all", the default, all of
        them or none; with "each", an error stands in the place of a refused item."""
        return background.run(self._aio.batch(items, mode=mode))

    def get(
        self, target: Target, *, wait: Optional[Duration] = None, log: bool = False, tenant: Optional[str] = None
    ) -> Optional[Job]:
        """A job with all that is known of it; None if there is none. With `wait`, as soon as it has ended, or when that
        time is over."""
        return self.ask(verbs.get(target, tenant, 0.0 if wait is None else seconds(wait, "wait"), log))

    def result(
        self, target: Target, *, timeout: Optional[Duration] = None, tenant: Optional[str] = None
    ) -> Any:
        """Waits until a job has ended; answers its result."""
        return background.run(self._aio.result(target, timeout=timeout, tenant=tenant))

    def list_page(self, **options: Unpack[o.ListOptions]) -> Record:
        """One page of jobs: `jobs` and `cursor`; the cursor of the last page is None."""
        return self.ask(verbs.list_page(options))

    def list(self, **options: Unpack[o.ListOptions]) -> Iterator[Job]:
        """All jobs of a filter, page by page."""
        filter = dict(options)
        while True:
            page = self.ask(verbs.list_page(filter))
            for job in page.jobs:
                yield job
            if page.cursor is None:
                return
            filter["cursor"] = page.cursor

    def explain(self, target: Target, *, tenant: Optional[str] = None) -> Optional[Record]:
        """Why a job has not run, and what it waits for; None if there is no such job."""
        return self.ask(verbs.explain(target, tenant))

    def cancel(self, target: Target, *, tenant: Optional[str] = None) -> str:
        """Answers cancelled, running (its worker learns of it) or notfound."""
        return self.ask(verbs.cancel(target, tenant))

    def delete(self, target: Target, *, tenant: Optional[str] = None) -> None:
        """Forgets a job that is not running."""
        self.ask(verbs.delete(target, tenant))

    def reschedule(
        self,
        target: Target,
        *,
        in_: Optional[Duration] = None,
        at: Optional[Moment] = None,
        tenant: Optional[str] = None,
    ) -> None:
        """Moves a job that is not running; without `in_` and `at` it is due at once."""
        self.ask(verbs.reschedule(target, {"in_": in_, "at": at, "tenant": tenant}))

    def edit(self, target: Target, data: Any = NOT_GIVEN, **options: Unpack[o.EditOptions]) -> None:
        """Changes the payload and options of a job that no worker has and that has not ended."""
        self.ask(verbs.edit(target, data, options))

    def clone(self, target: Target, data: Any = NOT_GIVEN, **options: Unpack[o.CloneOptions]) -> Scheduled:
        """Schedules a job with the payload and options of another one, which may have ended."""
        return self.ask(verbs.clone(target, data, options))

    def redrive(
        self,
        target: Target = None,
        *,
        queue: Optional[str] = None,
        limit: Optional[int] = None,
        tenant: Optional[str] = None,
    ) -> int:
        """Puts dead jobs back: one, or those of a queue; without a limit, all of them. Answers how many."""
        options = {"queue": queue, "limit": limit, "tenant": tenant}
        count = self.ask(verbs.redrive(target, options))
        total = count
        while target is None and limit is None and count > 0:
            count = self.ask(verbs.redrive(target, options))
            total += count
        return total

    def bulk(self, action: str, *, wait: bool = False, **options: Unpack[o.BulkOptions]) -> Record:
        """Changes all jobs of a filter, in the background: cancel, reschedule, redrive or delete. With wait=True the
        answer comes when that is over."""
        bulk = self.ask(verbs.bulk(action, options))
        while wait and bulk.state == "running":
            time.sleep(_BULK_POLL_S)
            bulk = (self.ask(verbs.bulk_of(bulk.id, options.get("tenant"))) or [bulk])[0]
        return bulk

    # ---- Recurrences ----

    def recur(self, name: str, queue: str, data: Any = None, **options: Unpack[o.RecurOptions]) -> Record:
        """Makes a recurrence, or changes the one of that name. Exactly one of cron, every and rrule."""
        return self.ask(verbs.recur(name, queue, data, options))

    def recurrence(self, name: str, *, tenant: Optional[str] = None) -> Optional[Record]:
        """A recurrence with its ledger, or None."""
        found: Optional[Record] = self.ask(verbs.about_recurrence("RECURRENCE", name, tenant))
        return found

    def recurrences(self, *, tenant: Optional[str] = None) -> Iterator[Record]:
        """All recurrences, page by page."""
        cursor = None
        while True:
            page = self.ask(verbs.recurrence_page({"cursor": cursor, "tenant": tenant}))
            for one in page.recurrences:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    def pause_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        self.ask(verbs.about_recurrence("RECURPAUSE", name, tenant))

    def resume_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        self.ask(verbs.about_recurrence("RECURRESUME", name, tenant))

    def run_recurrence(self, name: str, *, tenant: Optional[str] = None) -> str:
        """Makes a job of a recurrence now; answers its id."""
        return str(self.ask(verbs.about_recurrence("RECURRUN", name, tenant)))

    def delete_recurrence(self, name: str, *, tenant: Optional[str] = None) -> None:
        self.ask(verbs.about_recurrence("RECURDELETE", name, tenant))

    def preview(self, **rule: Unpack[o.PreviewOptions]) -> List[Record]:
        """The next times of a rule, without making a recurrence."""
        return self.ask(verbs.preview(rule))

    # ---- The server ----

    def queue_settings(self, queue: str, **change: Unpack[o.QueueSettings]) -> Optional[Record]:
        """The counts and settings of a queue, or None. With settings, after changing them."""
        return self.ask(verbs.queue_settings(queue, change))

    def pause(self, queue: str, *, tenant: Optional[str] = None) -> None:
        self.ask(verbs.about_queue("PAUSE", queue, tenant))

    def resume(self, queue: str, *, tenant: Optional[str] = None) -> None:
        self.ask(verbs.about_queue("RESUME", queue, tenant))

    def delete_queue(self, queue: str, *, tenant: Optional[str] = None) -> None:
        """Forgets a queue, which must have no jobs."""
        self.ask(verbs.about_queue("QUEUEDELETE", queue, tenant))

    def queues(self, *, tenant: Optional[str] = None) -> Iterator[Record]:
        """All queues with their counts and settings."""
        after = None
        while True:
            page = self.ask(verbs.queue_page(after, tenant))
            for one in page:
                yield one
            after = verbs.after_page(page, tenant or self.tenant)
            if after is None:
                return

    def tenant_settings(self, name: str, **change: Unpack[o.TenantSettings]) -> Optional[Record]:
        """The counts and settings of a tenant, or None. With settings, after changing them."""
        return self.ask(verbs.tenant_settings(name, change))

    def stats(self, *, tenant: Optional[str] = None) -> Record:
        """The server's figures, or those of a tenant."""
        return self.ask(verbs.stats(tenant))

    def forecast(self, **options: Unpack[o.ForecastOptions]) -> List[Record]:
        """How many jobs become due in each coming step of time."""
        return self.ask(verbs.forecast(options))

    def workers(self, *, tenant: Optional[str] = None) -> List[Record]:
        """Workers of the last hour."""
        return self.ask(verbs.workers(tenant))
