# SPDX-License-Identifier: MIT
"""What a task says about its job besides a result: things that it raises or returns."""

from __future__ import annotations

from .times import Duration, duration_word


class RetryLater(Exception):
    """Raised: the attempt has failed, and the next one comes after this pause instead of the back-off."""

    def __init__(self, pause: Duration, message: str = "retry later") -> None:
        super().__init__(message)
        self.pause = duration_word(pause, "RetryLater")


class Final(Exception):
    """Raised: the job has failed for good. It is dead, whatever attempts are left."""

    def __init__(self, message: str = "failed for good") -> None:
        super().__init__(message)


class Postpone(Exception):
    """Raised: this is not the time. The job goes back without costing an attempt, and comes again after the pause."""

    def __init__(self, pause: Duration, message: str = "postponed") -> None:
        super().__init__(message)
        self.pause = duration_word(pause, "Postpone")


class Again:
    """Returned: the job is done for now, and runs again after this pause with its attempts counted anew."""

    def __init__(self, pause: Duration) -> None:
        self.pause = duration_word(pause, "Again")
