# SPDX-License-Identifier: MIT
"""Answers of the server as Python has them: `due_ms` becomes `due`, a datetime; `lease_ms` becomes `lease`, a timedelta."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

from .payload import from_bytes
from .times import duration_of, moment_of

# Fields that are moments. Other fields in `_ms` are durations. A test compares the list with /openapi.json.
MOMENTS = frozenset(
    name + "_ms"
    for name in (
        "asked at created deferred_until due edited end ended ended_from ended_to expires first from happened keep "
        "last maintenance_until next nominal oldest quiet_until seen start to until upto"
    ).split()
)
_AS_GIVEN = frozenset(("meta",))  # their names are the caller's


class Record(SimpleNamespace):
    """A map of the server. Its fields are attributes; vars(record) is a dict of them."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no field {name}; there are {', '.join(vars(self))}")


class Job(Record):
    """A job as get() and list() show it; list() leaves some fields out."""

    id: str
    queue: str
    tenant: str
    state: str
    due: datetime
    data: Any
    payload: bytes
    result: Any
    key: Optional[str]
    tags: List[str]
    meta: Dict[str, str]
    priority: int
    attempt: int
    attempts: int
    lease: Optional[timedelta]
    error: Optional[str]


class Scheduled(Record):
    """The answer of schedule(): `created` is False if a job had the key. `outcome` is created, kept or replaced."""

    id: str
    created: bool
    outcome: str


def _field(field: str, value: Any, fields: Any) -> Any:
    if not field.endswith("_ms"):
        return field.replace(" ", "_"), value if field in _AS_GIVEN else view(value)
    short = field[:-3]
    if short in fields:
        short = field
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return short, view(value)
    return short, moment_of(int(value)) if field in MOMENTS else duration_of(value)


def view(value: Any, kind: type = Record) -> Any:
    """An answer of the server with records, datetimes and timedeltas."""
    if isinstance(value, list):
        return [view(one, kind) for one in value]
    if not isinstance(value, dict):
        return value
    return kind(**dict(_field(field, inner, value) for field, inner in value.items()))


def job_view(value: Any) -> Any:
    """As view(), with the value of the payload as `data`, and that of the result."""
    if value is None:
        return None
    job = view(value, Job)
    if "payload" in value:
        job.data = from_bytes(value["payload"])
    if "result" in value:
        job.result = from_bytes(value["result"])
    return job


def recurrence_view(value: Any) -> Any:
    if value is None:
        return None
    recurrence = view(value)
    recurrence.data = from_bytes(value.get("payload"))
    return recurrence
