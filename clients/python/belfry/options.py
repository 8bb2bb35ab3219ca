# SPDX-License-Identifier: MIT
"""Options of the calls, as type checkers see them. What the server takes is in words.py; a test compares the two."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, TypedDict, Union

from .times import Backoff, Duration, Moment

State = str
Ids = Union[str, Any, Sequence[Any]]


class Due(TypedDict, total=False):
    in_: Duration
    at: Moment


class Labels(Due, total=False):
    priority: int
    attempts: int
    backoff: Backoff
    lease: Duration
    retain: Duration
    expire: Duration
    tags: Union[str, Sequence[str]]
    meta: Mapping[str, str]
    notify: bool
    gates: str
    order: Union[str, bytes]
    push: str


class JobOptions(Labels, total=False):
    """Of schedule()."""

    key: Union[str, bytes]
    if_exists: str
    key_hold: Duration
    after: Ids
    after_fail: str
    tenant: str


class CloneOptions(JobOptions, total=False):
    queue: str
    clear: Union[str, Sequence[str]]


class EditOptions(Due, total=False):
    priority: int
    attempts: int
    backoff: Backoff
    lease: Duration
    retain: Duration
    expire: Duration
    tags: Union[str, Sequence[str]]
    meta: Mapping[str, str]
    notify: bool
    gates: str
    push: str
    key_hold: Duration
    clear: Union[str, Sequence[str]]
    redrive: bool
    tenant: str


class Rule(TypedDict, total=False):
    cron: str
    rrule: str
    every: Duration
    tz: str
    start: Moment


class RecurOptions(Rule, total=False):
    exdate: str
    rdate: str
    catchup: str
    overlap: str
    priority: int
    attempts: int
    backoff: Backoff
    lease: Duration
    retain: Duration
    expire: Duration
    tags: Union[str, Sequence[str]]
    meta: Mapping[str, str]
    notify: bool
    gates: str
    order: Union[str, bytes]
    push: str
    tenant: str


class PreviewOptions(Rule, total=False):
    from_: Moment
    count: int
    name: str
    queue: str
    tenant: str


class Filter(TypedDict, total=False):
    queue: str
    state: Union[State, Sequence[State]]
    from_: Moment
    to: Moment
    tag: str
    recurrence: str
    key_prefix: Union[str, bytes]
    order: Union[str, bytes]
    worker: str
    error: str
    ended_from: Moment
    ended_to: Moment
    tenant: str


class ListOptions(Filter, total=False):
    error_group: str
    limit: int
    cursor: str
    preview: int


class BulkOptions(Filter, total=False):
    in_: Duration
    at: Moment
    dry_run: bool


class Flow(TypedDict, total=False):
    max_running: int
    rate: str
    burst: int


class QueueSettings(Flow, total=False):
    lease: Duration
    attempts: int
    backoff: Backoff
    retain: Duration
    retain_dead: Duration
    key_hold: Duration
    past_grace: Duration
    push_url: str
    push_headers: str
    push_secret: str
    push_timeout: Duration
    push_concurrency: int
    tenant: str


class TenantSettings(Flow, total=False):
    weight: int
    paused: bool
    maintenance: bool
    until: Moment
    max_pending: int
    quiet: str
    tz: str
    spread: Duration
    max_queues: int
    max_recurrences: int
    max_connections: int
    requests: int
    max_bytes: int
    max_streams: int
    max_leased: int


class ForecastOptions(TypedDict, total=False):
    from_: Moment
    to: Moment
    step: Duration
    queue: str
    tenant: str
