"""What a captured function reads beside its arguments."""

from __future__ import annotations

import inspect
from typing import Any

from burn.tensor import Tensor
from burn.tree import flatten


class Around:
    __slots__ = ("guards", "trees")

    def __init__(self, trees: list[Any], guards: tuple[Any, ...]) -> None:
        self.trees, self.guards = trees, guards


class Surroundings:
    """What a function reads beside its arguments: closure cells, globals it names, defaults, `self`."""

    def __init__(self, function: Any) -> None:
        self.instance = getattr(function, "__self__", None)
        plain = inspect.unwrap(getattr(function, "__func__", function))
        self.code = getattr(plain, "__code__", None)
        self.cells = getattr(plain, "__closure__", None) or ()
        self.globals = getattr(plain, "__globals__", {})
        self.defaults = (getattr(plain, "__defaults__", None) or (), getattr(plain, "__kwdefaults__", None) or {})
        names = self.code.co_names if self.code is not None else ()
        self.names = [name for name in names if name in self.globals]

    def read(self) -> Around:
        """The values of this moment: trees with tensors are inputs, everything else guards the capture."""
        trees: list[Any] = []
        guards: list[Any] = []
        values = [_contents(cell) for cell in self.cells]
        values += [self.globals.get(name) for name in self.names]
        values += [*self.defaults[0], *self.defaults[1].values()]
        if self.instance is not None:
            values.append(self.instance)
        for value in values:
            if _holds_tensors(value):
                trees.append(value)
            elif isinstance(value, int | float | str | bool | bytes | type(None)):
                guards.append((type(value), value))
            else:
                guards.append(id(value))
        return Around(trees, tuple(guards))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    if isinstance(value, type) or (callable(value) and not hasattr(value, "__tree__")):
        return False
    if (
        isinstance(value, list | tuple | dict)
        or hasattr(type(value), "__tree__")
        or hasattr(value, "__dataclass_fields__")
    ):
        return any(isinstance(leaf, Tensor) for leaf in flatten(value)[0])
    return False
