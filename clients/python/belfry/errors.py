# SPDX-License-Identifier: MIT
"""Errors: those that the server answers, by their codes, and those of the client."""

from __future__ import annotations

import builtins
import re
from typing import Any, Dict, Optional, Type


class BelfryError(Exception):
    """Every error of this package. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


class ReplyError(BelfryError):
    """An answer of the server: `verb` was refused."""

    verb = ""
    resent = False  # whether the request had been sent before, over a connection that broke


class InvalidError(ReplyError):
    pass


class NotFoundError(ReplyError):
    pass


class StaleError(ReplyError):
    """The lease is no longer held: another worker may have the job."""


class KeyExistsError(ReplyError):
    """A job has this key. `id` is that job."""

    def __init__(self, code: str, message: str) -> None:
        found = re.search(r"\b[0-9A-Z]{26}\b", message)
        self.id: Optional[str] = found[0] if found else None
        super().__init__(code, f"a job with this key exists: {self.id}" if self.id == message else message)


class StateError(ReplyError):
    pass


class FullError(ReplyError):
    """The server takes no new jobs: its disk or its memory is full."""


class TooLargeError(ReplyError):
    pass


class PastError(ReplyError):
    pass


class BusyError(ReplyError):
    """The server has too many clients, or has heard too many wrong tokens."""


class LimitError(ReplyError):
    """The tenant has as much as it may."""


class RateError(ReplyError):
    """The tenant sends too many requests."""


class AuthError(ReplyError):
    """The request had no token, or a wrong one."""


class PermissionError(ReplyError):
    """The role or the tenant of the token may not do that."""


class UnreachableError(BelfryError):
    """No server answers at the address."""

    def __init__(self, where: str, cause: Optional[BaseException]) -> None:
        why = str(cause) if cause is not None and str(cause) else "it does not answer"
        super().__init__("UNREACHABLE", f"no Belfry server at {where}: {why} (is belfryd running there?)")
        self.__cause__ = cause


class ConnectionLostError(BelfryError):
    """The connection broke after the request was sent. So the server may have done it, or not."""

    def __init__(self, verb: str, cause: Optional[BaseException]) -> None:
        super().__init__("LOST", f"the connection broke before {verb} was answered: it may have been done, or not")
        self.verb = verb
        self.__cause__ = cause


class TimeoutError(BelfryError, builtins.TimeoutError):
    """The answer, or the end of a job, did not come in time."""

    def __init__(self, message: str) -> None:
        BelfryError.__init__(self, "TIMEOUT", message)


class ClosedError(BelfryError):
    """The client or the worker was closed."""

    def __init__(self, message: str = "the client is closed") -> None:
        super().__init__("CLOSED", message)


class JobEndedError(BelfryError):
    """A job that was waited for ended otherwise than done. `job` is as get() shows it, or None if it is forgotten."""

    def __init__(self, id: str, state: str, job: Any = None) -> None:
        error = getattr(job, "error", None)
        why = ": " + str(error).split("\n")[0] if error else ""
        super().__init__(state.upper(), f"job {id} is {state}{why}")
        self.id = id
        self.state = state
        self.job = job


class CancelledError(BelfryError):
    """The job under way was cancelled."""

    def __init__(self, id: str) -> None:
        super().__init__("CANCELLED", f"job {id} was cancelled")


class LeaseLostError(BelfryError):
    """The lease of the job under way has ended: another worker may have the job."""

    def __init__(self, id: str) -> None:
        super().__init__("STALE", f"the lease of job {id} has ended")


_CLASSES: Dict[str, Type[ReplyError]] = {
    "INVALID": InvalidError,
    "PROTOCOL": InvalidError,
    "UNKNOWN": InvalidError,
    "NOTFOUND": NotFoundError,
    "STALE": StaleError,
    "KEYEXISTS": KeyExistsError,
    "STATE": StateError,
    "FULL": FullError,
    "TOOLARGE": TooLargeError,
    "PAST": PastError,
    "BUSY": BusyError,
    "LIMIT": LimitError,
    "RATE": RateError,
    "NOAUTH": AuthError,
    "WRONGPASS": AuthError,
    "NOPERM": PermissionError,
}


def reply_error(line: str) -> ReplyError:
    """The error of a line `CODE text`."""
    code, _, text = line.partition(" ")
    return _CLASSES.get(code, ReplyError)(code, text or line)
