"""What a captured function reads beside its arguments."""

from __future__ import annotations

import inspect
import operator
from typing import Any, NamedTuple

from burn.tensor import Tensor
from burn.tree import Structure, flatten

PLAIN = (int, float, str, bytes, type(None))


class Around(NamedTuple):
    """The surroundings at one moment: tensors found there, how they were nested, and everything else."""

    leaves: list[Any]
    structures: tuple[Structure, ...]
    guards: tuple[Any, ...]


class Surroundings:
    """Closure cells, globals that the function names, defaults and `self`, read anew at every call."""

    def __init__(self, function: Any) -> None:
        self.instance = getattr(function, "__self__", None)
        plain = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(plain, "__code__", None)
        self.cells = getattr(plain, "__closure__", None) or ()
        self.globals = getattr(plain, "__globals__", {})
        defaults = (getattr(plain, "__defaults__", None) or ()), (getattr(plain, "__kwdefaults__", None) or {})
        self.defaults = [*defaults[0], *defaults[1].values()]
        self.names = [name for name in (code.co_names if code is not None else ()) if name in self.globals]
        self._seen: list[_Seen | None] = []

    def read(self) -> Around:
        """The values of this moment: trees with tensors are inputs, everything else guards the capture."""
        values = [_contents(cell) for cell in self.cells]
        values += [self.globals.get(name) for name in self.names]
        values += self.defaults
        if self.instance is not None:
            values.append(self.instance)
        leaves: list[Any] = []
        structures: list[Structure] = []
        guards: list[Any] = []
        if len(self._seen) != len(values):
            self._seen = [None] * len(values)
        for position, value in enumerate(values):
            if isinstance(value, PLAIN):
                guards.append((value.__class__, value))
                continue
            seen = self._seen[position]
            if seen is None or not seen.still(value):
                seen = self._seen[position] = _Seen(value)
            if seen.structure is None:
                guards.append(id(value))
            else:
                leaves += seen.leaves
                structures.append(seen.structure)
        return Around(leaves, tuple(structures), tuple(guards))


class _Seen:
    """A value found in the surroundings, taken apart; good for as long as it is unchanged."""

    __slots__ = ("items", "leaves", "structure", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.leaves: list[Any] = []
        self.structure: Structure | None = None
        self.items: tuple[Any, ...] | None = None
        if _may_hold_tensors(value):
            leaves, structure = flatten(value)
            if any(isinstance(leaf, Tensor) for leaf in leaves):
                self.leaves, self.structure = leaves, structure
            if isinstance(value, list | tuple) and all(isinstance(each, Tensor) for each in value):
                self.items = tuple(value)

    def still(self, value: Any) -> bool:
        """Whether `value` is what was seen. A container that may have changed inside is taken apart again."""
        if value is not self.value:
            return False
        if self.items is not None:
            return len(value) == len(self.items) and all(map(operator.is_, value, self.items))
        return isinstance(value, Tensor) or not _may_hold_tensors(value)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _may_hold_tensors(value: Any) -> bool:
    if isinstance(value, Tensor | list | tuple | dict):
        return True
    if isinstance(value, type) or (callable(value) and not hasattr(value, "__tree__")):
        return False
    return hasattr(type(value), "__tree__") or hasattr(value, "__dataclass_fields__")
