"""Strings that are moved, joined or chosen: the operator's own row moves their places, then the strings are picked.

    pool, places = text.gather_places(x, y, device=mask.device)
    result = text.pick(pool, places[1].mask_where(mask, places[0]))

A pool is in order and has no string twice, so what compares its places compares strings. Place 0 is the empty string,
which is what the standard fills with where numbers are filled with 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn_import.onnx.code.expression import Expression, call
from burn_import.onnx.code.fields import Array
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.types import ElementType, TensorType
from burn_import.onnx.operators.operation import Operation

if TYPE_CHECKING:
    from burn_import.onnx.operators.values import Values

MOVEMENT = frozenset({
    "CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "NonZero", "OneHot", "Pad", "Reshape", "ReverseSequence", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth",
    "Split", "SplitToSequence", "Squeeze", "Tile", "Transpose", "Trilu", "Unique", "Unsqueeze", "Where",
})  # fmt: skip


def moves_text(node: Node) -> bool:
    """Whether a node moves strings."""
    return not node.domain and node.op_type in MOVEMENT and bool(_texts(node))


def _texts(node: Node) -> list[int]:
    """The inputs that are strings."""
    return [
        index
        for index, value in enumerate(node.inputs)
        if value is not None and isinstance(value.type, TensorType) and value.type.dtype is ElementType.string
    ]


class TextMovement(Operation):
    """A node whose strings are places in a pool while its row writes it."""

    __slots__ = ("pool", "places")

    def __init__(self, writer: Values, node: Node) -> None:
        super().__init__(writer, node)
        texts = _texts(node)
        given = call(self.function("text", "gather_places"), *(super(TextMovement, self).raw(index) for index in texts),
                     device=self.device)  # fmt: skip
        pool, places = self.apart(given, ["pool", "places"])
        assert pool is not None
        assert places is not None
        self.pool = pool.other()
        self.places = {index: places.item(place) for place, index in enumerate(texts)}

    def picked(self, index: int, result: Expression) -> Expression:
        """The strings of a result; numbers (how often each occurs) are what they are."""
        kind = self.node.outputs[index].type
        if isinstance(kind, TensorType) and kind.dtype is not ElementType.string:
            return result
        pick = "pick" if isinstance(kind, TensorType) else "pick_each"
        return self.function("text", pick)(self.pool, result).other()

    def tensor(self, index: int) -> Expression:
        return self.places[index] if index in self.places else super().tensor(index)

    def raw(self, index: int) -> Expression:
        return self.tensor(index)

    def operand(self, index: int, beside: int | None = None) -> Expression:
        return self.tensor(index)

    def number(self, index: int) -> Expression:
        return self.places[index].method("item").number() if index in self.places else super().number(index)

    def dtype(self, index: int = 0) -> ElementType:
        return ElementType.i64 if index in self.places else super().dtype(index)

    def constant(self, index: int) -> Array | None:
        return None if index in self.places else super().constant(index)
