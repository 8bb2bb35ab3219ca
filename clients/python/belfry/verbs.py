# SPDX-License-Identifier: MIT
"""Requests as values: what a call sends, and how its answer is seen. Both clients are made of these."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, Iterable, List, Mapping, Optional, TypeVar, Union

from .payload import to_bytes
from .resp import Word
from .view import Job, Record, Scheduled, job_view, recurrence_view, view
from .words import id_of, job_words, name_word, option_words

T = TypeVar("T")
Target = Union[str, Mapping[str, Any], Job, Scheduled, Any]  # an id, a thing with an id, or {"queue": …, "key": …}

BATCH_MAX = 1000  # items of one request
NOT_GIVEN: Any = object()
# Verbs without TENANT.
_NO_TENANT = frozenset(("TENANT", "TENANTS", "TENANTDELETE", "TOKENREVOKE", "BATCH", "PING"))


def _same(value: Any) -> Any:
    return value


def _nothing(_: Any) -> None:
    return None


class Request(Generic[T]):
    """The words of a request. With `again`, it may be sent a second time after a break of the connection."""

    __slots__ = ("words", "see", "again", "wait_s", "has_tenant")

    def __init__(
        self,
        words: List[Word],
        see: Callable[[Any], T],
        options: Optional[Mapping[str, Any]] = None,
        *,
        again: bool = False,
        wait_s: float = 0.0,
    ) -> None:
        self.words = words
        self.has_tenant = bool(options and options.get("tenant"))  # among the words
        self.see = see
        self.again = again
        self.wait_s = wait_s  # how long the server may hold the answer back

    def of(self, given: Optional[str], default: Optional[str]) -> Request[T]:
        """The request for a tenant."""
        tenant = given or default
        if tenant and not self.has_tenant and self.words[0] not in _NO_TENANT:
            self.words += ("TENANT", tenant)
            self.has_tenant = True
        return self


def _tenant(target: Any, given: Optional[str] = None) -> Optional[str]:
    return given or (target.get("tenant") if isinstance(target, Mapping) else None)


def _asks(
    words: List[Word], see: Callable[[Any], Any] = view, options: Optional[Mapping[str, Any]] = None
) -> Request[Any]:
    return Request(words, see, options, again=True)


def _item(queue: str, data: Any, options: Mapping[str, Any], default: Optional[str]) -> List[Word]:
    words: List[Word] = [name_word(queue), to_bytes(data)]
    option_words("SCHEDULE", options, words)
    words += ("ANSWER", "map")
    if default and not options.get("tenant"):
        words += ("TENANT", default)
    return words


def _scheduled(value: Any) -> Scheduled:
    return view(value, Scheduled)


def schedule(queue: str, data: Any, options: Mapping[str, Any], default: Optional[str]) -> Request[Scheduled]:
    return Request(["SCHEDULE", *_item(queue, data, options, default)], _scheduled, {"tenant": "given"})


def batch(items: Iterable[Mapping[str, Any]], mode: str, default: Optional[str]) -> List[Request[List[Any]]]:
    """The requests of a batch: one, or pages of items that stand by themselves."""
    made = []
    for item in items:
        options = {name: value for name, value in item.items() if name not in ("queue", "data")}
        made.append(_item(item.get("queue", None), item.get("data"), options, default))  # type: ignore[arg-type]
    size = BATCH_MAX if mode == "each" else max(1, len(made))
    requests: List[Request[List[Any]]] = []
    for at in range(0, len(made), size):
        words: List[Word] = ["BATCH", mode]
        for one in made[at : at + size]:
            words += (len(one), *one)
        requests.append(Request(words, lambda found: [_scheduled(one) for one in found]))
    return requests


def get(target: Target, tenant: Optional[str], wait_s: float, log: bool) -> Request[Optional[Job]]:
    words: List[Word] = ["GET", *job_words(target)]
    if wait_s > 0:
        words += ("WAIT", f"{max(1, round(wait_s * 1000))}ms")
    if log:
        words += ("LOG", "yes")
    return Request(words, job_view, again=True, wait_s=wait_s).of(_tenant(target, tenant), None)


def _page(name: str, see: Callable[[Any], Any]) -> Callable[[Any], Record]:
    def page(value: Any) -> Record:
        return Record(**{name: [see(one) for one in value[name]], "cursor": value["cursor"]})

    return page


def list_page(options: Mapping[str, Any]) -> Request[Record]:
    return _asks(["LIST", *option_words("LIST", options)], _page("jobs", job_view), options)


def recurrence_page(options: Mapping[str, Any]) -> Request[Record]:
    words: List[Word] = ["RECURRENCES", *option_words("RECURRENCES", options)]
    return _asks(words, _page("recurrences", recurrence_view), options)


def explain(target: Target, tenant: Optional[str]) -> Request[Optional[Record]]:
    return _asks(["EXPLAIN", *job_words(target)]).of(_tenant(target, tenant), None)


def cancel(target: Target, tenant: Optional[str]) -> Request[str]:
    return Request(["CANCEL", *job_words(target)], _same).of(_tenant(target, tenant), None)


def delete(target: Target, tenant: Optional[str]) -> Request[None]:
    return Request(["DELETE", *job_words(target)], _nothing).of(_tenant(target, tenant), None)


def reschedule(target: Target, options: Mapping[str, Any]) -> Request[None]:
    return Request(["RESCHEDULE", id_of(target), *option_words("RESCHEDULE", options)], _nothing, options)


def edit(target: Target, data: Any, options: Mapping[str, Any]) -> Request[None]:
    words: List[Word] = ["EDIT", id_of(target)]
    if data is not NOT_GIVEN:
        words += ("PAYLOAD", to_bytes(data))
    return Request(option_words("EDIT", options, words), _nothing, options)


def clone(target: Target, data: Any, options: Mapping[str, Any]) -> Request[Scheduled]:
    words: List[Word] = ["CLONE", id_of(target), "ANSWER", "map"]
    if data is not NOT_GIVEN:
        words += ("PAYLOAD", to_bytes(data))
    return Request(option_words("CLONE", options, words), _scheduled, options)


def redrive(target: Any, options: Mapping[str, Any]) -> Request[int]:
    words: List[Word] = ["REDRIVE"]
    if target is not None:
        words.append(id_of(target))
    elif options.get("queue") is None:
        raise TypeError("expected the id of a job, a job, or queue=…")
    return Request(option_words("REDRIVE", options, words), _same, options)


def bulk(action: str, options: Mapping[str, Any]) -> Request[Record]:
    return Request(["BULK", action, *option_words("BULK", options)], view, options)


def bulk_of(id: str, tenant: Optional[str]) -> Request[List[Record]]:
    return _asks(["BULKS", "ID", id]).of(tenant, None)


def recur(name: str, queue: str, data: Any, options: Mapping[str, Any]) -> Request[Record]:
    words: List[Word] = ["RECUR", name_word(name, "name"), name_word(queue), to_bytes(data)]
    return _asks(option_words("RECUR", options, words), recurrence_view, options)


def about_recurrence(verb: str, name: str, tenant: Optional[str]) -> Request[Any]:
    """RECURRENCE, RECURPAUSE, RECURRESUME, RECURRUN or RECURDELETE."""
    see: Dict[str, Callable[[Any], Any]] = {"RECURRENCE": recurrence_view, "RECURRUN": _same}
    harmless = verb not in ("RECURRUN", "RECURDELETE")
    return Request([verb, name_word(name, "name")], see.get(verb, _nothing), again=harmless).of(tenant, None)


def preview(options: Mapping[str, Any]) -> Request[List[Record]]:
    return _asks(["PREVIEW", *option_words("PREVIEW", options)], view, options)


def queue_settings(queue: str, options: Mapping[str, Any]) -> Request[Optional[Record]]:
    return _asks(["QUEUE", name_word(queue), *option_words("QUEUE", options)], view, options)


def about_queue(verb: str, queue: str, tenant: Optional[str]) -> Request[None]:
    """PAUSE, RESUME or QUEUEDELETE."""
    return Request([verb, name_word(queue)], _nothing, again=verb != "QUEUEDELETE").of(tenant, None)


def queue_page(after: Optional[str], tenant: Optional[str]) -> Request[List[Record]]:
    return _asks(["QUEUES", *(("AFTER", after) if after else ())]).of(tenant, None)


def after_page(page: List[Record], tenant: Optional[str]) -> Optional[str]:
    """Where the next page of QUEUES begins; None if there is none."""
    if not page:
        return None
    last = page[-1]
    return f"{last.tenant}@{last.queue}" if tenant == "*" and last.tenant != "default" else last.queue


def tenant_settings(name: str, options: Mapping[str, Any]) -> Request[Optional[Record]]:
    return _asks(["TENANT", name_word(name, "tenant"), *option_words("TENANT", options)])


def stats(tenant: Optional[str]) -> Request[Record]:
    return _asks(["STATS"]).of(tenant, None)


def forecast(options: Mapping[str, Any]) -> Request[List[Record]]:
    return _asks(["FORECAST", *option_words("FORECAST", options)], view, options)


def workers(tenant: Optional[str]) -> Request[List[Record]]:
    return _asks(["WORKERS"]).of(tenant, None)
