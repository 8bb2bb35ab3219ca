# SPDX-License-Identifier: MIT
"""An app: the tasks of a program, and the server that has their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Optional, TypeVar, Union, overload

from . import aio
from .client import Client
from .task import Task
from .testing import Testing
from .times import Duration
from .words import name_word

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import JobOptions

R = TypeVar("R")


class App:
    """Options are those of Client. `around` makes a context manager in which each task runs that is not async."""

    def __init__(
        self, url: Optional[str] = None, *, around: Optional[Callable[[], ContextManager[Any]]] = None, **options: Any
    ) -> None:
        self.client = Client(url, **options)
        self.aio = aio.Client(url, **options)
        self.around = around
        self.tasks: Dict[str, Task[Any]] = {}  # by queue
        self._testing: Optional[Testing] = None

    @overload
    def task(self, function: Callable[..., R]) -> Task[R]: ...

    @overload
    def task(
        self,
        function: None = None,
        *,
        queue: Optional[str] = None,
        timeout: Optional[Duration] = None,
        raw: bool = False,
        **options: Unpack[JobOptions],
    ) -> Callable[[Callable[..., R]], Task[R]]: ...

    def task(
        self,
        function: Optional[Callable[..., Any]] = None,
        *,
        queue: Optional[str] = None,
        timeout: Optional[Duration] = None,
        raw: bool = False,
        **options: Any,
    ) -> Union[Task[Any], Callable[[Callable[..., Any]], Task[Any]]]:
        """Makes a task of a function. The queue is the function's name, if not given. Other options are those of
        schedule(), for each job of the task. A raw task gets the payload as its one argument."""

        def make(function: Callable[..., Any]) -> Task[Any]:
            name = name_word(queue or function.__name__)
            if name in self.tasks:
                raise ValueError(f"the queue {name} has a task: {self.tasks[name]!r}")
            self.tasks[name] = Task(self, function, name, timeout, raw, options)
            return self.tasks[name]

        return make if function is None else make(function)

    def testing(self) -> Testing:
        """A context in which schedule() runs the task at once, without a server."""
        return Testing(self)

    def close(self) -> None:
        """Ends the connections of the blocking client. `await app.aio.close()` ends those of the other one."""
        self.client.close()
