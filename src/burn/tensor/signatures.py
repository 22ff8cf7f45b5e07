"""Calls that do not fit a method written in Python: the error says how it is called, as those of rows do."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from burn.errors import BurnError, CallError, DTypeError, shown
from burn.guesses import CALLS, keyword

Function = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


def explain_calls(*owners: type) -> None:
    """Let every public method of these classes that is written in Python explain calls that do not fit."""
    for owner in owners:
        for name, value in list(vars(owner).items()):
            static = isinstance(value, staticmethod)
            function = value.__func__ if isinstance(value, staticmethod) else value
            if name.startswith("_") or not isinstance(function, types.FunctionType):
                continue
            if not hasattr(function, "op"):
                call = explained(name, function, static)
                setattr(owner, name, staticmethod(call) if static else call)


def explains(function: F) -> F:
    """A function of the package `burn` that says how it is called."""
    return explained(function.__name__, function, True, "burn.")  # type: ignore[return-value]


def explained(name: str, function: Function, static: bool, owner: str = "Tensor.") -> Function:
    """`function`, which says how it is called when a call does not fit."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            found = None if isinstance(error, BurnError) else _fault(name, function, static, owner, args, kwargs)
            if found is None:
                raise
            raise found from None

    return call


def _fault(
    name: str, function: Function, static: bool, owner: str, args: Any, kwargs: dict[str, Any]
) -> BurnError | None:
    """What is wrong with a call; None if it fits and failed for another reason."""
    import inspect

    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = [each for each in signature.parameters if each != "self"]
        hint = "".join(keyword(each, names) for each in kwargs if each not in signature.parameters)
        hint += f"; write {_written(name, signature, owner if static else 'x.')}"
        hint += f"; {CALLS[name]}" if name in CALLS else ""
        return CallError(f"{name}: {_words(str(error))}{hint}")
    if not static and args and not hasattr(args[0], "handle"):
        return DTypeError(f"{name}: x must be a Tensor, got {shown(args[0])}; write burn.tensor(...) around it")
    return None


def _words(text: str) -> str:
    return text.replace("got an unexpected keyword argument", "unknown argument").replace("a required", "the")


def _written(name: str, signature: Any, owner: str) -> str:
    shown_parameters = []
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        text = f"*{each.name}" if each.kind is each.VAR_POSITIONAL else each.name
        if each.kind is each.KEYWORD_ONLY:
            text += "=..."
        elif each.default is not each.empty:
            text += f"={each.default!r}" if type(each.default) is not object else "=..."
        shown_parameters.append(text)
    return f"{owner}{name}({', '.join(shown_parameters)})"
