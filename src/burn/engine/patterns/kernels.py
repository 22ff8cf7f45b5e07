"""What patterns ask a target: which kernels it has beside those of the engine. Nodes are made for these alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.classes import dataclass
from burn.program.program import Node, Program

Shape = Sequence[int]


@dataclass(frozen=True)
class Sizes:
    """Of an attention: heads of all items, queries and keys of each, numbers of a key and of a value."""

    heads: int
    queries: int
    keys: int
    size: int
    width: int


@dataclass(frozen=True)
class Kernels:
    """The kernels of a target, each as the question whether it takes a node."""

    product: Callable[[Program, Node], bool]
    convolution: Callable[[Program, Node], bool]
    reads_in_any_order: Callable[[str, Shape, Shape, Shape, Sequence[Any]], bool]
    """Whether a convolution of a name, by its shapes (x, weight, result) and attributes, reads images in any order."""
    attention: Callable[[Sizes, bool], bool]
    """Whether one kernel is faster than separate steps; the flag tells that all keys are needed at once."""
