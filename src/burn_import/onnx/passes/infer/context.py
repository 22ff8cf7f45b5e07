"""What a rule of inference sees of one node, and what it says about the outputs.

Contents are the elements of small tensors that shapes are made of, as an object array: each element is an int, a
float, a bool, a `Dim`, or None where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import ElementType, Shape, Size, TensorType, Type

if TYPE_CHECKING:
    from burn_import.onnx.passes.infer.engine import Engine

Content: TypeAlias = np.ndarray[Any, Any]
CONTENT_LIMIT = 1024  # elements; shapes and what they are computed from are smaller

Rule: TypeAlias = Callable[["Inference"], None]
RULES: dict[tuple[str, str], Rule] = {}


def rule(*names: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Register the rule of some operators."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert (domain, name) not in RULES, name
            RULES[domain, name] = function
        return function

    return register


class Inference:
    """One node under inference. `shape(i)`, `dtype(i)` and `content(i)` are None where nothing is known."""

    __slots__ = ("engine", "node", "types", "contents")

    def __init__(self, engine: Engine, node: Node) -> None:
        self.engine = engine
        self.node = node
        self.types: list[Type | None] = [None] * len(node.outputs)
        self.contents: list[Content | None] = [None] * len(node.outputs)

    # -- what is known

    def value(self, index: int) -> Value | None:
        return self.node.input(index)

    def type(self, index: int) -> Type | None:
        value = self.node.input(index)
        return None if value is None else value.type

    def has(self, index: int) -> bool:
        return self.node.input(index) is not None

    def shape(self, index: int) -> Shape | None:
        value = self.node.input(index)
        return None if value is None else value.tensor.shape

    def rank(self, index: int) -> int | None:
        shape = self.shape(index)
        return None if shape is None else len(shape)

    def size(self, index: int, axis: int) -> Size:
        """One size of an input; None when it is not known or there is no such axis."""
        shape = self.shape(index)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return shape[axis]

    def dtype(self, index: int) -> ElementType | None:
        value = self.node.input(index)
        return None if value is None else value.tensor.dtype

    def content(self, index: int) -> Content | None:
        value = self.node.input(index)
        return None if value is None else content_of(value)

    def elements(self, index: int) -> list[Any] | None:
        """The content as a flat list; a rank of 0 gives one element."""
        content = self.content(index)
        return None if content is None else content.reshape(-1).tolist()

    def ints(self, index: int) -> list[int] | None:
        """The content, when every element is a number."""
        elements = self.elements(index)
        if elements is None or not all(isinstance(each, int) for each in elements):
            return None
        return [int(each) for each in elements]

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.node.attributes.get(name, default)

    def axis(self, rank: int, name: str = "axis", default: int = 0) -> int:
        """An attribute that counts axes, from the end when negative."""
        axis = int(self.node.attributes.get(name, default))
        if not -rank <= axis <= rank:
            raise ValueError(f"{name} {axis} of a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis

    # -- what follows

    def set(
        self,
        shape: Sequence[Size] | None,
        *,
        dtype: ElementType | None = None,
        index: int = 0,
        content: Content | None = None,
    ) -> None:
        """The shape of an output, and its dtype where the standard's type variables do not tell."""
        if index >= len(self.types):
            return
        known = self.types[index]
        if dtype is None and isinstance(known, TensorType):
            dtype = known.dtype
        self.types[index] = TensorType(dtype, None if shape is None else tuple(shape))
        if content is not None:
            self.contents[index] = content

    def set_type(self, type: Type | None, index: int = 0) -> None:
        if index < len(self.types):
            self.types[index] = type

    def set_content(self, content: Content | None, *, index: int = 0) -> None:
        """The elements of an output, and with them its shape."""
        if content is not None and content.size <= CONTENT_LIMIT and index < len(self.types):
            self.set(content.shape, index=index)
            self.contents[index] = content


def content_of(value: Value) -> Content | None:
    """What is known about the elements of a value."""
    if value.content is not None:
        return value.content
    constant = value.constant
    if constant is None or constant.size > CONTENT_LIMIT or constant.dtype is ElementType.string:
        return None
    if constant.dtype.is_complex:
        return None
    made = np.empty(constant.shape, dtype=object)
    flat = constant.array.reshape(-1)
    native = flat if flat.dtype.kind in "biuf" else flat.astype(np.float64)
    made.reshape(-1)[:] = native.tolist()
    value.content = made
    return made


def empty_content(shape: Sequence[int]) -> Content:
    return np.empty(tuple(shape), dtype=object)
