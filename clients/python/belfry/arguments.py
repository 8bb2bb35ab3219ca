# SPDX-License-Identifier: MIT
"""Arguments of a task as the payload of a job: a JSON object with the parameters' names, which any client can write."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Mapping, Tuple

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


class Arguments:
    """The parameters of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        self._signature = inspect.signature(function)
        self._rest = ""  # the parameter that takes any names
        for parameter in self._signature.parameters.values():
            if parameter.kind in _BY_PLACE:
                raise TypeError(
                    f"{self._name}{self._signature}: the payload has names, so {parameter.name} needs one; "
                    "or say raw=True, and the function gets the payload"
                )
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                self._rest = parameter.name

    def names(self, name: str) -> bool:
        """Whether it is the name of a parameter."""
        return name in self._signature.parameters and name != self._rest

    def pack(self, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        """TypeError, as a call would raise it, if the arguments do not fit."""
        try:
            found = dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{self._name}{self._signature}: {error}") from None
        found.update(found.pop(self._rest, {}))
        return found

    def unpack(self, data: Any) -> Dict[str, Any]:
        """The arguments for a call."""
        data = {} if data is None else data
        if not isinstance(data, dict):
            raise TypeError(
                f"{self._name}{self._signature}: the payload is {type(data).__name__}, not an object with "
                "the names of the parameters; or say raw=True"
            )
        self.pack((), data)
        return data
