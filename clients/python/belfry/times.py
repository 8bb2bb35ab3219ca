# SPDX-License-Identifier: MIT
"""Durations and moments: what callers write, and what the server takes. A number is seconds, as elsewhere in Python."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Sequence, Union

Duration = Union[str, int, float, timedelta]
Moment = Union[str, int, float, datetime]
Backoff = Union[str, Sequence[Duration]]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def seconds(value: Any, name: str = "a duration") -> float:
    """Seconds of a timedelta, of a number of seconds, or of a text such as "1h30m"."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if _is_number(value) and float(value) >= 0:
        return float(value)
    if isinstance(value, str):
        if value.isdigit():
            return int(value) / 1000  # the server takes it so, too
        if value and not _PART.sub("", value):
            return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    raise TypeError(f'{name}: expected a timedelta, seconds, or a text such as "1h30m" or "250ms", not {value!r}')


def duration_word(value: Any, name: str = "a duration") -> str:
    """The word of a duration. Fractions of a millisecond are rounded up, so that nothing runs early."""
    if isinstance(value, str):
        seconds(value, name)
        return value
    if isinstance(value, timedelta) and value >= timedelta(0):
        return f"{_ceil_ms(value)}ms"
    return f"{math.ceil(round(seconds(value, name) * 1000, 3))}ms"


def _ceil_ms(value: timedelta) -> int:
    return -(-value // timedelta(milliseconds=1))


def moment_word(value: Any, name: str = "a moment") -> str:
    """The word of a moment: a datetime with its zone, seconds since 1970, or RFC 3339."""
    if isinstance(value, datetime):
        if value.tzinfo is None or value.utcoffset() is None:
            raise ValueError(f"{name}: the zone of {value!r} is missing; say datetime(…, tzinfo=timezone.utc)")
        return str(_ceil_ms(value - _EPOCH))
    if _is_number(value):
        return str(math.ceil(round(value * 1000, 3)))
    if isinstance(value, str) and value:
        return value
    raise TypeError(f"{name}: expected a datetime, seconds since 1970, or RFC 3339 with its zone, not {value!r}")


def backoff_word(value: Any, name: str = "backoff") -> str:
    """The word of a back-off: as the server has it, or the pauses in turn."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Sequence) and value and not isinstance(value, (str, bytes)):
        return ",".join(duration_word(pause, name) for pause in value)
    raise TypeError(f'{name}: expected "exp:2s:1h", "fixed:20s", "1m,5m,15m", or durations in turn, not {value!r}')


def moment_of(ms: int) -> datetime:
    """The datetime of the server's milliseconds, in UTC."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)


def duration_of(ms: float) -> timedelta:
    try:
        return timedelta(milliseconds=ms)
    except OverflowError:
        return timedelta.max
