"""Options of a builder as keywords: `Builder(..., num_epochs=3, summary=True)` is `.num_epochs(3).summary()`."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from burn.errors import ArgumentError

P = ParamSpec("P")
B = TypeVar("B")


def on_a_copy(method: Callable[Concatenate[B, P], B]) -> Callable[Concatenate[B, P], B]:
    """A method of a builder that changes a copy and gives that; the builder it was called on stays as it was."""

    @functools.wraps(method)
    def option(self: B, /, *args: P.args, **kwargs: P.kwargs) -> B:
        return method(copy.copy(self), *args, **kwargs)

    return option


def with_options(builder: B, options: Mapping[str, Any]) -> B:
    """A builder that was told each option by the method of its name.

    A method without a required argument takes True and False; one of several arguments takes a tuple of them.
    """
    kind: Any = type(builder)
    known = [name for name in dir(kind) if not name.startswith("_") and name != "build"]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ArgumentError(
            f"{kind.__name__}: has no option {', '.join(map(repr, unknown))}; options are {', '.join(known)}"
        )
    for name, value in options.items():
        method = getattr(builder, name)
        parameters = inspect.signature(method).parameters.values()
        needed = [each for each in parameters if each.default is each.empty]
        is_switch = not needed and not any(isinstance(each.default, bool) for each in parameters)
        if is_switch and isinstance(value, bool):
            builder = method() if value else builder
        else:
            builder = method(*value) if len(needed) > 1 and isinstance(value, tuple) else method(value)
    return builder
