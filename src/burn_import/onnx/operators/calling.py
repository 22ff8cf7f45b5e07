"""Calls of the framework's functions as a person writes them: what a function assumes anyway is left out.

written(op, "recurrent", "gru", op.x, w, r, None, None, h, direction="forward")   # recurrent.gru(x, w, r, hidden=h)
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache

from burn_import.onnx.code.expression import Argument, Expression
from burn_import.onnx.code.frame import package_of
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation


@cache
def _signature(module: str, name: str) -> inspect.Signature:
    return inspect.signature(getattr(importlib.import_module(f"{package_of(module)}.{module}"), name))


def written(op: Operation, module: str, name: str, *arguments: Argument, **keywords: Argument) -> Expression:
    """A call of `<module>.<name>`, as `op.function` has it, without arguments that are the defaults.

    Arguments behind one that is left out are written with their names.
    """
    signature = _signature(module, name)
    bound = signature.bind(*arguments, **keywords).arguments
    places: list[Argument] = []
    named: dict[str, Argument] = {}
    gap = False
    for parameter in signature.parameters.values():
        if parameter.name not in bound or _is_default(bound[parameter.name], parameter.default):
            gap = True
        elif gap or parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[parameter.name] = bound[parameter.name]
        else:
            places.append(bound[parameter.name])
    return op.function(module, name)(*places, **named)


def _is_default(value: Argument, default: object) -> bool:
    return not isinstance(value, Expression) and default is not inspect.Parameter.empty and bool(value == default)


def several(op: Operation, value: Expression, count: int) -> Expression | list[Expression | None]:
    """The first results of a function that gives `count`: one alone is picked, more are unpacked."""
    used = [index for index in range(count) if op.wanted(index)]
    if used == [0]:
        return value.item(0)
    return op.unpack(value, count)


def dtype_attribute(op: Operation, name: str) -> ElementType | None:
    """An attribute that numbers an element type; None when it is absent or 0."""
    number = op.attribute(name)
    return ElementType(number) if number else None
