# SPDX-License-Identifier: MIT
"""The client of Belfry, which runs jobs at their time: a blocking one, one for asyncio, and workers."""

from . import aio
from .app import App
from .attempt import Attempt, current
from .client import Client
from .errors import (
    AuthError,
    BelfryError,
    BusyError,
    CancelledError,
    ClosedError,
    ConnectionLostError,
    FullError,
    InvalidError,
    JobEndedError,
    KeyExistsError,
    LeaseLostError,
    LimitError,
    NotFoundError,
    PastError,
    PermissionError,
    RateError,
    ReplyError,
    StaleError,
    StateError,
    TimeoutError,
    TooLargeError,
    UnreachableError,
)
from .handle import Handle
from .outcome import Again, Final, Postpone, RetryLater
from .task import Task
from .testing import Testing
from .view import Job, Record, Scheduled
from .worker import Worker

__version__ = "0.1.0"

__all__ = [
    "Again",
    "App",
    "Attempt",
    "AuthError",
    "BelfryError",
    "BusyError",
    "CancelledError",
    "Client",
    "ClosedError",
    "ConnectionLostError",
    "Final",
    "FullError",
    "Handle",
    "InvalidError",
    "Job",
    "JobEndedError",
    "KeyExistsError",
    "LeaseLostError",
    "LimitError",
    "NotFoundError",
    "PastError",
    "PermissionError",
    "Postpone",
    "RateError",
    "Record",
    "ReplyError",
    "RetryLater",
    "Scheduled",
    "StaleError",
    "StateError",
    "Task",
    "Testing",
    "TimeoutError",
    "TooLargeError",
    "UnreachableError",
    "Worker",
    "aio",
    "current",
]
