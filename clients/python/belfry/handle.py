# SPDX-License-Identifier: MIT
"""A job that a task made: its id, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from .times import Duration
from .view import Job, Scheduled

if TYPE_CHECKING:
    from .app import App


class Handle:
    """`created` is False if a job had the key: then `id` is that job."""

    def __init__(self, app: App, id: str, created: bool, outcome: str, tenant: Optional[str]) -> None:
        self._app = app
        self._tenant = tenant
        self.id = id
        self.created = created
        self.outcome = outcome

    @classmethod
    def of(cls, app: App, made: Scheduled, options: Mapping[str, Any]) -> Handle:
        return cls(app, made.id, made.created, made.outcome, options.get("tenant"))

    def __repr__(self) -> str:
        return f"<belfry job {self.id}, {self.outcome}>"

    def result(self, timeout: Optional[Duration] = None) -> Any:
        """Waits until the job has ended; answers its result. JobEndedError if it ended otherwise than done."""
        return self._app.client.result(self.id, timeout=timeout, tenant=self._tenant)

    async def aresult(self, timeout: Optional[Duration] = None) -> Any:
        return await self._app.aio.result(self.id, timeout=timeout, tenant=self._tenant)

    def get(self) -> Optional[Job]:
        """The job with all that is known of it; None if it is forgotten."""
        return self._app.client.get(self.id, tenant=self._tenant)

    async def aget(self) -> Optional[Job]:
        return await self._app.aio.get(self.id, tenant=self._tenant)

    def cancel(self) -> str:
        """Answers cancelled, running (the task learns of it) or notfound."""
        return self._app.client.cancel(self.id, tenant=self._tenant)

    async def acancel(self) -> str:
        return await self._app.aio.cancel(self.id, tenant=self._tenant)
