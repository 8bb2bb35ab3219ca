# SPDX-License-Identifier: MIT
"""A task: a function with a queue. A worker runs it for each job of the queue."""

from __future__ import annotations

import functools
import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Generic, Mapping, Optional, Tuple, TypeVar

from .arguments import Arguments
from .attempt import Attempt
from .handle import Handle
from .times import Duration, seconds
from .view import Record
from .words import TABLES, option_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .app import App
    from .options import JobOptions

R = TypeVar("R")


class Task(Generic[R]):
    """Calling it calls the function. schedule() makes a job of it."""

    def __init__(
        self,
        app: App,
        function: Callable[..., R],
        queue: str,
        timeout: Optional[Duration],
        raw: bool,
        options: Mapping[str, Any],
    ) -> None:
        option_words("SCHEDULE", options)  # which refuses bad ones at once
        self.app = app
        self.function = function
        self.queue = queue
        self.timeout_s = None if timeout is None else seconds(timeout, "timeout")
        self.is_async = inspect.iscoroutinefunction(function)
        self._arguments = None if raw else Arguments(function)
        self._options = dict(options)
        self._own: Dict[str, Any] = {}  # of with_options()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<belfry task {self.function.__name__} of queue {self.queue}>"

    # ---- Making jobs ----

    def with_options(self, **options: Unpack[JobOptions]) -> Task[R]:
        """The task with these options for the jobs that it makes."""
        option_words("SCHEDULE", options)
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._own = {**self._own, **options}
        return copy

    def schedule(self, *args: Any, **kwargs: Any) -> Handle:
        """Schedules a job with the arguments. Names of options, such as in_, at and key, are options, unless the function
        has a parameter of that name: then with_options() takes the option."""
        data, options = self._split(args, kwargs, "SCHEDULE")
        testing = self.app._testing
        if testing is not None:
            return testing.schedule(self, data, options)
        return Handle.of(self.app, self.app.client.schedule(self.queue, data, **options), options)

    async def aschedule(self, *args: Any, **kwargs: Any) -> Handle:
        """As schedule(), for asyncio."""
        data, options = self._split(args, kwargs, "SCHEDULE")
        testing = self.app._testing
        if testing is not None:
            return await testing.aschedule(self, data, options)
        return Handle.of(self.app, await self.app.aio.schedule(self.queue, data, **options), options)

    def item(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """An item for batch() of a client."""
        data, options = self._split(args, kwargs, "SCHEDULE")
        return {"queue": self.queue, "data": data, **options}

    def recur(self, name: str, *args: Any, **kwargs: Any) -> Record:
        """Makes a recurrence of the task, or changes the one of that name. Exactly one of cron, every and rrule."""
        data, options = self._split(args, kwargs, "RECUR")
        return self.app.client.recur(name, self.queue, data, **options)

    def _split(self, args: Tuple[Any, ...], kwargs: Mapping[str, Any], verb: str) -> Tuple[Any, Dict[str, Any]]:
        """The payload, and the options."""
        table = TABLES[verb]
        options = {name: value for name, value in {**self._options, **self._own}.items() if name in table}
        if self._arguments is None:
            if len(args) > 1:
                raise TypeError(f"{self.function.__name__}: a raw task has one argument, the payload")
            options.update(kwargs)
            option_words(verb, options)
            return (args[0] if args else None), options
        rest = {}
        for name, value in kwargs.items():
            if name in table and not self._arguments.names(name):
                options[name] = value
            else:
                rest[name] = value
        return self._arguments.pack(args, rest), options

    # ---- Running one ----

    def _call(self, attempt: Attempt) -> Any:
        if self._arguments is None:
            return self.function(attempt.data)
        return self.function(**self._arguments.unpack(attempt.data))

    async def run(self, attempt: Attempt) -> Any:
        """For an async function."""
        return await self._call(attempt)

    def run_in_thread(self, attempt: Attempt, around: Optional[Callable[[], ContextManager[Any]]]) -> Any:
        with around() if around is not None else nullcontext():
            return self._call(attempt)
