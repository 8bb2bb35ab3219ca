# SPDX-License-Identifier: MIT
"""Options to the words of a verb. One table for each verb; a name that is not in it is an error."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from .resp import Word
from .times import backoff_word, duration_word, moment_word

Put = Callable[[List[Word], Any, str], None]


def _one(make: Callable[[Any, str], Word]) -> Callable[[str], Put]:
    def of(word: str) -> Put:
        def put(words: List[Word], value: Any, name: str) -> None:
            words += (word, make(value, name))

        return put

    return of


def _yes_no(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    raise TypeError(f"{name}: expected True or False, not {value!r}")


def _number(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"{name}: expected a whole number, not {value!r}")


def _text(value: Any, name: str) -> Word:
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{name}: expected a text, not {value!r}")


def _cron(value: Any, name: str) -> Word:
    if isinstance(value, str) and len(value.split()) == 6:
        raise ValueError(
            f"{name}: expected five fields, without seconds: minute, hour, day of month, month, day of week"
        )
    return _text(value, name)


def _several(value: Any) -> Any:
    return value if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _each(make: Callable[[Any, str], Word]) -> Callable[[str], Put]:
    def of(word: str) -> Put:
        def put(words: List[Word], value: Any, name: str) -> None:
            for one in _several(value):
                words += (word, make(one, name))

        return put

    return of


def _pairs(word: str) -> Put:
    def put(words: List[Word], value: Any, name: str) -> None:
        if not isinstance(value, Mapping):
            raise TypeError(f"{name}: expected a dict of texts, not {value!r}")
        for key, inner in value.items():
            words += (word, str(key), str(inner))

    return put


def id_of(target: Any, name: str = "target") -> str:
    """The id of a text, or of a thing that has one."""
    found = target if isinstance(target, str) else getattr(target, "id", None)
    if isinstance(found, str) and found:
        return found
    raise TypeError(f"{name}: expected the id of a job, or a job, not {target!r}")


duration, moment, backoff, text = _one(duration_word), _one(moment_word), _one(backoff_word), _one(_text)
yes_no, number, cron, texts, ids = _one(_yes_no), _one(_number), _one(_cron), _each(_text), _each(id_of)

_TENANT = {"tenant": text("TENANT")}
_DUE = {"in_": duration("IN"), "at": moment("AT")}
_PAGE = {"limit": number("LIMIT"), "cursor": text("CURSOR")}
_SPAN = {"from_": moment("FROM"), "to": moment("TO")}
_FLOW = {"max_running": number("MAX_RUNNING"), "rate": text("RATE"), "burst": number("BURST")}
_KEPT = {
    "priority": number("PRIORITY"),
    "attempts": number("ATTEMPTS"),
    "backoff": backoff("BACKOFF"),
    "lease": duration("LEASE"),
    "retain": duration("RETAIN"),
    "expire": duration("EXPIRE"),
    "tags": texts("TAG"),
    "meta": _pairs("META"),
    "notify": yes_no("NOTIFY"),
    "gates": text("GATES"),
    "push": text("PUSH"),
}
_JOB = {
    **_DUE,
    **_KEPT,
    **_TENANT,
    "order": text("ORDER"),
    "key": text("KEY"),
    "if_exists": text("IFEXISTS"),
    "key_hold": duration("KEY_HOLD"),
    "after": ids("AFTER"),
    "after_fail": text("AFTERFAIL"),
}
_RULE = {
    "cron": cron("CRON"),
    "rrule": text("RRULE"),
    "every": duration("EVERY"),
    "tz": text("TZ"),
    "start": moment("START"),
}
_FILTER = {
    "queue": text("QUEUE"),
    "state": texts("STATE"),
    **_SPAN,
    "tag": text("TAG"),
    "recurrence": text("RECURRENCE"),
    "key_prefix": text("KEY_PREFIX"),
    "order": text("ORDER"),
    "worker": text("WORKER"),
    "error": text("ERROR"),
    "ended_from": moment("ENDED_FROM"),
    "ended_to": moment("ENDED_TO"),
    **_TENANT,
}

TABLES: Dict[str, Dict[str, Put]] = {
    "SCHEDULE": _JOB,
    "CLONE": {**_JOB, "queue": text("QUEUE"), "clear": texts("CLEAR")},
    "EDIT": {
        **_DUE,
        **_KEPT,
        **_TENANT,
        "key_hold": duration("KEY_HOLD"),
        "clear": texts("CLEAR"),
        "redrive": yes_no("REDRIVE"),
    },
    "RECUR": {
        **_RULE,
        **_KEPT,
        **_TENANT,
        "order": text("ORDER"),
        "exdate": text("EXDATE"),
        "rdate": text("RDATE"),
        "catchup": text("CATCHUP"),
        "overlap": text("OVERLAP"),
    },
    "PREVIEW": {
        **_RULE,
        **_TENANT,
        "from_": moment("FROM"),
        "count": number("COUNT"),
        "name": text("NAME"),
        "queue": text("QUEUE"),
    },
    "LIST": {**_FILTER, **_PAGE, "error_group": text("ERROR_GROUP"), "preview": number("PREVIEW")},
    "BULK": {**_FILTER, **_DUE, "dry_run": yes_no("DRYRUN")},
    "RESCHEDULE": {**_DUE, **_TENANT},
    "RECURRENCES": {**_PAGE, **_TENANT},
    "REDRIVE": {"queue": text("QUEUE"), "limit": number("LIMIT"), **_TENANT},
    "QUEUE": {
        "lease": duration("LEASE"),
        "attempts": number("ATTEMPTS"),
        "backoff": backoff("BACKOFF"),
        "retain": duration("RETAIN"),
        "retain_dead": duration("RETAIN_DEAD"),
        "key_hold": duration("KEY_HOLD"),
        "past_grace": duration("PAST_GRACE"),
        **_FLOW,
        "push_url": text("PUSH_URL"),
        "push_headers": text("PUSH_HEADERS"),
        "push_secret": text("PUSH_SECRET"),
        "push_timeout": duration("PUSH_TIMEOUT"),
        "push_concurrency": number("PUSH_CONCURRENCY"),
        **_TENANT,
    },
    "TENANT": {
        "weight": number("WEIGHT"),
        "paused": yes_no("PAUSED"),
        "maintenance": yes_no("MAINTENANCE"),
        "until": moment("UNTIL"),
        "max_pending": number("MAX_PENDING"),
        **_FLOW,
        "quiet": text("QUIET"),
        "tz": text("TZ"),
        "spread": duration("SPREAD"),
        "max_queues": number("MAX_QUEUES"),
        "max_recurrences": number("MAX_RECURRENCES"),
        "max_connections": number("MAX_CONNECTIONS"),
        "requests": number("REQUESTS"),
        "max_bytes": number("MAX_BYTES"),
        "max_streams": number("MAX_STREAMS"),
        "max_leased": number("MAX_LEASED"),
    },
    "FORECAST": {**_SPAN, "step": duration("STEP"), "queue": text("QUEUE"), **_TENANT},
    "KEYED": {"key": text("KEY"), "queue": text("QUEUE"), "order": text("ORDER"), **_TENANT},
}

# Words of other libraries, and what to say here.
_HINTS = {
    "countdown": 'say in_=5, or in_="5s"',
    "eta": "say at",
    "delay": 'say in_=5, or in_="5s"',
    "expires": "say expire",
    "max_retries": "say attempts",
    "retry_backoff": "say backoff",
    "task_id": "say key",
    "job_id": "say key",
    "unique": "say key",
    "tag": "say tags",
    "timeout": "say timeout to app.task()",
    "run_at": "say at",
    "crontab": "say cron, with five fields",
    "depends_on": "say after",
}


def option_words(verb: str, options: Mapping[str, Any], words: Optional[List[Word]] = None) -> List[Word]:
    """Adds the words of options to those of a verb."""
    words = [] if words is None else words
    table = TABLES[verb]
    for name, value in options.items():
        if value is None:
            continue
        put = table.get(name)
        if put is None:
            hint = f": {_HINTS[name]}" if name in _HINTS else f"; there are {', '.join(table)}"
            raise TypeError(f"unknown option {name}{hint}")
        put(words, value, name)
    return words


def job_words(target: Any) -> List[Word]:
    """The words that name a job: by id, or by its queue and key."""
    if isinstance(target, Mapping):
        if target.get("key") is None or target.get("queue") is None:
            raise TypeError('expected the id of a job, a job, or {"queue": …, "key": …}')
        return option_words("KEYED", {name: value for name, value in target.items() if name != "tenant"})
    return [id_of(target)]


def name_word(name: Any, what: str = "queue") -> str:
    """The name of a queue or a recurrence, checked before it stands among words that have a place only."""
    if isinstance(name, str) and name:
        return name
    raise TypeError(f"{what}: expected a name, not {name!r}")
